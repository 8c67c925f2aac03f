// engine/library/nn/checks.cpp -- what layers say of inputs that do not fit.
#include "engine/library/nn/checks.h"

#include "gnomon/error.h"
#include "gnomon/ops.h"

namespace gnomon::nn::detail {
namespace {

/// "[3,any]".
std::string text(const Shape& want) {
  std::string s = "[";
  for (int i = 0; i < want.rank(); ++i) {
    if (i) s += ',';
    s += want[i] < 0 ? "any" : std::to_string(want[i]);
  }
  return s + "]";
}

bool fits(const Shape& shape, const Shape& want) {
  if (shape.rank() != want.rank()) return false;
  for (int i = 0; i < want.rank(); ++i)
    if (want[i] >= 0 && shape[i] != want[i]) return false;
  return true;
}

}  // namespace

void fail(std::string_view layer, const std::string& what, Loc loc) {
  usage_error("nn::" + std::string(layer), what, loc);
}

Array array_of(const Operand& x) { return x.is_array() ? x.array() : full({}, x); }

void check_shape(std::string_view layer, std::string_view part, const Array& x, const Shape& want,
                 Loc loc) {
  const Shape& shape = x.shape();
  if (fits(shape, want)) return;
  const std::string given = "the " + std::string(part) + " is " + to_string(x.aval());
  const std::string wanted = "the layer takes " + text(want);
  if (shape.rank() == want.rank() + 1 && fits(shape.part(1, shape.rank()), want))
    fail(layer,
         given + ", " + wanted +
             "; a layer acts on one example, gnomon::vmap(layer)(x) on a batch of them",
         loc);
  if (shape.rank() == 1 && want.rank() == 1)
    fail(layer,
         "the " + std::string(part) + " has " + std::to_string(shape[0]) +
             " features, the layer takes " + std::to_string(want[0]) +
             "; make the layer for as many as it is given",
         loc);
  fail(layer, given + ", " + wanted + "; pass one example of that shape", loc);
}

void check_weight(std::string_view layer, std::string_view name, const Array& weight, int rank,
                  Loc loc) {
  if (weight.empty())
    fail(layer, "`" + std::string(name) + "` is empty; `make` draws the weights of a layer", loc);
  if (weight.rank() == rank) return;
  if (weight.rank() == rank + 1)
    fail(layer,
         "`" + std::string(name) + "` is " + to_string(weight.aval()) +
             ", that of a stack of layers; vmap or scan over the layer takes one of them at a time",
         loc);
  fail(layer,
       "`" + std::string(name) + "` is " + to_string(weight.aval()) + ", not of rank " +
           std::to_string(rank) + "; `make` gives it the right shape",
       loc);
}

void check_sizes(std::string_view layer,
                 std::initializer_list<std::pair<std::string_view, Dim>> sizes, Dim least,
                 Loc loc) {
  for (const auto& [name, size] : sizes)
    if (size < least)
      fail(layer,
           "`" + std::string(name) + "` is " + std::to_string(size) + "; it is at least " +
               std::to_string(least),
           loc);
}

}  // namespace gnomon::nn::detail
