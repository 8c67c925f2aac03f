// tests/codegen/primitive_cases.cpp -- the examples.
#include "tests/codegen/primitive_cases.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "codegen/lax/lax.h"
#include "codegen/operations/buffer.h"
#include "codegen/operations/cumulative.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/special.h"
#include "codegen/operations/window.h"
#include "codegen/trace/trace.h"
#include "tests/codegen/case_maker.h"

namespace gnomon::test {
namespace {

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all{{}, {3}, {2, 3}, {0}, {1, 4}};
  return all;
}

/// How the inputs of an elementwise operation are drawn.
struct Elementwise {
  std::vector<Domain> domains;
  Masks linear = {};
  bool differentiable = true;
  std::vector<int> orders = {};
};

const std::map<std::string_view, Elementwise>& elementwise() {
  static const Domain any{}, positive{0.3, 3}, inside{-0.9, 0.9}, count{0, 7};
  static const Masks both{{true, true}, {true, false}, {false, true}};
  static const std::map<std::string_view, Elementwise> all{
      {"add", {{any, any}, both}},
      {"sub", {{any, any}, both}},
      {"mul", {{any, any}, {{true, false}, {false, true}}}},
      {"div", {{any, positive}, {{true, false}}}},
      {"rem", {{{-5, 5}, positive}}},
      {"fmod", {{{-5, 5}, positive}}},
      {"floor_mod", {{{-5, 5}, positive}}},
      {"trunc_div", {{{-5, 5}, positive}}},
      {"floor_div", {{{-5, 5}, positive}}},
      {"hypot", {{any, any}}},
      {"relu", {{any}}},
      {"pow", {{positive, any}}},
      {"atan2", {{positive, any}}},
      {"max", {{any, any}}},
      {"min", {{any, any}}},
      {"and", {{any, any}}},
      {"or", {{any, any}}},
      {"xor", {{any, any}}},
      {"not", {{any}}},
      {"shl", {{any, count}}},
      {"shr", {{any, count}}},
      {"popcount", {{any}}},
      {"eq", {{any, any}}},
      {"ne", {{any, any}}},
      {"lt", {{any, any}}},
      {"le", {{any, any}}},
      {"gt", {{any, any}}},
      {"ge", {{any, any}}},
      {"isnan", {{any}}},
      {"isfinite", {{any}}},
      {"clamp", {{{-1, -0.5}, any, {0.5, 1}}}},
      {"neg", {{any}, {{true}}}},
      {"abs", {{any}}},
      {"sign", {{any}}},
      {"floor", {{any}}},
      {"ceil", {{any}}},
      {"round", {{any}}},
      {"trunc", {{any}}},
      {"exp", {{any}}},
      {"exp_nonpositive", {{{-3, 0}}}},
      {"exp2", {{any}}},
      {"expm1", {{any}}},
      {"log", {{positive}}},
      {"log2", {{positive}}},
      {"log10", {{positive}}},
      {"log1p", {{{-0.5, 2}}}},
      {"sqrt", {{positive}}},
      {"rsqrt", {{positive}}},
      {"cbrt", {{positive}}},
      {"sin", {{any}}},
      {"cos", {{any}}},
      {"tan", {{{-1, 1}}}},
      {"asin", {{inside}}},
      {"acos", {{inside}}},
      {"atan", {{any}}},
      {"sinh", {{any}}},
      {"cosh", {{any}}},
      {"tanh", {{any}}},
      {"asinh", {{any}}},
      {"acosh", {{{1.2, 3}}}},
      {"atanh", {{inside}}},
      {"logistic", {{any}}},
      {"erf", {{any}}},
      {"erfc", {{any}}},
      {"erf_inv", {{inside}}},
      {"lgamma", {{{-3.4, 3}}}},
      {"digamma", {{{0.2, 12}}}},
      {"gammainc", {{{0.3, 30}, {0.2, 30}}, {}, true, {1, 9}}},
      {"gammaincc", {{{0.3, 30}, {0.2, 30}}, {}, true, {1, 9}}},
      {"gammainc_da", {{{0.3, 30}, {0.2, 30}}, {}, true, {0, 9}}},
      {"gamma_density", {{{0.3, 30}, {0.2, 30}}}},
      {"gamma_draw", {{any, {0.3, 30}}, {}, false}},
      {"loggamma_draw", {{any, {0.3, 30}}, {}, false}},
      {"betaln", {{{0.3, 30}, {0.2, 30}}}},
      {"betainc", {{{0.3, 30}, {0.2, 30}, {0.05, 0.95}}, {}, true, {0, 0, 9}}},
      {"i0", {{{-5, 5}}}},
      {"i1", {{{-5, 5}}}},
      {"i0e", {{{-12, 12}}}},
      {"i1e", {{{-12, 12}}}},
      {"erf_inv_giles", {{inside}}},
      {"softplus", {{any}}},
      {"logaddexp", {{any, any}}},
      {"stop_gradient", {{any}, {}, false}},
      {"threefry2x32", {{{0, 4e9}, {0, 4e9}, {0, 4e9}, {0, 4e9}}}},
  };
  return all;
}

bool takes(const Primitive& p, const Params& params, const std::vector<Aval>& inputs) {
  try {
    p.shape(params, std::span<const Aval>(inputs), Loc{});
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

bool is_special(const Primitive& p) {
  const Primitive* const all[] = {
      &lgamma_p, &digamma_p,   &gammainc_p,  &gammaincc_p, &gammainc_da_p, &gamma_density_p,
      &betaln_p, &betainc_p,   &i0_p,        &i1_p,        &i0e_p,         &i1e_p,
      &fmod_p,   &floor_mod_p, &trunc_div_p, &floor_div_p};
  return std::find(std::begin(all), std::end(all), &p) != std::end(all);
}

Cases elementwise_cases(const Primitive& p, const Elementwise& e) {
  Cases r;
  for (DType t : {DType::boolean, DType::i8, DType::u8, DType::i16, DType::u16, i32, u32,
                  DType::i64, DType::u64, f32, f64}) {
    for (const Shape& shape : shapes()) {
      // Rules of one family share what depends on shapes; kernels of special functions are long.
      if (is_special(p) && shape.rank() != 1) continue;
      const std::vector<Aval> inputs(e.domains.size(), Aval{t, shape});
      if (takes(p, {}, inputs))
        r.push_back({&p, {}, inputs, e.domains, e.linear, e.differentiable, e.orders});
    }
  }
  return r;
}

// ---- operations with parameters: one function per name

HostArray counting(DType t, const Shape& shape) {
  HostArray h(Aval{t, shape});
  for (Dim i = 0; i < h.size(); ++i)
    h.set_number(i, t == DType::boolean ? static_cast<double>(i % 2) : i - 2.0);
  return h;
}

void select_cases(Maker& m) {
  for (DType t : {DType::boolean, i32, DType::u8, f32, f64})
    for (const Shape& s : shapes())
      m.add({}, {{DType::boolean, s}, {t, s}, {t, s}}, {{false, true, true}, {false, true, false}});
}
void polygamma_cases(Maker& m) {
  for (DType t : {f32, f64})
    for (const Shape& s : {Shape{3}, Shape{0}})
      for (int n : {1, 5}) m.add(OrderParams{n}, {{t, s}}, {}, {{0.4, 6}});
}
void constant_cases(Maker& m) {
  for (DType t : {DType::boolean, i32, DType::u64, f32, f64, DType::i8})
    for (const Shape& s : shapes()) m.add(ConstantParams{Literal(counting(t, s))}, {});
}
void iota_cases(Maker& m) {
  for (DType t : {i32, u32, f32, f64, DType::i64}) {
    m.add(IotaParams{t, {5}, 0}, {});
    m.add(IotaParams{t, {2, 3}, 0}, {});
    m.add(IotaParams{t, {2, 3}, 1}, {});
    m.add(IotaParams{t, {0, 3}, 1}, {});
  }
}
void buffer_cases(Maker& m) {
  for (DType t : {DType::boolean, i32, DType::u8, f32, f64, DType::i64})
    for (const Shape& s : shapes()) m.add(BufferParams{t, s}, {});
}
void integer_pow_cases(Maker& m) {
  for (int n : {-3, -1, 0, 1, 2, 3, 7})
    for (DType t : {i32, u32, f32, f64})
      for (const Shape& s : shapes())
        if (n >= 0 || is_float(t)) m.add(IntegerPowParams{n}, {{t, s}}, {}, {{0.5, 2}});
}
void convert_cases(Maker& m) {
  for (DType from : {DType::boolean, DType::i8, i32, u32, DType::i64, f32, f64, DType::u16})
    for (DType to : {DType::boolean, DType::u8, i32, u32, DType::u64, f32, f64, DType::i16}) {
      // Floats stay where every target can hold them.
      const Domain d = is_float(from) ? Domain{0.2, 100} : Domain{0, 100};
      Masks linear;
      if (is_float(from) && is_float(to)) linear = {{true}};
      for (const Shape& s : {Shape{}, Shape{2, 3}, Shape{0}})
        m.add(DTypeParams{to}, {{from, s}}, linear, {d});
    }
}
void bitcast_cases(Maker& m) {
  for (const Shape& s : shapes()) {
    m.add(DTypeParams{u32}, {{f32, s}});
    m.add(DTypeParams{f32}, {{i32, s}}, {}, {{1e9, 1.5e9}});
    m.add(DTypeParams{DType::i64}, {{f64, s}});
    m.add(DTypeParams{DType::i8}, {{DType::u8, s}});
  }
}
void broadcast_cases(Maker& m) {
  for (DType t : {f64, f32, i32, DType::boolean}) {
    const auto add = [&](const Shape& from, const Shape& to, std::vector<int> axes) {
      m.add(BroadcastParams{to, std::move(axes)}, {{t, from}}, {{true}});
    };
    add({}, {3}, {});
    add({}, {2, 3}, {});
    add({3}, {2, 3}, {1});
    add({2}, {2, 3}, {0});
    add({2, 3}, {2, 4, 3}, {0, 2});
    add({1, 3}, {1, 1, 3}, {0, 2});
    add({3}, {0, 3}, {1});
    add({0}, {2, 0}, {1});
  }
}
void reshape_cases(Maker& m) {
  for (DType t : {f64, f32, i32}) {
    m.add(ReshapeParams{{6}}, {{t, {2, 3}}}, {{true}});
    m.add(ReshapeParams{{3, 2}}, {{t, {2, 3}}}, {{true}});
    m.add(ReshapeParams{{}}, {{t, {1, 1}}}, {{true}});
    m.add(ReshapeParams{{1, 1}}, {{t, {}}}, {{true}});
    m.add(ReshapeParams{{0}}, {{t, {2, 0}}}, {{true}});
  }
}
void permute_cases(Maker& m) {
  for (DType t : {f64, f32, DType::u8}) {
    m.add(AxesParams{{1, 0}}, {{t, {2, 3}}}, {{true}});
    m.add(AxesParams{{2, 0, 1}}, {{t, {2, 3, 4}}}, {{true}});
    m.add(AxesParams{{0}}, {{t, {3}}}, {{true}});
    m.add(AxesParams{{}}, {{t, {}}}, {{true}});
    m.add(AxesParams{{1, 0}}, {{t, {0, 3}}}, {{true}});
  }
}
void reverse_cases(Maker& m) {
  for (DType t : {f64, f32, i32}) {
    m.add(AxesParams{{0}}, {{t, {4}}}, {{true}});
    m.add(AxesParams{{1}}, {{t, {2, 3}}}, {{true}});
    m.add(AxesParams{{0, 1}}, {{t, {2, 3}}}, {{true}});
    m.add(AxesParams{{0}}, {{t, {1, 3}}}, {{true}});
    m.add(AxesParams{{0}}, {{t, {0}}}, {{true}});
  }
}
void slice_cases(Maker& m) {
  for (DType t : {f64, f32, i32, DType::boolean}) {
    m.add(SliceParams{{1}, {4}, {1}}, {{t, {5}}}, {{true}});
    m.add(SliceParams{{0}, {5}, {2}}, {{t, {5}}}, {{true}});
    m.add(SliceParams{{1, 0}, {2, 3}, {1, 2}}, {{t, {2, 3}}}, {{true}});
    m.add(SliceParams{{1}, {6}, {3}}, {{t, {7}}}, {{true}});
    m.add(SliceParams{{2}, {2}, {1}}, {{t, {3}}}, {{true}});
    m.add(SliceParams{{}, {}, {}}, {{t, {}}}, {{true}});
  }
}
void concatenate_cases(Maker& m) {
  for (DType t : {f64, f32, i32, DType::u8}) {
    m.add(AxisParams{0}, {{t, {2}}, {t, {3}}}, {{true, true}, {true, false}});
    m.add(AxisParams{1}, {{t, {2, 1}}, {t, {2, 3}}, {t, {2, 2}}}, {{true, true, true}});
    m.add(AxisParams{0}, {{t, {2, 2}}, {t, {0, 2}}, {t, {1, 2}}}, {{true, true, true}});
    m.add(AxisParams{0}, {{t, {4}}}, {{true}});
    m.add(AxisParams{0}, {{t, {0}}, {t, {0}}}, {{true, true}});
  }
}
void pad_cases(Maker& m) {
  const Masks linear{{true, true}, {true, false}, {false, true}};
  for (DType t : {f64, f32, i32, DType::boolean}) {
    m.add(PadParams{{1}, {2}, {0}}, {{t, {3}}, {t, {}}}, linear);
    m.add(PadParams{{1, 0}, {0, 1}, {0, 2}}, {{t, {2, 3}}, {t, {}}}, linear);
    m.add(PadParams{{-1}, {2}, {1}}, {{t, {4}}, {t, {}}}, linear);
    m.add(PadParams{{2}, {-3}, {2}}, {{t, {4}}, {t, {}}}, linear);
    m.add(PadParams{{1}, {1}, {3}}, {{t, {0}}, {t, {}}}, linear);
    m.add(PadParams{{}, {}, {}}, {{t, {}}, {t, {}}}, {{true, false}});
  }
}
void reduction_cases(Maker& m, bool with_bool, Masks linear) {
  std::vector<DType> types{f64, f32, i32, u32, DType::i8, DType::u64};
  if (with_bool) types.push_back(DType::boolean);
  for (DType t : types) {
    m.add(AxesParams{{0}}, {{t, {4}}}, linear);
    m.add(AxesParams{{1}}, {{t, {2, 3}}}, linear);
    m.add(AxesParams{{0}}, {{t, {3, 2}}}, linear);
    m.add(AxesParams{{0, 1}}, {{t, {2, 3}}}, linear);
    m.add(AxesParams{{0, 2}}, {{t, {2, 3, 2}}}, linear);
    m.add(AxesParams{{}}, {{t, {2}}}, linear);
    m.add(AxesParams{{0}}, {{t, {1, 3}}}, linear);
    m.add(AxesParams{{1}}, {{t, {0, 3}}}, linear);
    m.add(AxesParams{{0}}, {{t, {40}}}, linear, {{0.8, 1.2}});
    m.add(AxesParams{{1, 2}}, {{t, {2, 5, 7}}}, linear, {{0.8, 1.2}});
    m.add(AxesParams{{0, 2}}, {{t, {4, 2, 9}}}, linear, {{0.8, 1.2}});
  }
}
void empty_reduction_cases(Maker& m, const Masks& linear) {
  for (DType t : {f64, f32, i32, u32}) m.add(AxesParams{{1}}, {{t, {2, 0}}}, linear);
}
void arg_cases(Maker& m) {
  for (DType t : {f32, f64, i32, u32, DType::i8}) {
    m.add(AxisParams{0}, {{t, {5}}});
    m.add(AxisParams{1}, {{t, {2, 3}}});
    m.add(AxisParams{0}, {{t, {3, 2}}});
    m.add(AxisParams{1}, {{t, {0, 3}}});
    m.add(AxisParams{0}, {{t, {50}}});
  }
}
void dot_cases(Maker& m) {
  const Masks linear{{true, false}, {false, true}};
  for (DType t : {f64, f32, i32}) {
    m.add(DotParams{{0}, {0}, {}, {}}, {{t, {3}}, {t, {3}}}, linear);
    m.add(DotParams{{1}, {0}, {}, {}}, {{t, {2, 3}}, {t, {3, 4}}}, linear);
    m.add(DotParams{{2}, {1}, {0}, {0}}, {{t, {2, 3, 4}}, {t, {2, 4, 5}}}, linear);
    m.add(DotParams{{0, 2}, {2, 0}, {}, {}}, {{t, {2, 3, 4}}, {t, {4, 3, 2}}}, linear);
    m.add(DotParams{{1}, {1}, {2}, {0}}, {{t, {2, 3, 4}}, {t, {4, 3}}}, linear);
    m.add(DotParams{}, {{t, {2}}, {t, {3}}}, linear);
    m.add(DotParams{}, {{t, {}}, {t, {}}}, linear);
    m.add(DotParams{{1}, {0}, {}, {}}, {{t, {2, 0}}, {t, {0, 3}}}, linear);
    m.add(DotParams{{1}, {0}, {}, {}}, {{t, {2, 20}}, {t, {20, 2}}}, linear);
  }
}
void cumulative_cases(Maker& m, const std::vector<DType>& types, const Masks& linear = {},
                      std::size_t operands = 1) {
  for (DType t : types)
    for (bool reverse : {false, true}) {
      const auto add = [&](const Shape& s, int axis) {
        m.add(CumulativeParams{axis, reverse}, std::vector<Aval>(operands, {t, s}),
              is_float(t) ? linear : Masks{});
      };
      add({5}, 0);
      add({2, 3}, 1);
      add({3, 2}, 0);
      add({2, 3, 2}, 1);
      add({1}, 0);
      add({0, 2}, 0);
    }
}
void window_cases(Maker& m, const Masks& linear = {}) {
  for (DType t : {f64, f32, i32}) {
    const Masks masks = is_float(t) ? linear : Masks{};
    const auto add = [&](const Shape& s, WindowParams p) { m.add(std::move(p), {{t, s}}, masks); };
    add({6}, {{3}, {1}, {0}, {0}, {1}, {1}});
    add({7}, {{2}, {3}, {1}, {2}, {1}, {2}});
    add({4}, {{3}, {2}, {2}, {1}, {3}, {1}});
    add({5}, {{2}, {1}, {-1}, {-1}, {1}, {1}});
    add({4, 5}, {{2, 3}, {2, 1}, {0, 1}, {0, 1}, {1, 1}, {1, 1}});
    add({2, 5, 3}, {{1, 3, 2}, {1, 2, 1}, {0, 1, 0}, {0, 1, 1}, {1, 1, 2}, {1, 1, 1}});
    add({9}, {{40}, {2}, {20}, {22}, {1}, {1}});
    add({2}, {{4}, {1}, {0}, {0}, {1}, {1}});
    // Windows with nothing in them: infinities have no differences.
    if (t == i32 || !masks.empty()) add({0}, {{2}, {1}, {2}, {1}, {1}, {1}});
  }
}
void conv_cases(Maker& m) {
  const Masks linear{{true, false}, {false, true}};
  for (DType t : {f64, f32, i32}) {
    const auto add = [&](const Shape& x, const Shape& w, ConvParams p) {
      m.add(std::move(p), {{t, x}, {t, w}}, is_float(t) ? linear : Masks{});
    };
    add({2, 3, 5}, {4, 3, 3}, {0, {1}, {1}, {1}, {1}, {1}});
    add({1, 2, 7}, {2, 2, 2}, {0, {2}, {1}, {3}, {1}, {3}});
    add({1, 1, 4}, {1, 1, 3}, {0, {2}, {2}, {1}, {2}, {1}});
    add({1, 2, 6}, {1, 2, 2}, {0, {3}, {-1}, {0}, {1}, {1}});
    add({2, 2, 4, 5}, {3, 2, 2, 3}, {0, {1, 2}, {0, 1}, {1, 1}, {1, 1}, {2, 1}});
    add({2, 1, 2, 4}, {2, 3, 2, 2}, {1, {1}, {0}, {0}, {1}, {1}});
    add({1, 1, 40}, {1, 1, 36}, {0, {1}, {0}, {1}, {1}, {1}});
    add({2, 3}, {4, 3}, {0, {}, {}, {}, {}, {}});
    add({1, 2, 2}, {1, 2, 4}, {0, {1}, {0}, {0}, {1}, {1}});
  }
}
const std::map<std::string_view, std::function<void(Maker&)>>& with_parameters() {
  static const std::map<std::string_view, std::function<void(Maker&)>> all{
      {"select", select_cases},
      {"constant", constant_cases},
      {"iota", iota_cases},
      {"buffer", buffer_cases},
      {"unwritten", buffer_cases},
      {"integer_pow", integer_pow_cases},
      {"convert", convert_cases},
      {"bitcast", bitcast_cases},
      {"polygamma", polygamma_cases},
      {"broadcast", broadcast_cases},
      {"reshape", reshape_cases},
      {"permute", permute_cases},
      {"reverse", reverse_cases},
      {"slice", slice_cases},
      {"concatenate", concatenate_cases},
      {"pad", pad_cases},
      {"sum",
       [](Maker& m) {
         reduction_cases(m, false, {{true}});
         empty_reduction_cases(m, {{true}});
       }},
      {"prod",
       [](Maker& m) {
         reduction_cases(m, false, {});
         empty_reduction_cases(m, {});
       }},
      {"reduce_max", [](Maker& m) { reduction_cases(m, true, {}); }},
      {"reduce_min", [](Maker& m) { reduction_cases(m, true, {}); }},
      {"argmax", arg_cases},
      {"argmin", arg_cases},
      {"dot_general", dot_cases},
      {"csr_dot", csr_dot_cases},
      {"csr_rows", csr_rows_cases},
      {"csr_sampled", csr_sampled_cases},
      {"gather", gather_cases},
      {"scatter_set",
       [](Maker& m) {
         scatter_cases(m, {{true, false, true}, {true, false, false}, {false, false, true}});
         m.add(ScatterParams{0, 0}, {{DType::boolean, {4}}, {i32, {3}}, {DType::boolean, {3}}}, {},
               {{}, {-1, 4}, {}});
       }},
      {"scatter_add",
       [](Maker& m) {
         scatter_cases(m, {{true, false, true}, {false, false, true}});
       }},
      {"scatter_mul", scatter_mul_cases},
      {"scatter_min", [](Maker& m) { scatter_cases(m, {}); }},
      {"scatter_max", [](Maker& m) { scatter_cases(m, {}); }},
      {"cumsum",
       [](Maker& m) {
         cumulative_cases(m, {f64, f32, i32, u32}, {{true}});
       }},
      {"cumprod",
       [](Maker& m) {
         cumulative_cases(m, {f64, f32, i32});
       }},
      {"cummax",
       [](Maker& m) {
         cumulative_cases(m, {f64, f32, i32, u32});
       }},
      {"cummin",
       [](Maker& m) {
         cumulative_cases(m, {f64, f32, i32, DType::i8});
       }},
      {"cumlogsumexp",
       [](Maker& m) {
         cumulative_cases(m, {f64, f32});
       }},
      {"linear_recurrence",
       [](Maker& m) {
         cumulative_cases(m, {f64, f32, i32}, {{false, true}}, 2);
       }},
      {"window_sum", [](Maker& m) { window_cases(m, {{true}}); }},
      {"window_max", [](Maker& m) { window_cases(m); }},
      {"window_min", [](Maker& m) { window_cases(m); }},
      {"window_argmax", [](Maker& m) { window_cases(m); }},
      {"window_argmin", [](Maker& m) { window_cases(m); }},
      {"conv", conv_cases},
      {"dynamic_slice", dynamic_slice_cases},
      {"dynamic_update_slice", dynamic_update_slice_cases},
      {"cholesky", cholesky_cases},
      {"triangular_solve", triangular_solve_cases},
      {"lu", lu_cases},
      {"solve", solve_cases},
      {"qr", qr_cases},
      {"sort", sort_cases},
      {"rearrange", rearrange_cases},
      {"eigh", eigh_cases},
      {"svd", svd_cases},
      {"pinv", pinv_cases},
      {"expm", expm_cases},
      {"expm_tangent", expm_tangent_cases},
      {"while", while_cases},
      {"scan", scan_cases},
      {"cond", cond_cases},
      {"print", print_cases},
      {"error_if", error_if_cases},
      {"custom_jvp", custom_jvp_cases},
      {"custom_vjp", custom_vjp_cases},
      {"checkpoint", checkpoint_cases},
      {"checkpoint_name", marker_cases},
      {"nondifferentiable", marker_cases},
      {"nondifferentiable_backward", marker_cases},
      {"optimization_barrier", barrier_cases},
      {"custom_linear_solve", linear_solve_cases},
      {"custom_vmap", custom_vmap_cases},
      {"psum", psum_cases},
      {"all_gather", all_gather_cases},
      {"axis_index", axis_index_cases},
  };
  return all;
}

}  // namespace

std::string label(const Case& c) {
  std::string s(c.primitive->name);
  for (const Aval& a : c.inputs) s += " " + to_string(a);
  return s;
}

std::vector<Case> cases_of(const Primitive& p) {
  if (const auto e = elementwise().find(p.name); e != elementwise().end())
    return elementwise_cases(p, e->second);
  const auto maker = with_parameters().find(p.name);
  if (maker == with_parameters().end()) return {};
  Maker m{p};
  maker->second(m);
  return m.cases;
}

std::vector<Case> all_cases() {
  Cases r;
  for (const Primitive* p : primitives())
    for (Case& c : cases_of(*p)) r.push_back(std::move(c));
  return r;
}

std::vector<Case> dtype_cases() {
  constexpr DType others[] = {DType::boolean, DType::i8,  DType::u8,  DType::i16, DType::u16, u32,
                              DType::i64,     DType::u64, DType::f16, DType::bf16};
  constexpr int most = 3;  // of one operation and type
  Cases r;
  for (const Primitive* p : primitives())
    for (DType t : others) {
      int taken = 0;
      for (Case c : cases_of(*p)) {
        // Operands that are positions keep their type: they are i32 among f32, which becomes `t`.
        const auto is_f32 = [](const Aval& a) { return a.dtype == f32; };
        const auto is_i32 = [](const Aval& a) { return a.dtype == i32; };
        const bool floats = std::any_of(c.inputs.begin(), c.inputs.end(), is_f32);
        const bool integers = !floats && std::all_of(c.inputs.begin(), c.inputs.end(), is_i32);
        const bool empty = std::any_of(c.inputs.begin(), c.inputs.end(),
                                       [](const Aval& a) { return a.shape.size() == 0; });
        if (c.inputs.empty() || empty || !(floats || integers)) continue;
        for (Aval& a : c.inputs)
          if (a.dtype == (floats ? f32 : i32)) a.dtype = t;
        try {
          graph_of(c);
        } catch (const Error&) {
          continue;  // not a type it takes
        }
        r.push_back(std::move(c));
        if (++taken == most) break;
      }
    }
  Maker conversions{convert_p};
  for (DType from : {f32, f64, i32, u32})
    for (DType to : others) conversions.add(DTypeParams{to}, {{from, {7}}}, {}, {{0.2, 100}});
  for (DType from : others) {
    for (DType to : {f32, f64, i32, u32})
      conversions.add(DTypeParams{to}, {{from, {7}}}, {}, {{0, 100}});
    for (DType to : others) conversions.add(DTypeParams{to}, {{from, {7}}}, {}, {{0, 100}});
  }
  r.insert(r.end(), conversions.cases.begin(), conversions.cases.end());
  return r;
}

Graph graph_of(const Case& c) {
  Trace t;
  Arrays in;
  for (const Aval& a : c.inputs) in.push_back(t.input(a));
  return t.finish(emit(*c.primitive, c.params, in, {}));
}

}  // namespace gnomon::test
