// codegen/operations/op_params.h -- static parameters of the operations without sub-graphs.
#pragma once
#include <vector>

#include "codegen/graph/literal.h"
#include "codegen/graph/params.h"
#include "gnomon/shape.h"

namespace gnomon {

/// A scalar or a small array known when tracing.
struct ConstantParams {
  Literal value;
};

/// Counts 0, 1, 2, ... along `axis` of an array of `shape`.
struct IotaParams {
  DType dtype = DType::i32;
  Shape shape;
  int axis = 0;
};

/// The type that `convert` and `bitcast` give.
struct DTypeParams {
  DType dtype = DType::f32;
};

struct IntegerPowParams {
  int exponent = 0;
};

/// Operand axis i becomes axis `axes[i]` (strictly increasing) of `shape`; the sizes must agree.
struct BroadcastParams {
  Shape shape;
  std::vector<int> axes;
};

struct ReshapeParams {
  Shape shape;
};

/// Axes of `permute` (output axis i is operand axis `axes[i]`), `reverse` and the reductions
/// (sorted, distinct).
struct AxesParams {
  std::vector<int> axes;
};

/// The axis of `concatenate`, `argmax` and `argmin`.
struct AxisParams {
  int axis = 0;
};

/// start, start + stride, ... below limit, per axis; strides are positive.
struct SliceParams {
  std::vector<Dim> starts, limits, strides;
};

/// Elements added before, after and between, per axis; negative `lo` and `hi` cut elements off.
struct PadParams {
  std::vector<Dim> lo, hi, interior;
};

/// As in XLA: batch and contracting axes pair up; the output has the batch axes, then the free axes
/// of the left operand, then those of the right one.
struct DotParams {
  std::vector<int> lhs_contracting, rhs_contracting;
  std::vector<int> lhs_batch, rhs_batch;
};

/// Products that are summed up in each element of the result.
Dim terms(const DotParams&, const Shape& lhs);

/// Whether operand `side` of a product is a matrix of which a lane reads whole texels where it sums
/// up all terms of one result, or of all results: the summed axis is the last one, or the other one
/// is short.
bool reads_runs(const DotParams&, const Shape& lhs, const Shape& rhs, std::size_t side);

}  // namespace gnomon
