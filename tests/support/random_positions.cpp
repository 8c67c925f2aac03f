// tests/support/random_positions.cpp -- steps that read and write at positions known only when the
// program runs, some of them out of range; and random draws.
#include <algorithm>
#include <utility>

#include "gnomon/indexing.h"
#include "gnomon/numeric.h"
#include "gnomon/random.h"
#include "tests/support/random_steps.h"

namespace gnomon::testing {

namespace {

/// A little different, and as exact.
Array changed(const Value& v, const Array& part) {
  if (v.boolean()) return !part;
  if (v.integer()) return part + 3;
  return v.narrow() ? -part : part * 0.5;
}

}  // namespace

std::optional<Value> Steps::pick_indices() {
  return pick([](const Value& v) { return v.integer() && v.rank() <= 2; });
}

/// Positions of an axis of length n, some of them out of range.
Array Steps::positions(const Value& v, Dim n) {
  const Dim slack = random_.between(0, 3);
  const Dim below = random_.between(0, 2);
  // Narrow indices where they are wide enough.
  const Array x = n + slack > 100 && size_of(v.dtype()) < 4 ? cast(v.array, DType::i32) : v.array;
  return x % (n + slack) - (is_signed(x.dtype()) ? below : 0);
}

bool Steps::read_at() {
  const auto x = pick_any([](const Value& v) { return v.rank() > 0; });
  const auto i = pick_indices();
  if (!x || !i) return false;
  const int a = axis(*x);
  const Dim n = x->array.dim(a);
  if (n == 0 || x->array.size() / n * i->array.size() > max_elements_) return false;
  const Array at = positions(*i, n);
  const Dim kind = random_.below(6);
  ReadOptions options;
  options.wrap_negative = random_.chance(70);
  const bool along = x->rank() == i->rank() && x->shape().without(a) == i->shape().without(a);
  if (kind < 3 && along) {
    if (kind == 0 && !x->boolean()) options = {ReadMode::fill, options.wrap_negative, 1};
    return add(take_along_axis(x->array, at, a, options), x->trust);
  }
  if (x->rank() + i->rank() - 1 > style_.most_rank) return false;
  if (kind == 3 && (x->integer() || x->boolean())) options.mode = ReadMode::fill;
  if (kind == 4 && !x->boolean()) options = {ReadMode::fill, options.wrap_negative, 1};
  if (kind == 5 && x->trust != Trust::coarse && !x->integer() && !x->boolean()) {
    // NaN, and away with it.
    options.mode = ReadMode::fill;
    return add(nan_to_num(take(x->array, at, a, options), {.nan = 0.5}), x->trust);
  }
  return add(take(x->array, at, a, options), x->trust);
}

/// x.at(...).get()
bool Steps::read_elements() {
  const auto x = pick([](const Value& v) { return v.rank() > 1 && v.array.size() > 0; });
  const auto i = pick_indices();
  if (!x || !i) return false;
  const auto j = pick(
      [&](const Value& v) { return v.integer() && (v.shape() == i->shape() || v.rank() == 0); });
  const Array& data = x->array;
  if (data.size() * i->array.size() > max_elements_ * 4) return false;
  if (x->rank() + i->rank() > style_.most_rank) return false;
  const Array first = positions(*i, data.dim(0));
  const Array last = positions(*i, data.dim(-1));
  const Array other = positions(*j, data.dim(1));
  switch (random_.below(6)) {
    case 0:
      return add(data.at(first, other).get(), x->trust);
    case 1:
      return add(data.at(every, other).get(), x->trust);
    case 2:
      return add(data.at(ellipsis, last).get({.wrap_negative = false}), x->trust);
    case 3:
      return add(data.at(first, Slice{.step = -1}).get(), x->trust);
    case 4:
      return add(data.at(Slice{.start = 1}, new_axis, other).get(), x->trust);
    default:
      // An index array, a slice, and another: the axis of both goes to the front.
      return x->rank() > 2 &&
             add(data.at(first, Slice{.stop = -1}, positions(*j, data.dim(2))).get(), x->trust);
  }
}

std::vector<Operand> Steps::starts(const Value& x) {
  std::vector<Operand> r;
  for (int a = 0; a < x.rank(); ++a) {
    const auto at = pick_integer_scalar();
    const bool fixed = random_.chance(30);
    if (!at || fixed)
      r.emplace_back(0);
    else
      r.emplace_back(cast(positions(*at, x.array.dim(a) + 1), DType::i32));
  }
  return r;
}

bool Steps::slice_at() {
  const auto x = pick_array();
  if (!x || x->array.size() == 0) return false;
  Shape sizes;
  for (Dim d : x->shape()) {
    const bool whole = random_.chance(40);
    sizes.append(whole ? d : random_.between(1, d));
  }
  const Array part = dynamic_slice(x->array, starts(*x), sizes);
  if (random_.chance(50)) return add(part, x->trust);
  return add(dynamic_update_slice(x->array, changed(*x, part), starts(*x)), x->trust);
}

bool Steps::write_at() {
  const auto x = pick([](const Value& v) { return v.rank() > 0 && !v.boolean(); });
  if (!x) return false;
  const Dim n = x->array.dim(0);
  if (n == 0) return false;
  const Array& data = x->array;
  const Dim kind = random_.below(4);
  if (kind == 3) {
    const auto i = pick_integer_scalar();
    if (!i) return false;
    return add(at_set(data, positions(*i, n), changed(*x, data[-1])), x->trust);
  }
  // One index per row.
  const auto i = pick([&](const Value& v) { return v.integer() && v.rank() == 1; });
  if (!i || i->array.size() == 0) return false;
  const Dim m = i->array.dim(0);
  const Shape wide = data.shape().with(0, m);
  if (wide.size() > max_elements_) return false;
  const Array scale = x->integer() ? data : data * (1.0 / static_cast<double>(m));
  const Array rows = broadcast_to(slice_axis(scale, 0, 0, 1), wide);
  const Operand half = x->integer() ? Operand(1) : Operand(0.5);
  if (kind == 0) {
    const Dim count = random_.between(1, 9);
    return approximate(segment_sum(m == n ? scale : rows, positions(*i, count), count));
  }
  if (kind == 1) return approximate(at_add(data, positions(*i, n), rows) * half);
  const int a = x->rank() - 1;
  const Array sum = scatter_add(swapaxes(data, 0, a), positions(*i, n), swapaxes(rows, 0, a), a);
  return approximate(sum * half);
}

/// x.at(...).set(), add(), mul(), min(), max()
bool Steps::write_elements() {
  const auto x = pick([](const Value& v) { return v.rank() > 0 && v.array.size() > 0; });
  if (!x) return false;
  const auto i = pick_indices();
  const auto mask = pick([&](const Value& v) {
    return v.boolean() && v.rank() > 0 && v.rank() <= x->rank() &&
           v.shape() == x->shape().part(0, v.rank());
  });
  const Array& data = x->array;
  const Dim place = random_.below(5);
  const bool of_range = random_.chance(30);
  const bool wraps = random_.chance(70);
  const WriteOptions options{of_range ? WriteMode::clip : WriteMode::drop, wraps, false};
  std::optional<At> at;
  Shape region;  // of what is written
  if (place == 0) {
    if (!mask) return false;
    at = data.at(mask->array);
    region = x->shape().part(mask->rank(), x->rank());
  } else if (place == 1) {
    const Dim first = random_.between(0, data.dim(0) - 1);
    const Dim step = random_.between(1, 2);
    at = data.at(Slice{.start = first, .step = step});
    region = x->shape().with(0, (data.dim(0) - first + step - 1) / step);
  } else {
    if (!i || i->array.size() * (data.size() / data.dim(0)) > max_elements_) return false;
    if (i->rank() + x->rank() > style_.most_rank) return false;
    const Array first = positions(*i, data.dim(0));
    int used = 1;
    if (place == 2 || x->rank() == 1) {
      at = data.at(first);
    } else {
      const auto j = pick([&](const Value& v) {
        return v.integer() && (v.shape() == i->shape() || v.rank() == 0);
      });
      at = data.at(first, positions(*j, data.dim(1)));
      used = 2;
    }
    region = i->shape();
    for (int a = used; a < x->rank(); ++a) region.append(data.shape()[a]);
  }
  // Values of the region's shape, or a single one.
  const auto source =
      pick([&](const Value& v) { return v.dtype() == x->dtype() && v.array.size() > 0; });
  const bool single = random_.chance(30);
  Array values = filled(*source, single ? Shape() : region);
  const Trust trust = worse(*x, *source);
  const bool kinks = trust == Trust::exact || !style_.smooth;
  const Dim kind = random_.below(5);
  if (kind == 0) return add(at->set(values, options), trust);
  if (x->boolean()) return false;
  if (kind == 1) {
    if (x->integer()) return exact(at->add(values, options));
    const auto many = static_cast<double>(std::max<Dim>(1, region.size()));
    return approximate(at->add(values * (1 / many), options) * 0.5);
  }
  if (kind == 2) {
    if (x->integer()) return exact(at->mul(values, options));
    // A derivative needs to know that no element is written twice.
    return !style_.smooth && x->floating() && rounded(at->mul(sin(values), options));
  }
  if (!kinks) return false;
  return add(kind == 3 ? at->min(values, options) : at->max(values, options), trust);
}

/// Reductions of the rows that an index puts together.
bool Steps::segments() {
  const auto x = pick([](const Value& v) { return v.rank() > 0 && !v.boolean(); });
  if (!x) return false;
  const Dim m = x->array.dim(0);
  const auto i =
      pick([&](const Value& v) { return v.integer() && v.rank() == 1 && v.array.dim(0) == m; });
  if (!i || m == 0) return false;
  const Dim count = random_.between(1, 9);
  const Array ids = positions(*i, count);
  // A segment of nothing is infinite.
  const auto bounded = [&](const Array& a) { return x->integer() ? a : clip(a, -4, 4); };
  switch (random_.below(4)) {
    case 0:
      return may_kink(*x) && add(bounded(segment_max(x->array, ids, count)), x->trust);
    case 1:
      return may_kink(*x) && add(bounded(segment_min(x->array, ids, count)), x->trust);
    case 2:
      if (x->integer()) return exact(segment_prod(x->array, ids, count));
      return !style_.smooth && x->floating() && rounded(segment_prod(sin(x->array), ids, count));
    default:
      return x->integer() && exact(segment_sum(x->array, ids, count));
  }
}

bool Steps::random_draws() {
  const auto seed =
      pick([](const Value& v) { return v.rank() == 0 && v.integer() && size_of(v.dtype()) == 4; });
  if (!seed) return false;
  const Dim n = length();
  const bool matrix = random_.chance(40);
  const Shape shape = matrix ? Shape(3, n) : Shape(n);
  if (shape.size() > max_elements_) return false;
  Key key = random::key(seed->array);
  const auto x = pick([](const Value& v) { return v.rank() > 0 && v.array.size() > 0; });
  const DType type = dtype();
  switch (random_.below(12)) {
    case 0:
      return exact(random::bits(std::move(key), shape));
    case 1:
      return exact(random::uniform(std::move(key), shape));
    case 2:
      return exact(random::randint(std::move(key), shape, -3, 12));
    case 3:
      return exact(random::rademacher(std::move(key), shape));
    case 4:
      return is_unsigned(type) && exact(random::bits(std::move(key), shape, type));
    case 5:
      return exact(random::bernoulli(std::move(key), 0.375, shape));
    case 6:
      return rounded(random::normal(std::move(key), shape) * 0.5);
    case 7:
      return rounded(random::exponential(std::move(key), shape) * 0.25);
    case 8:
      return n > 0 && exact(random::permutation(std::move(key), n));
    case 9:
      return x && add(random::permutation(std::move(key), x->array), x->trust);
    case 10:
      return exact(random::split(std::move(key), std::max<Dim>(1, n)).words());
    default:
      return exact(random::fold_in(key, 7).words());
  }
}

}  // namespace gnomon::testing
