// tests/support/dtype_programs.h -- small programs on arrays of one element type, odd sizes on
// purpose: every way in which elements are read and written.
#pragma once
#include <string>
#include <vector>

#include "codegen/base/host_array.h"
#include "codegen/graph/graph.h"

namespace gnomon::testing {

inline constexpr DType every_dtype[] = {
    DType::boolean, DType::i8,  DType::u8,  DType::i16,  DType::u16, DType::i32, DType::u32,
    DType::i64,     DType::u64, DType::f16, DType::bf16, DType::f32, DType::f64};

struct DtypeProgram {
  std::string name;
  Graph graph;
  std::vector<HostArray> inputs;
};

/// Elementwise chains, reductions, slices, gathers, scatters, updates in place, loops by lane and
/// in one piece, conversions and bit casts.
std::vector<DtypeProgram> dtype_programs(DType);

/// By how much a device may differ from the reference, relative to the larger of 1 and the result:
/// f32 and f64 may be contracted, everything else is exact.
double dtype_tolerance(DType);

}  // namespace gnomon::testing
