// samples/tiny_transformer/grammar.h -- texts whose entropy is known: words and their mirror
// images.
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

/// The language of lines w|w'; where w has 2 or 3 letters, all equally likely as is their number,
/// and w' is w backwards.
namespace grammar {

inline constexpr std::string_view alphabet = "abcd|;";
inline constexpr int letters = 4, shortest = 2, longest = 3;

/// A text of so many characters that begins with the end of a line.
std::vector<std::int32_t> text(std::mt19937&, int size);
/// - sum log p of its characters but the first: what no model can be better than, on average.
double information(const std::vector<std::int32_t>& text);
struct Lines {
  int right = 0, all = 0;
};
/// Of a text that begins so: how many of its whole lines belong to the language.
Lines count_lines(const std::vector<std::int32_t>& text);
std::string to_string(const std::vector<std::int32_t>& text);

}  // namespace grammar
