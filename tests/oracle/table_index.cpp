// tests/oracle/table_index.cpp -- reads and writes at positions known when a program runs,
// segments, windows that slide.
#include "gnomon/convolution.h"
#include "gnomon/indexing.h"
#include "gnomon/sparse.h"
#include "rows.h"

namespace oracle {
namespace {

constexpr Rule sums{.ulps = 4, .differentiate = true};

Dim at(const Tensor& t, Dim i) { return static_cast<Dim>(t(i)); }
/// As NumPy: negative indices count from the end once.
Dim from_end(Dim i, Dim n) { return i < 0 ? i + n : i; }
Dim clipped(Dim i, Dim n) { return std::clamp<Dim>(from_end(i, n), 0, n - 1); }
bool inside(Dim i, Dim n) { return from_end(i, n) >= 0 && from_end(i, n) < n; }

/// `x` of rank 1 with f(old, value) where indices are in range, one after the other.
Tensor written(const Tensor& x, const Tensor& indices, const Tensor& values,
               const std::function<Number(Number, Number)>& f) {
  Tensor y = x;
  for (Dim k = 0; k < indices.size(); ++k)
    if (const Dim i = at(indices, k); inside(i, x.dim(0))) {
      Number& to = y.at({from_end(i, x.dim(0))});
      to = f(to, values(k));
    }
  return y;
}
Tensor segments(T x, Number start, const std::function<Number(Number, Number)>& f) {
  Tensor y = made(x[0].dtype, {4}, [&](I) { return start; });
  for (Dim k = 0; k < x[0].size(); ++k)
    if (const Dim s = at(x[1], k); s >= 0 && s < 4) y.at({s}) = f(y(s), x[0](k));
  return y;
}
const Input ids = whole({9}, -2, 6);

/// 4 x 5 with an empty row, a place that two entries share, and columns in no order.
const std::vector<int> offsets{0, 3, 3, 5, 9}, columns{4, 0, 4, 2, 1, 3, 0, 2, 4};
gn::CsrPattern pattern() {
  return {gn::array({0, 3, 3, 5, 9}), gn::array({4, 0, 4, 2, 1, 3, 0, 2, 4}), 5, 4};
}
/// f(row, entry, column) of all entries.
void each_entry(const std::function<void(Dim, Dim, Dim)>& f) {
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    for (int e = offsets[i]; e < offsets[i + 1]; ++e)
      f(static_cast<Dim>(i), e, columns[static_cast<std::size_t>(e)]);
}
/// Of values x[0] and a block x[1].
Tensor csr_product(T x, bool transpose) {
  const Dim k = x[1].dim(1);
  Tensor y(x[0].dtype, {transpose ? 5 : 4, k});
  each_entry([&](Dim i, Dim e, Dim c) {
    for (Dim j = 0; j < k; ++j)
      y.at({transpose ? c : i, j}) += x[0](e) * x[1].at({transpose ? i : c, j});
  });
  return scaled(y, 40);
}
Tensor csr_sampled(T x) {
  Tensor y(x[0].dtype, {9});
  each_entry([&](Dim i, Dim e, Dim c) {
    for (Dim j = 0; j < 3; ++j) y.at({e}) += x[0].at({i, j}) * x[1].at({c, j});
  });
  return scaled(y, 40);
}

/// Sums over a window of a cross-correlation of rank 4 (images [n,c,h,w], kernels [o,c/g,kh,kw]).
struct Window {
  Dim stride = 1, before = 0, dilation = 1, input_dilation = 1, groups = 1;
};
Tensor correlated(T x, const Shape& out, Window w) {
  const Tensor &a = x[0], &k = x[1];
  const Dim per_group = k.dim(1), outs = k.dim(0) / w.groups;
  return scaled(
      like(x, out,
           [&](I i) {
             Number s = 0;
             for (Dim c = 0; c < per_group; ++c)
               for (Dim p = 0; p < k.dim(2); ++p)
                 for (Dim q = 0; q < k.dim(3); ++q) {
                   const Dim r = i[2] * w.stride + p * w.dilation - w.before,
                             t = i[3] * w.stride + q * w.dilation - w.before;
                   if (r < 0 || t < 0 || r % w.input_dilation != 0 || t % w.input_dilation != 0)
                     continue;
                   const Dim h = r / w.input_dilation, v = t / w.input_dilation;
                   if (h < a.dim(2) && v < a.dim(3))
                     s += a(i[0], i[1] / outs * per_group + c, h, v) * k(i[1], c, p, q);
                 }
             return s;
           }),
      16);
}
/// f over the elements of a window of 3 x 2 with stride 2 x 1 in a [4,5] or [1,1,4,5] image.
Tensor pooled(const Tensor& x, const Shape& out,
              const std::function<Number(const std::vector<Number>&)>& f) {
  const int r = x.shape.rank() - 2;
  return made(x.dtype, out, [&](I i) {
    std::vector<Number> v;
    for (Dim p = 0; p < 3; ++p)
      for (Dim q = 0; q < 2; ++q) {
        Index a(static_cast<std::size_t>(r), 0);
        a.push_back(2 * i[static_cast<std::size_t>(r)] + p - 1);
        a.push_back(i[static_cast<std::size_t>(r) + 1] + q);
        if (a[static_cast<std::size_t>(r)] >= 0 && a[static_cast<std::size_t>(r)] < 4)
          v.push_back(x.at(a));
      }
    return f(v);
  });
}
Number most(const std::vector<Number>& v) { return *std::max_element(v.begin(), v.end()); }
Number least(const std::vector<Number>& v) { return *std::min_element(v.begin(), v.end()); }

}  // namespace

// Rows are laid out as those of tables.
// clang-format off
Family indexing() {
  return {.name = "Indexing", .general = {
      {"dynamic_slice", any, {in({4, 5}), whole({2}, -6, 6)}, [](A x) -> Results { return {gn::dynamic_slice(x[0], {x[1][0], x[1][1]}, {2, 3}), gn::dynamic_slice(x[0], {9, -2}, {2, 2})}; },
       [](T x) -> Exacts { const auto fit = [](Dim s, Dim n, Dim size) { return std::clamp<Dim>(s < 0 ? s + n : s, 0, n - size); }; const Dim r = fit(at(x[1], 0), 4, 2), c = fit(at(x[1], 1), 5, 3);
                           return {like(x, {2, 3}, [&](I i) { return x[0](r + i[0], c + i[1]); }), like(x, {2, 2}, [&](I i) { return x[0](2 + i[0], 3 + i[1]); })}; }, moves},
      {"dynamic_update_slice", any, {in({4, 5}), in({2, 2}), whole({2}, 0, 6)}, [](A x) -> Results { return gn::dynamic_update_slice(x[0], x[1], {x[2][0], x[2][1]}); },
       [](T x) -> Exacts { const Dim r = std::min<Dim>(at(x[2], 0), 2), c = std::min<Dim>(at(x[2], 1), 3); return like(x, {4, 5}, [&](I i) { return i[0] >= r && i[0] < r + 2 && i[1] >= c && i[1] < c + 2 ? x[1](i[0] - r, i[1] - c) : x[0].at(i); }); }, moves},
      {"take Array::operator[](Operand)", any, {in({4, 3}), whole({5}, -6, 7)}, [](A x) -> Results { return {gn::take(x[0], x[1]), gn::take(x[0], x[1], 1), x[0][x[1][0]], x[0][-1]}; },
       [](T x) -> Exacts { return {like(x, {5, 3}, [&](I i) { return x[0](clipped(at(x[1], i[0]), 4), i[1]); }), like(x, {4, 5}, [&](I i) { return x[0](i[0], clipped(at(x[1], i[1]), 3)); }), like(x, {3}, [&](I i) { return x[0](clipped(at(x[1], 0), 4), i[0]); }), like(x, {3}, [&](I i) { return x[0](3, i[0]); })}; }, moves},
      {"take", floats, {in({4}), whole({9}, -8, 9)}, [](A x) -> Results { return {gn::take(x[0], x[1], 0, {.mode = gn::ReadMode::fill}), gn::take(x[0], x[1], 0, {.mode = gn::ReadMode::fill, .fill_value = 7.0}), gn::take(x[0], x[1], 0, {.wrap_negative = false})}; },
       [](T x) -> Exacts { const auto f = [&](Number fill) { return like(x, {9}, [&, fill](I i) { const Dim k = at(x[1], i[0]); return inside(k, 4) ? x[0](from_end(k, 4)) : fill; }); };
                           return {f(std::numeric_limits<Number>::quiet_NaN()), f(7), like(x, {9}, [&](I i) { return x[0](std::clamp<Dim>(at(x[1], i[0]), 0, 3)); })}; }},
      {"take_along_axis put_along_axis", any, {in({2, 4}), whole({2, 3}, 0, 4), in({2, 3})}, [](A x) -> Results { return {gn::take_along_axis(x[0], x[1], 1), gn::put_along_axis(x[0], x[1], x[2], 1)}; },
       [](T x) -> Exacts { Tensor y = x[0]; for (Dim r = 0; r < 2; ++r) for (Dim k = 0; k < 3; ++k) y.at({r, static_cast<Dim>(x[1](r, k))}) = x[2](r, k);
                           return {like(x, {2, 3}, [&](I i) { return x[0](i[0], static_cast<Dim>(x[1].at(i))); }), y}; }, moves},
      {"Array::at at At::get", any, {in({4, 5}), whole({3}, -5, 6)}, [](A x) -> Results { return {x[0].at(x[1], gn::Slice{.start = 1, .step = 2}).get(), gn::at(x[0], gn::ellipsis, -1).get(), x[0].at(gn::every, x[1], gn::new_axis).get()}; },
       [](T x) -> Exacts { return {like(x, {3, 2}, [&](I i) { return x[0](clipped(at(x[1], i[0]), 4), 1 + 2 * i[1]); }), like(x, {4}, [&](I i) { return x[0](i[0], 4); }), like(x, {4, 3, 1}, [&](I i) { return x[0](i[0], clipped(at(x[1], i[1]), 5)); })}; }, moves},
      {"At::set at_set", numbers, {in({6}), whole({4}, -8, 8), in({4})}, [](A x) -> Results { return {x[0].at(x[1]).set(x[2]), gn::at_set(x[0], 2, 1)}; },
       [](T x) -> Exacts { Tensor y = x[0]; y.at({2}) = 1; return {written(x[0], x[1], x[2], [](Number, Number v) { return v; }), y}; }, moves},
      {"At::add at_add scatter_add", floats, {in({6}), whole({8}, -8, 8), in({8})}, [](A x) -> Results { return {x[0].at(x[1]).add(x[2]), gn::at_add(x[0], x[1], x[2]), gn::scatter_add(x[0], x[1], x[2])}; },
       [](T x) -> Exacts { const Tensor y = scaled(written(x[0], x[1], x[2], [](Number a, Number v) { return a + v; }), 16); return {y, y, y}; }, sums},
      {"At::mul", floats, {in({6}), whole({8}, -8, 8), in({8})}, [](A x) -> Results { return x[0].at(x[1]).mul(x[2]); },
       [](T x) -> Exacts { return scaled(written(x[0], x[1], x[2], [](Number a, Number v) { return a * v; }), 8); }, {.ulps = 4}},
      {"At::min At::max", numbers, {in({6}, Draw::distinct), whole({8}, -8, 8), in({8}, Draw::distinct)}, [](A x) -> Results { return {x[0].at(x[1]).min(x[2]), x[0].at(x[1]).max(x[2])}; },
       [](T x) -> Exacts { return {written(x[0], x[1], x[2], [](Number a, Number v) { return std::min(a, v); }), written(x[0], x[1], x[2], [](Number a, Number v) { return std::max(a, v); })}; }, moves},
      {"segment_sum", numbers, {in({9}), ids}, [](A x) -> Results { return gn::segment_sum(x[0], x[1], 4); },
       [](T x) -> Exacts { Tensor y = scaled(segments(x, 0, [](Number a, Number b) { return a + b; }), 16); if (y.dtype == DType::u8) for (Number& v : y.v) v = static_cast<Number>(type_of(y.dtype).wrapped(static_cast<Int>(v))); return y; }, sums},
      {"csr_matmul", floats, {in({9}), in({5, 3})}, [](A x) -> Results { return gn::csr_matmul(pattern(), x[0], x[1]); }, [](T x) -> Exacts { return csr_product(x, false); }, sums},
      {"csr_matmul", floats, {in({9}), in({4, 3})}, [](A x) -> Results { return gn::csr_matmul(pattern(), x[0], x[1], {.transpose = true}); }, [](T x) -> Exacts { return csr_product(x, true); }, sums},
      {"csr_sampled_matmul", floats, {in({4, 3}), in({5, 3})}, [](A x) -> Results { return gn::csr_sampled_matmul(pattern(), x[0], x[1]); }, [](T x) -> Exacts { return csr_sampled(x); }, sums},
      {"segment_prod", floats, {in({9}), ids}, [](A x) -> Results { return gn::segment_prod(x[0], x[1], 4); },
       [](T x) -> Exacts { return segments(x, 1, [](Number a, Number b) { return a * b; }); }, {.ulps = 8}},
      {"segment_max segment_min", numbers, {in({9}, Draw::distinct), ids}, [](A x) -> Results { return {gn::segment_max(x[0], x[1], 4), gn::segment_min(x[0], x[1], 4)}; },
       [](T x) -> Exacts { const bool f = gnomon::is_float(x[0].dtype); const Type t = type_of(f ? DType::i32 : x[0].dtype); const Number low = f ? -infinity : static_cast<Number>(t.low), high = f ? infinity : static_cast<Number>(t.high);
                           return {segments(x, low, [](Number a, Number b) { return std::max(a, b); }), segments(x, high, [](Number a, Number b) { return std::min(a, b); })}; }, moves},
  }};
}

Family windows() {
  return {.name = "Windows", .general = {
      {"conv", floats, {in({2, 2, 4, 5}), in({3, 2, 2, 3})}, [](A x) -> Results { return gn::conv(x[0], x[1]); }, [](T x) -> Exacts { return correlated(x, {2, 3, 3, 3}, {}); }, sums},
      {"conv", floats, {in({1, 2, 5, 5}), in({2, 2, 3, 3})}, [](A x) -> Results { return {gn::conv(x[0], x[1], {.stride = {2, 2}, .padding = {{1, 1}, {1, 1}}}), gn::conv(x[0], x[1], {.padding = gn::Padding::same, .dilation = {2, 2}})}; },
       [](T x) -> Exacts { return {correlated(x, {1, 2, 3, 3}, {.stride = 2, .before = 1}), correlated(x, {1, 2, 5, 5}, {.before = 2, .dilation = 2})}; }, sums},
      {"conv", floats, {in({1, 4, 3, 3}), in({4, 2, 2, 2})}, [](A x) -> Results { return {gn::conv(x[0], x[1], {.groups = 2}), gn::conv(x[0], x[1], {.input_dilation = {2, 2}, .groups = 2})}; },
       [](T x) -> Exacts { return {correlated(x, {1, 4, 2, 2}, {.groups = 2}), correlated(x, {1, 4, 4, 4}, {.input_dilation = 2, .groups = 2})}; }, sums},
      // The kernel slides over the image with stride - 1 zeros between and kernel - 1 around.
      {"conv_transpose", floats, {in({1, 2, 3, 3}), in({2, 2, 3, 3})}, [](A x) -> Results { return gn::conv_transpose(x[0], x[1], {.stride = {2, 2}}); },
       [](T x) -> Exacts { return correlated(x, {1, 2, 7, 7}, {.before = 2, .input_dilation = 2}); }, sums},
      {"reduce_window", floats, {in({4, 5}, Draw::distinct)}, [](A x) -> Results { using gn::WindowKind; const gn::WindowOptions o{.stride = {2, 1}, .padding = {{1, 0}, {0, 0}}}; return {gn::reduce_window(x[0], WindowKind::sum, {3, 2}, o), gn::reduce_window(x[0], WindowKind::max, {3, 2}, o), gn::reduce_window(x[0], WindowKind::min, {3, 2}, o), gn::reduce_window(x[0], WindowKind::mean, {3, 2}, o)}; },
       [](T x) -> Exacts { return {scaled(pooled(x[0], {2, 4}, total), 8), pooled(x[0], {2, 4}, most), pooled(x[0], {2, 4}, least), scaled(pooled(x[0], {2, 4}, [](const std::vector<Number>& v) { return total(v) / 6; }), 2)}; }, sums},
      {"max_pool min_pool avg_pool", floats, {in({1, 1, 4, 5}, Draw::distinct)}, [](A x) -> Results { gn::PoolOptions o{.stride = {2, 1}, .padding = {{1, 0}, {0, 0}}}; const Array whole = gn::avg_pool(x[0], {3, 2}, o); o.count_padding = false; return {gn::max_pool(x[0], {3, 2}, o), gn::min_pool(x[0], {3, 2}, o), whole, gn::avg_pool(x[0], {3, 2}, o)}; },
       [](T x) -> Exacts { const Shape s{1, 1, 2, 4}; return {pooled(x[0], s, most), pooled(x[0], s, least), scaled(pooled(x[0], s, [](const std::vector<Number>& v) { return total(v) / 6; }), 2), scaled(pooled(x[0], s, [](const std::vector<Number>& v) { return total(v) / static_cast<Number>(v.size()); }), 2)}; }, sums},
  }};
}
// clang-format on

}  // namespace oracle
