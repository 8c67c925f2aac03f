// engine/runtime/join.h -- which dispatches of a stretch become one. No Vulkan.
//
// Dispatches of one pipeline between two barriers need nothing of one another, and starting a
// dispatch costs more than a small one takes: on CPU drivers every one of them wakes all threads up
// and waits for the last. So many of them are the parts of one dispatch, which has a parameter
// block for each of them and a table that says whose workgroups are whose (shaders/spirv/emit.h).
// Its pipeline is another than that of a dispatch alone: a few are not worth compiling it.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "codegen/program/target.h"
#include "shaders/kernel/kernel.h"

namespace gnomon {

/// One dispatch as it would be recorded.
struct Part {
  bool barrier_before = false;
  std::optional<std::uint32_t> alike;  // the same number: the same pipeline and windows
  std::uint32_t groups = 0;
  std::uint32_t rows = 0;  // of four words that its parameter block takes
};

/// The parts of one dispatch, by their places in the stretch, and its table.
struct Joined {
  std::vector<std::uint32_t> parts;
  std::uint32_t shift = 0;  // a word of the table is for 2^shift workgroups
  std::uint32_t slots = 0;  // words of the table
  std::uint32_t rows = 0;   // of the whole parameter block

  static std::uint32_t slots_of(const Part& p, std::uint32_t shift) {
    return ((p.groups - 1) >> shift) + 1;
  }
  /// The row at which the first part's block begins.
  std::uint32_t first_row() const { return kernel::parameter_header_words / 4 + (slots + 3) / 4; }
};

/// The finest table for these parts. Nothing where a uniform buffer of any device has no room for
/// it, `max_groups` are too few, or too many workgroups would have nothing to do.
inline std::optional<Joined> table_of(std::span<const Part> stretch,
                                      std::vector<std::uint32_t> parts, std::uint32_t max_groups) {
  constexpr std::uint32_t most_rows = 16384 / 16;  // Vulkan 1.1, "Required Limits"
  Joined r{std::move(parts)};
  std::uint64_t groups = 0;
  std::uint32_t rows = 0;
  for (const std::uint32_t p : r.parts) {
    groups += stretch[p].groups;
    rows += stretch[p].rows;
  }
  if (groups > max_groups || rows >= most_rows) return {};
  for (r.shift = 0; r.shift < 16; ++r.shift) {
    std::uint64_t slots = 0;
    for (const std::uint32_t p : r.parts) slots += Joined::slots_of(stretch[p], r.shift);
    const std::uint64_t padded = slots << r.shift;
    if (padded > max_groups || padded > groups + groups / 2 + 64) return {};
    if (slots > spirv::max_slots) continue;
    r.slots = static_cast<std::uint32_t>(slots);
    r.rows = r.first_row() + rows;
    if (r.rows <= most_rows) return r;
  }
  return {};
}

/// Fewer stay dispatches of their own.
constexpr std::size_t fewest_parts = 4;

/// The dispatches of a stretch, in an order that respects its barriers.
inline std::vector<Joined> join(std::span<const Part> stretch, std::uint32_t max_groups) {
  std::vector<Joined> all;
  std::map<std::uint32_t, std::size_t> open;  // by Part::alike, into `all`
  for (std::uint32_t p = 0; p < stretch.size(); ++p) {
    const Part& part = stretch[p];
    if (part.barrier_before) open.clear();
    if (part.groups == 0) continue;
    if (part.alike) {
      if (const auto at = open.find(*part.alike); at != open.end()) {
        std::vector<std::uint32_t> parts = all[at->second].parts;
        parts.push_back(p);
        if (auto more = table_of(stretch, std::move(parts), max_groups)) {
          all[at->second] = std::move(*more);
          continue;
        }
      }
      open[*part.alike] = all.size();
    }
    all.push_back({{p}});
  }
  std::vector<Joined> result;
  for (Joined& j : all) {
    if (j.parts.size() >= fewest_parts)
      result.push_back(std::move(j));
    else
      for (const std::uint32_t p : j.parts) result.push_back({{p}});
  }
  return result;
}

}  // namespace gnomon
