// codegen/program/effect_table.h -- what the host reads of a program's statements: where each left
// its records, and the lines and errors these make.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/base/host_array.h"

namespace gnomon {

/// A part of the place in time at which a statement ran. Times are ordered part by part.
struct TimePart {
  enum class Kind : std::uint8_t {
    position,  // `value`: an equation among those of its graph, or a branch among branches
    step,      // of the loop around it that is `value`-th from outside
    lane,      // of the axis lanes[value]
  };
  Kind kind = Kind::position;
  Dim value = 0;
};

/// One statement of a graph and its records.
///
/// Its arrays, in this order, have the lanes (one axis for all of them) in front when there are
/// any:
///   print:    i32 how often it ran; one array for each value; for each loop around it the step,
///   i32 error_if: i32 how many elements were true, i32 the flat index of the first one; the steps
/// With `rows`, values and steps of print have an axis for the records behind the lanes, of one
/// more than `rows`, the last of which means nothing.
struct Statement {
  enum class Kind : std::uint8_t { print, error_if };
  Kind kind = Kind::print;
  std::string text;
  Loc loc;
  std::vector<Dim> lanes;
  std::vector<Aval> values;  // operands without lanes
  std::vector<TimePart> time;
  std::uint32_t loops = 0;  // around it
  Dim rows = 0;             // 0: it is in no loop
  std::size_t first = 0;    // of its arrays among all
  std::size_t count = 0;
};

/// The lines of a call and the error it ends with, if any.
struct Report {
  std::vector<std::string> lines;
  std::optional<std::string> failure;
};

/// The statements of a program, in its order.
struct EffectTable {
  std::vector<Statement> statements;
  std::size_t arrays = 0;  // of all statements

  /// `records` are the arrays in order.
  Report read(std::span<const HostArray> records) const;
};

}  // namespace gnomon
