// codegen/ops/cumulative.cpp -- public operations that run along an axis.
#include <string>

#include "codegen/lax/align.h"
#include "codegen/operations/cumulative.h"
#include "gnomon/cumulative.h"

namespace gnomon {
namespace {

Array run(const Primitive& p, Array a, std::optional<int> axis, CumulativeOptions options,
          Loc loc) {
  if (!axis) a = lax::reshape(a, Shape(a.size()), loc);
  const int along = align::axis_of(p.name, axis.value_or(0), a, loc);
  return emit1(p, CumulativeParams{along, options.reverse}, {a}, loc);
}

/// Sums and products of 16-bit floats are made in f32, and every element rounded once.
Array run_wide(const Primitive& p, const Array& a, std::optional<int> axis,
               CumulativeOptions options, Loc loc) {
  const Array y = run(p, lax::convert(a, align::summed_in(a.dtype()), loc), axis, options, loc);
  return lax::convert(y, a.dtype(), loc);
}

/// Sums and products of narrow integers and bool are made, and stay, in 32 bits.
Array widened(std::string_view op, const Operand& x) {
  const Array a = align::as_array(op, x);
  const DType t = a.dtype();
  if (is_float(t) || bits_of(t) >= 32) return a;
  return lax::convert(a, is_unsigned(t) ? DType::u32 : DType::i32, x.loc());
}

}  // namespace

Array cumsum(Operand x, std::optional<int> axis, CumulativeOptions options) {
  return run_wide(cumsum_p, widened("cumsum", x), axis, options, x.loc());
}
Array cumprod(Operand x, std::optional<int> axis, CumulativeOptions options) {
  return run_wide(cumprod_p, widened("cumprod", x), axis, options, x.loc());
}

namespace {

/// `x` with `neutral` in place of NaN.
Array without_nan(std::string_view op, const Operand& x, double neutral) {
  const Array a = widened(op, x);
  if (!is_float(a.dtype())) return a;
  const Array replaced = lax::full_like(a, neutral, x.loc());
  return lax::select(lax::unary(isnan_p, a, x.loc()), replaced, a, x.loc());
}

}  // namespace

Array nancumsum(Operand x, std::optional<int> axis, CumulativeOptions options) {
  return run_wide(cumsum_p, without_nan("nancumsum", x, 0), axis, options, x.loc());
}
Array nancumprod(Operand x, std::optional<int> axis, CumulativeOptions options) {
  return run_wide(cumprod_p, without_nan("nancumprod", x, 1), axis, options, x.loc());
}

Array cummax(Operand x, std::optional<int> axis, CumulativeOptions options) {
  return run(cummax_p, align::as_array("cummax", x), axis, options, x.loc());
}
Array cummin(Operand x, std::optional<int> axis, CumulativeOptions options) {
  return run(cummin_p, align::as_array("cummin", x), axis, options, x.loc());
}
Array cumlogsumexp(Operand x, std::optional<int> axis, CumulativeOptions options) {
  return run_wide(cumlogsumexp_p, align::as_float("cumlogsumexp", x), axis, options, x.loc());
}

Array linear_recurrence(Operand a, Operand b, int axis, CumulativeOptions options) {
  const Arrays both = align::aligned("linear_recurrence", std::array{a, b});
  const int along = align::axis_of("linear_recurrence", axis, both[0], a.loc());
  const DType t = both[0].dtype(), made = align::summed_in(t);
  const Array y =
      emit1(linear_recurrence_p, CumulativeParams{along, options.reverse},
            {lax::convert(both[0], made, a.loc()), lax::convert(both[1], made, a.loc())}, a.loc());
  return lax::convert(y, t, a.loc());
}

namespace control {
namespace {

class AssociativeScan {
 public:
  AssociativeScan(Pairwise f, const Texts& paths, std::vector<int> axes, Loc loc)
      : f_(f), paths_(paths), axes_(std::move(axes)), loc_(loc) {}

  /// Pairs of neighbours first, the same for these, then the elements in between.
  Arrays operator()(const Arrays& x) const {
    const Dim n = length(x);
    if (n < 2) return x;
    const Arrays odd = (*this)(combined(part(x, 0, n - 1, 2), part(x, 1, n, 2)));
    const Arrays first = part(x, 0, 1, 1);
    if (n == 2) return interleaved(first, odd, n);
    const Arrays between =
        combined(part(odd, 0, n % 2 == 0 ? length(odd) - 1 : length(odd), 1), part(x, 2, n, 2));
    Arrays even;
    for (std::size_t i = 0; i < x.size(); ++i)
      even.push_back(lax::concatenate({first[i], between[i]}, axes_[i], loc_));
    return interleaved(even, odd, n);
  }

 private:
  Dim length(const Arrays& x) const { return x[0].shape()[axes_[0]]; }

  Arrays part(const Arrays& x, Dim start, Dim limit, Dim stride) const {
    Arrays r;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto axis = static_cast<std::size_t>(axes_[i]);
      const Shape& s = x[i].shape();
      std::vector<Dim> starts(static_cast<std::size_t>(s.rank()), 0), limits(s.begin(), s.end());
      std::vector<Dim> strides(starts.size(), 1);
      starts[axis] = start;
      limits[axis] = limit;
      strides[axis] = stride;
      r.push_back(lax::slice(x[i], starts, limits, strides, loc_));
    }
    return r;
  }

  Arrays combined(const Arrays& a, const Arrays& b) const {
    Arrays r = f_(a, b);
    for (std::size_t i = 0; i < a.size(); ++i)
      if (r[i].aval() != a[i].aval())
        usage_error("associative_scan",
                    "`" + paths_[i] + "` enters fn as " + to_string(a[i].aval()) +
                        " and leaves it as " + to_string(r[i].aval()) +
                        "; fn keeps shapes and dtypes",
                    loc_);
    return r;
  }

  /// even[0], odd[0], even[1], ...
  Arrays interleaved(const Arrays& even, const Arrays& odd, Dim n) const {
    Arrays r;
    for (std::size_t i = 0; i < even.size(); ++i) {
      const int axis = axes_[i];
      const Dim pairs = n / 2;
      const Shape one = odd[i].shape().with_inserted(axis + 1, 1);
      const auto row = [&](const Array& a) { return lax::reshape(a, one, loc_); };
      const Array both = lax::reshape(
          lax::concatenate({row(lax::slice_axis(even[i], axis, 0, pairs, loc_)), row(odd[i])},
                           axis + 1, loc_),
          odd[i].shape().with(axis, 2 * pairs), loc_);
      r.push_back(n % 2 == 0 ? both
                             : lax::concatenate(
                                   {both, lax::slice_axis(even[i], axis, pairs, pairs + 1, loc_)},
                                   axis, loc_));
    }
    return r;
  }

  Pairwise f_;
  const Texts& paths_;
  std::vector<int> axes_;
  Loc loc_;
};

}  // namespace

std::vector<Array> run_associative_scan(Pairwise f, std::vector<Array> elements, int axis,
                                        bool reverse, const Texts& paths, Loc loc) {
  if (elements.empty())
    usage_error("associative_scan", "there are no arrays among the elements", loc);
  std::vector<int> axes;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    axes.push_back(align::axis_of("associative_scan", axis, elements[i], loc));
    const Dim n = elements[i].shape()[axes[i]], first = elements[0].shape()[axes[0]];
    if (n != first)
      usage_error("associative_scan",
                  "`" + paths[i] + "` has length " + std::to_string(n) + " along axis " +
                      std::to_string(axis) + " and `" + paths[0] + "` has " + std::to_string(first),
                  loc);
  }
  const auto in_order = [&](Arrays x) {
    for (std::size_t i = 0; reverse && i < x.size(); ++i) x[i] = lax::reverse(x[i], {axes[i]}, loc);
    return x;
  };
  return in_order(AssociativeScan(f, paths, axes, loc)(in_order(std::move(elements))));
}

}  // namespace control
}  // namespace gnomon
