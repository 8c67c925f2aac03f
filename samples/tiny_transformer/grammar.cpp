// samples/tiny_transformer/grammar.cpp -- words and their mirror images.
#include "samples/tiny_transformer/grammar.h"

#include <algorithm>
#include <cmath>

namespace grammar {

constexpr std::int32_t bar = letters, end = letters + 1;

std::vector<std::int32_t> text(std::mt19937& random, int size) {
  std::vector<std::int32_t> t{end};
  while (int(t.size()) < size) {
    const auto n = shortest + random() % (longest - shortest + 1);
    std::vector<std::int32_t> word;
    for (std::size_t i = 0; i < n; ++i) word.push_back(std::int32_t(random() % letters));
    t.insert(t.end(), word.begin(), word.end());
    t.push_back(bar);
    t.insert(t.end(), word.rbegin(), word.rend());
    t.push_back(end);
  }
  t.resize(std::size_t(size));
  return t;
}

double information(const std::vector<std::int32_t>& t) {
  double sum = 0;
  int size = 0;  // of the word so far; -1 behind the bar, where nothing is left to choose
  for (std::size_t i = 1; i < t.size(); ++i) {
    if (t[i] == end) {
      size = 0;
    } else if (size >= 0) {
      const double ends = size < shortest ? 0 : 1.0 / (longest - size + 1);
      sum -= t[i] == bar ? std::log(ends) : std::log((1 - ends) / letters);
      size = t[i] == bar ? -1 : size + 1;
    }
  }
  return sum;
}

Lines count_lines(const std::vector<std::int32_t>& t) {
  Lines lines;
  auto from = t.begin() + 1;
  for (auto to = std::find(from, t.end(), end); to != t.end(); to = std::find(from, t.end(), end)) {
    const auto middle = std::find(from, to, bar);
    const auto size = middle - from;
    ++lines.all;
    lines.right += size >= shortest && size <= longest && to - from == 2 * size + 1 &&
                   std::equal(from, middle, std::make_reverse_iterator(to));
    from = to + 1;
  }
  return lines;
}

std::string to_string(const std::vector<std::int32_t>& t) {
  std::string s;
  for (const std::int32_t c : t) s += alphabet[std::size_t(c)];
  return s;
}

}  // namespace grammar
