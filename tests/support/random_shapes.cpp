// tests/support/random_shapes.cpp -- steps that move elements, reduce axes and multiply arrays.
#include <algorithm>

#include "gnomon/arrange.h"
#include "gnomon/statistics.h"
#include "tests/support/random_steps.h"

namespace gnomon::testing {

bool Steps::rearrange() {
  const auto v = pick_any([](const Value&) { return true; });
  if (!v) return false;
  const Array& x = v->array;
  const Dim kind = random_.below(11);
  // High ranks are rare, but they come.
  const int rank = v->rank();
  const bool high = random_.chance(12);
  const bool grows = rank < (high ? style_.most_rank : std::min(4, style_.most_rank));
  if (kind == 0 || rank == 0) {
    const Dim n = length();
    if (!grows) return false;
    return add(broadcast_to(x, v->shape().with_inserted(0, n)), v->trust);
  }
  const int a = axis(*v);
  switch (kind) {
    case 1:
      return rank > 1 && add(transpose(x, order(rank)), v->trust);
    case 2:
      return add(ravel(x), v->trust);
    case 3:
      return add(flip(x, a), v->trust);
    case 4:
      return grows && add(expand_dims(x, a), v->trust);
    case 5: {
      const Dim by = random_.between(-3, 5);
      return add(roll(x, by, a), v->trust);
    }
    case 6: {
      // One axis in two.
      for (Dim d = 2; grows && d < 10; ++d) {
        if (x.dim(a) <= d || x.dim(a) % d != 0) continue;
        return add(reshape(x, v->shape().with(a, d).with_inserted(a + 1, x.dim(a) / d)), v->trust);
      }
      return false;
    }
    case 7: {
      const Dim times = random_.between(1, 3);
      return add(repeat(x, times, a), v->trust);
    }
    case 8: {
      const Dim by = random_.between(-2, 2);
      const bool lower = random_.chance(50);
      if (rank < 2 || v->boolean()) return false;
      return add(lower ? tril(x, by) : triu(x, by), v->trust);
    }
    case 9: {
      const Dim by = random_.between(-1, 1);
      const bool fits = rank >= 2 && x.dim(0) > 1 && x.dim(1) > 1;
      return fits && add(diagonal(x, by), v->trust);
    }
    default:
      // Two axes in one.
      if (a + 1 >= rank) return false;
      return add(reshape(x, v->shape().with(a, x.dim(a) * x.dim(a + 1)).without(a + 1)), v->trust);
  }
}

bool Steps::cut() {
  const auto v = pick_any([](const Value& x) { return x.rank() > 0; });
  if (!v) return false;
  const Array& x = v->array;
  const int a = axis(*v);
  const Dim n = x.dim(a);
  switch (random_.below(4)) {
    case 0: {
      if (n == 0) return false;
      const Dim start = random_.below(n);
      const Dim limit = random_.between(start, n);
      const Dim stride = random_.between(1, 3);
      return add(slice_axis(x, a, start, limit, stride), v->trust);
    }
    case 1: {
      std::vector<std::pair<Dim, Dim>> widths;
      for (int i = 0; i < v->rank(); ++i) {
        const Dim before = random_.between(-1, 2);
        const Dim after = random_.between(-1, 2);
        if (x.dim(i) + before + after < 0 || x.dim(i) < 2)
          widths.emplace_back(0, 1);
        else
          widths.emplace_back(before, after);
      }
      if (v->boolean()) return exact(pad(x, widths, true));
      return add(pad(x, widths, 1), v->trust);
    }
    case 2: {
      if (n == 0) return false;
      const Dim i = random_.below(n);
      std::vector<Dim> starts(static_cast<std::size_t>(v->rank()), 0), limits;
      for (Dim d : v->shape()) limits.push_back(d);
      starts[static_cast<std::size_t>(a)] = i;
      limits[static_cast<std::size_t>(a)] = i + 1;
      return add(squeeze(slice(x, starts, limits), a), v->trust);
    }
    default: {
      if (x.dim(0) == 0) return false;
      const Dim i = random_.between(-x.dim(0), x.dim(0) - 1);
      return add(x[i], v->trust);
    }
  }
}

bool Steps::join() {
  const auto x = pick_any([](const Value& v) { return v.rank() > 0; });
  if (!x) return false;
  const int a = axis(*x);
  const auto y = pick([&](const Value& v) {
    return v.dtype() == x->dtype() && v.rank() == x->rank() &&
           v.shape().without(a) == x->shape().without(a);
  });
  const auto same = pick([&](const Value& v) { return v.array.aval() == x->array.aval(); });
  if (!y || !same) return false;
  const Trust trust = std::max({x->trust, y->trust, same->trust});
  switch (random_.below(3)) {
    case 0:
      return add(concatenate({x->array, y->array}, a), trust);
    case 1:
      return add(concatenate({y->array, x->array, same->array}, a), trust);
    default:
      return x->rank() < style_.most_rank && add(stack({x->array, same->array}, a), trust);
  }
}

bool Steps::reduce_narrow(const Value& v, int a) {
  const Array& x = v.array;
  const Dim n = x.dim(a);
  switch (random_.below(6)) {
    case 0:
      return n > 0 && exact(max(x, a));
    case 1:
      return n > 0 && exact(min(x, a));
    case 2:
      return n > 0 && exact(argmax(x, a));
    case 3:
      // Sums of few small whole numbers have no rounding.
      return n <= 64 && exact(sum(clip(round(x), -2, 2), a));
    case 4:
      return coarse(mean(x, a));
    default:
      return x.size() > 0 && exact(argmin(x));
  }
}

bool Steps::reduce() {
  const auto v = pick_array();
  if (!v) return false;
  const Array& x = v->array;
  const int a = axis(*v);
  if (v->narrow()) return reduce_narrow(*v, a);
  Axes axes = a;
  if (random_.chance(25)) axes = Axes();
  if (v->rank() > 1 && random_.chance(25)) {
    const int b = (a + 1) % v->rank();
    axes = Axes{a, b};
  }
  const bool keep = random_.chance(25);
  const ReduceOptions options{keep};
  Dim n = 1;
  if (axes.all()) {
    n = x.size();
  } else {
    for (int i : axes.list()) n *= x.dim(i);
  }
  if (v->boolean()) {
    switch (random_.below(4)) {
      case 0:
        return exact(any(x, axes, options));
      case 1:
        return exact(all(x, axes, options));
      case 2:
        return x.dim(a) > 0 && exact(argmax(x, a));
      default:
        return exact(sum(x, axes, options));
    }
  }
  const Dim kind = random_.below(14);
  const bool empty = n == 0;
  if ((kind < 2 || kind > 9) && !may_kink(*v)) return false;
  if (kind == 0 && !empty) return add(max(x, axes, options), v->trust);
  if (kind == 1 && !empty) return add(min(x, axes, options), v->trust);
  if (kind == 2 && v->exact() && x.dim(a) > 0) return exact(argmax(x, a));
  if (kind == 3 && v->exact() && x.dim(a) > 0) return exact(argmin(x, a));
  if (kind == 10 && x.size() > 0 && v->exact()) return exact(argmax(x));
  if (kind == 11 && v->floating() && !empty) return rounded(median(x, axes, options));
  if (kind == 12 && v->exact()) return exact(any(x, axes, options));
  if (kind == 13 && !empty && v->integer()) return exact(ptp(x, axes, options));
  if (v->integer()) {
    if (kind < 6) return exact(prod(x, axes, options));
    return exact(sum(x, axes, options));
  }
  if (empty) return add(sum(x, axes, options), v->trust);
  switch (kind) {
    case 4:
      // Below 1, however many factors: in a loop, squares of more enlarge every difference.
      return rounded(0.36 * prod(1 + sin(x) / static_cast<double>(n), axes, options));
    case 5:
      return rounded(mean(x, axes, options));
    case 6:
      return rounded(logsumexp(x, axes, options) * 0.25);
    case 7:
      return x.dim(a) > 0 && rounded(softmax(x, a));
    case 8:
      return rounded(var(x, axes, {0, keep}));
    default:
      return rounded(sum(x, axes, options) / static_cast<double>(n));
  }
}

/// Products of floats, of size one again.
bool Steps::scaled(Array product, Dim terms) {
  if (is_integer(product.dtype())) return exact(std::move(product));
  return approximate(product * (1.0 / static_cast<double>(std::max<Dim>(1, terms))));
}

/// With leading axes that go along.
bool Steps::multiply_batched(const Value& v) {
  const Array& x = v.array;
  const Dim n = x.dim(-1);
  if (x.size() * std::max<Dim>(x.dim(-2), x.dim(0)) > 200000) return false;
  const auto y = pick([&](const Value& w) {
    return w.dtype() == v.dtype() && w.rank() == 2 && w.array.dim(0) == x.dim(0) &&
           w.array.dim(1) == n;
  });
  const Dim kind = random_.below(7);
  if (v.rank() == 4) return scaled(einsum("abij,abkj->abik", x, x), n);
  switch (kind) {
    case 0:
      return scaled(einsum("bij,bij->b", x, x), n * x.dim(1));
    case 1:
      return scaled(einsum("bij,bik->bkj", x, x), x.dim(1));
    case 2:
      return scaled(einsum("bij,kij->bk", x, x), n * x.dim(1));
    case 3:
      return y && scaled(einsum("bij,bj->bi", x, y->array), n);
    case 4:
      return y && scaled(einsum("bj,bij->jib", y->array, x), 1);
    case 5:
      return scaled(matmul(x, transpose(x, {0, 2, 1})), n);
    default:
      return scaled(einsum("bij,bkj->bik", x, x), n);
  }
}

bool Steps::multiply() {
  const auto number = [](const Value& v) { return !v.boolean() && v.rank() > 0 && v.rank() < 5; };
  const auto x = pick(number);
  if (!x) return false;
  if (x->rank() > 2) return multiply_batched(*x);
  const Dim n = x->array.dim(-1);
  const auto y = pick([&](const Value& v) {
    return number(v) && v.dtype() == x->dtype() && v.rank() <= 2 && v.array.dim(0) == n;
  });
  if (!y || random_.chance(30)) {
    // With itself, over one or all axes but the first.
    if (x->rank() == 1) return scaled(dot(x->array, flip(x->array, 0)), n);
    return scaled(matmul(x->array, transpose(x->array)), n);
  }
  if (x->array.size() * y->array.size() > 200000 * std::max<Dim>(1, n)) return false;
  if (random_.chance(30)) return scaled(tensordot(x->array, y->array, {x->rank() - 1}, {0}), n);
  if (x->rank() == 1 && y->rank() == 1 && random_.chance(50))
    return n * n <= max_elements_ && scaled(outer(x->array, y->array), 4);
  return scaled(matmul(x->array, y->array), n);
}

}  // namespace gnomon::testing
