// tests/support/random_runs.cpp -- steps along axes: sorts and searches, running results, windows,
// convolutions, Fourier transforms.
#include <algorithm>

#include "gnomon/convolution.h"
#include "gnomon/cumulative.h"
#include "gnomon/fft.h"
#include "gnomon/numeric.h"
#include "gnomon/sorting.h"
#include "gnomon/statistics.h"
#include "tests/support/random_steps.h"

namespace gnomon::testing {

bool Steps::sorted() {
  const auto v = pick_array();
  if (!v) return false;
  const Array& x = v->array;
  const int a = axis(*v);
  const Dim n = x.dim(a);
  const bool descending = random_.chance(40);
  const Dim kind = random_.below(6);
  // Only what is exact has one order; sorted values change little.
  if (!may_kink(*v) || (!v->exact() && kind != 0)) return false;
  const auto other = pick([&](const Value& w) { return w.shape() == v->shape(); });
  switch (kind) {
    case 0:
      return add(sort(x, a, {descending}), v->trust);
    case 1:
      return exact(argsort(x, a, {descending}));
    case 2: {
      const Dim k = std::min<Dim>(n, random_.between(1, 4));
      if (k == 0 || v->boolean()) return false;
      TopK top = top_k(x, k, a);
      exact(std::move(top.values));
      return exact(std::move(top.indices));
    }
    case 3: {
      const bool both = other->exact() && random_.chance(50);
      const std::vector<Array> r = sort_together({x, other->array}, both ? 2 : 1, a);
      exact(r[0]);
      return add(r[1], other->trust);
    }
    case 4:
      return other->exact() && exact(lexsort({x, other->array}, a));
    default: {
      if (n == 0) return false;
      const Dim at = random_.between(-n, n - 1);
      return exact(partition(x, at, a));
    }
  }
}

bool Steps::searched() {
  const auto x = pick([](const Value& v) { return v.exact() && v.array.size() > 0; });
  if (!x) return false;
  const auto y = pick(
      [&](const Value& v) { return v.exact() && v.dtype() == x->dtype() && v.array.size() > 0; });
  const Dim size = random_.between(1, 12);
  const bool right = random_.chance(50);
  switch (random_.below(6)) {
    case 0:
      if (x->boolean()) return false;
      return exact(searchsorted(sort(ravel(x->array)), y->array, right ? Side::right : Side::left));
    case 1: {
      if (x->boolean() || x->array.size() > 300) return false;
      const Unique u = unique(x->array, size);
      exact(u.values);
      exact(u.counts);
      return exact(right ? u.indices : u.inverse);
    }
    case 2:
      return exact(flatnonzero(x->array, size, -1));
    case 3:
      return exact(count_nonzero(x->array));
    case 4:
      if (x->boolean() || x->array.size() > 300 || y->array.size() > 300) return false;
      return exact(isin(x->array, y->array));
    default:
      return x->integer() && exact(bincount(cast(x->array % 13, DType::i32), size));
  }
}

bool Steps::accumulate() {
  const auto v = pick_array();
  if (!v) return false;
  const Array& x = v->array;
  const int along = axis(*v);
  const bool flat = random_.chance(15);
  const std::optional<int> a = flat ? std::nullopt : std::optional<int>(along);
  const bool reverse = random_.chance(40);
  const CumulativeOptions options{reverse};
  const Dim n = std::max<Dim>(1, flat ? x.size() : x.dim(along));
  const Dim kind = random_.below(9);
  if (kind < 2) {
    if (v->boolean() || !may_kink(*v)) return false;
    return add(kind == 0 ? cummax(x, a, options) : cummin(x, a, options), v->trust);
  }
  if (kind == 2 && !v->boolean()) {
    const Array d = diff(x, 1, along);
    return v->integer() ? exact(d) : v->floating() && rounded(d * 0.5);
  }
  if (kind == 3 && v->integer()) {
    const bool product = random_.chance(50);
    const auto combined = [&](const Array& p, const Array& q) {
      return product ? p * q : maximum(p, q);
    };
    return exact(associative_scan(combined, x, {.reverse = reverse, .axis = along}));
  }
  if (v->integer() || v->boolean()) {
    if (kind < 6 && !v->boolean()) return exact(cumprod(x, a, options));
    return exact(cumsum(x, a, options));
  }
  if (v->narrow()) return coarse(cumsum(x * (1 / static_cast<double>(n)), a, options));
  switch (kind) {
    case 3: {
      // Affine maps, composed.
      using Maps = std::pair<Array, Array>;
      const auto composed = [](const Maps& p, const Maps& q) {
        return Maps{p.first * q.first, q.first * p.second + q.second};
      };
      const Maps all = associative_scan(composed, Maps{sin(x) * 0.75, cos(x) * 0.25},
                                        {.reverse = reverse, .axis = along});
      return rounded(all.first + all.second);
    }
    case 4:
      return rounded(cumprod(squashed(x), a, options));
    case 5:
      return rounded(cumlogsumexp(x, a, options) * 0.25);
    case 6:
      return rounded(linear_recurrence(squashed(x) * 0.75, x, along, options) * 0.25);
    default:
      return rounded(cumsum(x, a, options) * (1 / static_cast<double>(n)));
  }
}

bool Steps::windows() {
  const auto v = pick([](const Value& x) {
    return !x.boolean() && x.rank() > 0 && x.rank() < 5 && x.array.size() > 0;
  });
  if (!v) return false;
  const Array& x = v->array;
  Shape window;
  WindowOptions options;
  std::vector<std::pair<Dim, Dim>> widths;
  for (int a = 0; a < v->rank(); ++a) {
    const bool wide = random_.chance(60);
    const Dim n = wide ? random_.between(1, 3) : 1;
    const Dim stride = random_.between(1, 2);
    const Dim dilation = random_.between(1, 2);
    const Dim before = random_.between(-1, 2);
    const Dim after = random_.between(0, 2);
    // At least one window fits.
    const Dim reach = (n - 1) * dilation + 1;
    window.append(n);
    options.stride.push_back(stride);
    options.dilation.push_back(dilation);
    if (x.dim(a) + before + after < reach || x.dim(a) < reach)
      widths.emplace_back(reach, reach);
    else
      widths.emplace_back(before, after);
  }
  const Dim how = random_.below(3);
  if (how > 0)
    options.padding = widths;
  else
    options.padding = Padding::same;
  const Dim kind = random_.below(4);
  const auto bounded = [&](const Array& a) { return v->integer() ? a : clip(a, -4, 4); };
  if (kind < 2) {
    if (!may_kink(*v)) return false;
    return add(
        bounded(reduce_window(x, kind == 0 ? WindowKind::max : WindowKind::min, window, options)),
        v->trust);
  }
  if (v->integer()) return exact(reduce_window(x, WindowKind::sum, window, options));
  return approximate(reduce_window(x, WindowKind::mean, window, options));
}

bool Steps::convolve() {
  const auto x = pick([](const Value& v) {
    return !v.boolean() && v.rank() > 0 && v.rank() < 5 && v.array.size() > 0;
  });
  if (!x) return false;
  const auto y = pick([&](const Value& v) {
    return v.dtype() == x->dtype() && v.array.size() > 0 && v.rank() < 5;
  });
  // [n, c, spatial..]
  Array images = x->array;
  while (images.rank() < 3) images = expand_dims(images, 0);
  const int spatial = images.rank() - 2;
  if (images.dim(1) > 9) return false;
  ConvOptions options;
  const bool grouped = images.dim(1) % 2 == 0 && random_.chance(50);
  options.groups = grouped ? 2 : 1;
  Shape kernel(2 * random_.between(1, 2), images.dim(1) / options.groups);
  std::vector<std::pair<Dim, Dim>> widths;
  Dim terms = kernel[1];
  for (int a = 0; a < spatial; ++a) {
    const Dim n = random_.between(1, 3);
    const Dim stride = random_.between(1, 2);
    const Dim dilation = random_.between(1, 2);
    const Dim base = random_.chance(20) ? 2 : 1;
    const Dim before = random_.between(0, 2);
    const Dim after = random_.between(-1, 2);
    const Dim reach = (n - 1) * dilation + 1;
    const bool fits = images.dim(a + 2) + before + after >= reach && images.dim(a + 2) > 1;
    kernel.append(n);
    terms *= n;
    options.stride.push_back(stride);
    options.dilation.push_back(dilation);
    options.input_dilation.push_back(base);
    widths.emplace_back(fits ? before : reach, fits ? after : reach);
  }
  const Dim how = random_.below(3);
  const bool last = random_.chance(25);
  if (how > 0)
    options.padding = widths;
  else
    options.padding = Padding::same;
  if (images.size() * terms > 60000) return false;
  Array weights = filled(*y, kernel);
  if (last) {
    options.channels_last = true;
    images = moveaxis(images, 1, -1);
    weights = moveaxis(moveaxis(weights, 1, -1), 0, -1);
  }
  const bool enlarged = options.groups == 1 && random_.chance(20);
  if (enlarged) {
    return scaled(conv_transpose(images, weights,
                                 {.stride = options.stride,
                                  .padding = how == 1 ? Padding::valid : Padding::same,
                                  .dilation = options.dilation,
                                  .channels_last = last}),
                  terms);
  }
  return scaled(conv(images, weights, options), terms);
}

bool Steps::fourier() {
  const auto v =
      pick([](const Value& x) { return x.floating() && x.rank() > 0 && x.array.size() > 0; });
  if (!v) return false;
  const int a = axis(*v);
  const Dim n = v->array.dim(a);
  if (n > 64) return false;
  const double scale = 1 / static_cast<double>(n);
  const Dim kind = random_.below(3);
  const Complex z = kind == 0 ? fft::rfft(v->array, {.axis = a}) : fft::fft(v->array, {.axis = a});
  if (kind < 2) return rounded(z.re * scale + z.im * scale);
  const Complex back = fft::ifft(Complex{z.re, z.im * z.re * scale}, {.axis = a});
  return rounded((back.re - back.im) * 0.25);
}

}  // namespace gnomon::testing
