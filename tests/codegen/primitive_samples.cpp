// tests/codegen/primitive_samples.cpp -- random inputs of the examples.
#include <algorithm>
#include <cmath>
#include <random>

#include "tests/codegen/primitive_cases.h"

namespace gnomon::test {
namespace {

/// Whether the coordinates along the two axes of this length agree.
bool on_diagonal(const Shape& shape, Dim flat, Dim length) {
  Dim found = -1;
  for (int axis = shape.rank(); axis-- > 0;) {
    const Dim at = flat % shape[axis];
    flat /= shape[axis];
    if (shape[axis] != length) continue;
    if (found >= 0) return found == at;
    found = at;
  }
  return false;
}

/// Integers along the axis of length `n` in order, from `low` to `high`.
void put_in_order(HostArray& h, Dim n, std::int64_t low, std::int64_t high) {
  const Shape& s = h.aval.shape;
  int axis = 0;
  while (s[axis] != n) ++axis;
  const Dim stride = s.part(axis + 1, s.rank()).size();
  for (Dim first = 0; first < h.size(); ++first) {
    if (first / stride % n != 0) continue;
    std::vector<std::int64_t> row;
    for (Dim i = 0; i < n; ++i) row.push_back(h.integer(first + i * stride));
    std::sort(row.begin(), row.end());
    row.front() = low, row.back() = high;
    for (Dim i = 0; i < n; ++i) h.set_integer(first + i * stride, row[static_cast<std::size_t>(i)]);
  }
}

/// Permutations along an axis, `unit` giving numbers in [0, 1).
template <class Unit>
void put_permutations(HostArray& h, int axis, Unit&& unit) {
  const Shape& shape = h.aval.shape;
  const Dim length = shape[axis], inner = shape.part(axis + 1, shape.rank()).size();
  for (Dim row = 0; length > 0 && row < h.size() / length; ++row) {
    const Dim first = row / inner * inner * length + row % inner;
    for (Dim i = 0; i < length; ++i) {
      const Dim other = static_cast<Dim>(unit() * static_cast<double>(i + 1));
      h.set_integer(first + i * inner, h.integer(first + other * inner));
      h.set_integer(first + other * inner, i);
    }
  }
}

}  // namespace

std::vector<HostArray> sample(const Case& c, std::uint64_t seed) {
  return sample(c.inputs, c.domains, seed);
}

std::vector<HostArray> sample(const std::vector<Aval>& avals, const std::vector<Domain>& domains,
                              std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<HostArray> r;
  for (std::size_t n = 0; n < avals.size(); ++n) {
    HostArray h(avals[n]);
    const auto [low, high, diagonal, square, permuted_axis, ascending] = domains[n];
    if (permuted_axis >= 0) {
      put_permutations(h, permuted_axis, unit);
      r.push_back(std::move(h));
      continue;
    }
    for (Dim i = 0; i < h.size(); ++i) {
      if (is_float(h.aval.dtype)) {
        const double x = low + (high - low) * unit();
        h.set_number(i, on_diagonal(h.aval.shape, i, square) ? x + diagonal : x);
      } else if (h.aval.dtype == DType::boolean) {
        h.set_integer(i, unit() < 0.5);
      } else {
        const double first =
            is_unsigned(h.aval.dtype) ? std::fmax(0, std::ceil(low)) : std::ceil(low);
        h.set_integer(i, static_cast<std::int64_t>(
                             first + std::floor((std::floor(high) - first + 1) * unit())));
      }
    }
    if (ascending > 0)
      put_in_order(h, ascending, static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
    r.push_back(std::move(h));
  }
  return r;
}

}  // namespace gnomon::test
