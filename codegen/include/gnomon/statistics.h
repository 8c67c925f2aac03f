// codegen/include/gnomon/statistics.h -- order statistics, moments and counts.
//
// Axes, shapes and errors as in the reductions of gnomon/ops.h: all axes by default. The functions
// named nan* leave NaN elements out; of nothing but NaN they give NaN (nansum 0, nanprod 1). The
// others give NaN where an element is.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "gnomon/ops.h"

#pragma GCC visibility push(default)
namespace gnomon {

// ---- order statistics

/// What lies between two elements a and b, at the fraction f of the way.
enum class Between : std::uint8_t {
  linear,    // (1 - f) a + f b
  lower,     // a
  higher,    // b
  nearest,   // a up to f = 0.5, then b
  midpoint,  // (a + b) / 2, also at f = 0 where both are one
};
struct QuantileOptions {
  Between between = Between::linear;
  bool keepdims = false;
};
/// The value below which the fraction q of the elements lies: element q (n - 1) of the sorted ones.
///
/// q: a C++ number or an array of rank 0 or 1 in [0, 1] (unchecked); rank 1 puts an axis in front.
/// Differentiable in x: through the one or two elements that make the result.
Array quantile(Operand x, Operand q, const Axes& axes = {}, QuantileOptions options = {});
Array nanquantile(Operand x, Operand q, const Axes& axes = {}, QuantileOptions options = {});
/// With q in [0, 100].
Array percentile(Operand x, Operand q, const Axes& axes = {}, QuantileOptions options = {});
Array nanpercentile(Operand x, Operand q, const Axes& axes = {}, QuantileOptions options = {});
Array median(Operand x, const Axes& axes = {}, ReduceOptions options = {});
Array nanmedian(Operand x, const Axes& axes = {}, ReduceOptions options = {});

// ---- reductions that leave NaN out

Array nansum(Operand x, const Axes& axes = {}, ReduceOptions options = {});
Array nanprod(Operand x, const Axes& axes = {}, ReduceOptions options = {});
Array nanmean(Operand x, const Axes& axes = {}, ReduceOptions options = {});
Array nanmax(Operand x, const Axes& axes = {}, ReduceOptions options = {});
Array nanmin(Operand x, const Axes& axes = {}, ReduceOptions options = {});
Array nanvar(Operand x, const Axes& axes = {}, VarianceOptions options = {});
Array nanstd(Operand x, const Axes& axes = {}, VarianceOptions options = {});
/// -1 where all are NaN.
Array nanargmax(Operand x, std::optional<int> axis = {});
Array nanargmin(Operand x, std::optional<int> axis = {});

// ---- moments

/// max - min.
Array ptp(Operand x, const Axes& axes = {}, ReduceOptions options = {});
/// sum(x w) / sum(w) along `axis`, or over everything; weights have the shape of x or of its axis.
Array average(Operand x, Operand weights, std::optional<int> axis = {});

struct CovarianceOptions {
  int ddof = 1;                    // divides by count - ddof
  bool rows_are_variables = true;  // else the columns
};
/// Covariances of the variables that are the rows of x: [n, n]; rank 1 is one variable: [].
Array cov(Operand x, CovarianceOptions options = {});
/// Correlation coefficients, clipped to [-1, 1].
Array corrcoef(Operand x, CovarianceOptions options = {});

// ---- counts

/// counts[i] = how many elements equal i, for i below `length`; negative elements count as 0, those
/// from `length` on are dropped. i32.
Array bincount(Operand x, Dim length);
/// counts[i] = the sum of the weights of the elements that equal i. Differentiable in the weights.
Array bincount(Operand x, Dim length, Operand weights);

struct Histogram {
  Array
      counts;  // [bins], f64 for f64 elements, else f32; of the type of weights where there are any
  Array edges;  // [bins + 1], of the same type; as they are where they are given
};
/// How many elements lie in each of `bins` equal parts of `range`, by default from the smallest to
/// the largest element (of no elements [0, 1]). Each part holds its lower edge, the last one both;
/// what is outside is dropped.
Histogram histogram(Operand x, Dim bins = 10, std::optional<std::pair<double, double>> range = {});
/// Between given edges, which ascend. Elements and edges are compared in the type both meet in.
Histogram histogram(Operand x, const Array& edges, Loc loc = Loc::here());
/// With a weight for each element.
Histogram histogram(Operand x, const Array& edges, Operand weights);

}  // namespace gnomon
#pragma GCC visibility pop
