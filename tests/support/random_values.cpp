// tests/support/random_values.cpp -- what steps share: which values there are and how one becomes
// an operand of another type or shape.
#include <algorithm>

#include "gnomon/indexing.h"
#include "tests/support/random_steps.h"

namespace gnomon::testing {

bool Steps::add(Array a, Trust trust) {
  if (a.size() > max_elements_ || a.rank() > style_.most_rank) return false;
  // Only floats are ever uncertain.
  if (!is_float(a.dtype())) trust = Trust::exact;
  values_.push_back({std::move(a), trust});
  return true;
}

bool Steps::approximate(Array a) {
  const bool narrow = a.dtype() == DType::f16 || a.dtype() == DType::bf16;
  return add(std::move(a), narrow ? Trust::coarse : Trust::rounded);
}

Dim Steps::length() {
  if (random_.chance(40)) return setting_.lanes;
  return random_.one_of(setting_.lengths);
}

std::vector<int> Steps::order(int rank) {
  std::vector<int> r;
  for (int a = 0; a < rank; ++a) r.push_back(a);
  for (int a = rank - 1; a > 0; --a)
    std::swap(r[static_cast<std::size_t>(a)], r[static_cast<std::size_t>(random_.below(a + 1))]);
  return r;
}

bool Steps::broadcasts(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int a = 1; a <= from.rank(); ++a)
    if (from[from.rank() - a] != 1 && from[from.rank() - a] != to[to.rank() - a]) return false;
  return true;
}

bool Steps::convertible(const Value& v, DType to) {
  // Rounding to fewer bits and truncation need to know what they round.
  return v.dtype() == to || v.exact() || (v.floating() && to == DType::f32);
}

Array Steps::converted(const Value& v, DType to) {
  if (v.dtype() == to) return v.array;
  if (v.boolean()) return cast(v.array, to);
  const bool from_float = is_float(v.dtype());
  if (is_float(to)) return from_float ? cast(v.array, to) : cast(v.array % 9, to) * 0.25 - 1;
  if (to == DType::boolean) return from_float ? v.array > 0.25 : v.array % 3 == 1;
  // Floats stay small; integers keep their low bits.
  return cast(from_float ? cast(round(v.array * 4), DType::i32) : v.array, to);
}

Array Steps::filled(const Value& v, const Shape& shape) {
  const Array flat = ravel(v.array);
  const Dim n = shape.size();
  if (flat.size() == n) return reshape(flat, shape);
  if (flat.size() > n) return reshape(slice_axis(flat, 0, 0, n), shape);
  return reshape(take(flat, iota(Shape(n), 0) % flat.size()), shape);
}

std::optional<std::pair<Value, Value>> Steps::two() {
  const auto x = pick([](const Value&) { return true; });
  if (!x) return std::nullopt;
  const auto y = pick([&](const Value& v) {
    return v.dtype() == x->dtype() &&
           (broadcasts(v.shape(), x->shape()) || broadcasts(x->shape(), v.shape()));
  });
  if (!y) return std::nullopt;
  if (random_.chance(50)) return std::pair{*y, *x};
  return std::pair{*x, *y};
}

}  // namespace gnomon::testing
