// engine/library/nn/checks.h -- what layers say of inputs that do not fit.
#pragma once
#include <string>
#include <string_view>

#include "gnomon/array.h"

namespace gnomon::nn::detail {

/// Throws UsageError "gnomon::nn::<layer>: <what> (file:line)".
[[noreturn]] void fail(std::string_view layer, const std::string& what, Loc);

/// An operand as an array: numbers have no axes.
Array array_of(const Operand& x);

/// Throws UsageError unless `x` has this shape; -1 is any length. `part` says which input it is:
/// "input", "hidden state". For one axis too many in front it says that vmap maps a batch.
void check_shape(std::string_view layer, std::string_view part, const Array& x, const Shape& want,
                 Loc);

/// Throws UsageError unless a weight of the layer has as many axes: those that vmap or scan made in
/// a stack have one more.
void check_weight(std::string_view layer, std::string_view name, const Array& weight, int rank,
                  Loc);

/// Throws UsageError unless each size is at least `least`.
void check_sizes(std::string_view layer,
                 std::initializer_list<std::pair<std::string_view, Dim>> sizes, Dim least, Loc);

}  // namespace gnomon::nn::detail
