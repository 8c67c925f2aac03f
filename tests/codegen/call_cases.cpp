// tests/codegen/call_cases.cpp -- examples of the operations that hold functions, and of markers.
#include "codegen/lax/lax.h"
#include "codegen/operations/calls.h"
#include "codegen/operations/collectives.h"
#include "codegen/operations/custom_vmap.h"
#include "tests/codegen/case_maker.h"

namespace gnomon::test {

void custom_jvp_cases(Maker& m) {
  for (DType t : {f64, f32}) {
    // a, b, n -> a b, n + 1.
    const std::vector<Aval> in{{t, {2}}, {t, {2}}, {i32, {}}};
    const Aval flag{DType::boolean, {}};
    const GraphPtr body = trace_graph(in, [](const Arrays& x) {
      return Arrays{lax::mul(x[0], x[1]), lax::add(x[2], 1)};
    });
    const GraphPtr rule = trace_graph(
        {in[0], in[1], in[2], in[0], in[2], in[0], in[1], flag, flag}, [](const Arrays& x) {
          return Arrays{lax::add(lax::mul(x[5], x[1]), lax::mul(x[0], x[6]))};
        });
    m.add(CustomJvpParams{body, rule, 3}, in, {{true, false, false}, {false, true, false}});
  }
}

void custom_vjp_cases(Maker& m) {
  for (DType t : {f64, f32}) {
    // a, b, n -> a b, n + 1 with a and b kept.
    const std::vector<Aval> in{{t, {2}}, {t, {2}}, {i32, {}}};
    const Aval flag{DType::boolean, {}};
    const GraphPtr body = trace_graph(in, [](const Arrays& x) {
      return Arrays{lax::mul(x[0], x[1]), lax::add(x[2], 1)};
    });
    const GraphPtr forward = trace_graph({in[0], in[1], in[2], flag, flag}, [](const Arrays& x) {
      return Arrays{lax::mul(x[0], x[1]), lax::add(x[2], 1), x[0], x[1]};
    });
    const GraphPtr backward = trace_graph({in[0], in[1], in[0], flag, flag}, [](const Arrays& x) {
      return Arrays{lax::mul(x[2], x[1]), lax::mul(x[2], x[0])};
    });
    m.add(CustomVjpParams{body, forward, backward, 3}, in,
          {{true, false, false}, {false, true, false}});
  }
}

void checkpoint_cases(Maker& m) {
  const auto body = [](const Arrays& x) {
    const Array product = lax::dot_general(x[0], x[1], {{1}, {0}, {}, {}});
    return Arrays{emit1(checkpoint_name_p, NameParams{"product"}, {product}, {}),
                  lax::mul(x[0], x[0])};
  };
  const auto linear = [](const Arrays& x) {
    return Arrays{lax::mul(lax::dot_general(x[0], x[1], {{1}, {0}, {}, {}}), x[2])};
  };
  for (DType t : {f64, f32}) {
    const std::vector<Aval> in{{t, {2, 3}}, {t, {3, 2}}}, more{in[0], in[1], {t, {2, 2}}};
    m.add(CheckpointParams{trace_graph(in, body), Keep::nothing, {"product", "other"}}, in,
          {{false, true}});
    for (Keep keep : {Keep::nothing, Keep::products, Keep::everything})
      m.add(CheckpointParams{trace_graph(more, linear), keep, {}}, more,
            {{true, false, false}, {false, true, false}, {false, false, true}});
  }
}

void marker_cases(Maker& m) {
  const bool passes = &m.p == &checkpoint_name_p;
  for (DType t : {f64, f32, i32})
    for (const Shape& s : {Shape{}, Shape{2, 3}, Shape{0}}) {
      m.add(NameParams{"x \"y\""}, {{t, s}}, passes ? Masks{{true}} : Masks{});
      if (!passes) m.cases.back().orders = {0};
    }
}

void barrier_cases(Maker& m) {
  for (DType t : {f64, f32, i32}) {
    m.add({}, {{t, {2, 3}}}, {{true}});
    m.add({}, {{t, {2, 3}}, {t, {4}}, {i32, {}}}, {{true, false, false}});
    m.add({}, {{t, {}}, {t, {0}}}, {{true, false}});
  }
}

void linear_solve_cases(Maker& m) {
  for (DType t : {f64, f32}) {
    // A x = b for a diagonal A.
    const std::vector<Aval> in{{t, {3}}, {t, {3}}};
    const GraphPtr times =
                       trace_graph(in, [](const Arrays&x) { return Arrays{lax::mul(x[0], x[1])}; }),
                   over =
                       trace_graph(in, [](const Arrays&x) { return Arrays{lax::div(x[0], x[1])}; });
    m.add(LinearSolveParams{over, times, {over}, 1}, in, {{true, false}}, {{}, {0.5, 2}});
  }
}

/// Without a rule, as text brings it.
void custom_vmap_cases(Maker& m) {
  for (DType t : {f64, f32}) {
    const std::vector<Aval> in{{t, {2}}, {t, {2}}};
    const GraphPtr body = trace_graph(in, [](const Arrays& x) {
      return Arrays{lax::mul(x[0], x[1]), lax::scalar(DType::i32, 3)};
    });
    m.add(CustomVmapParams{body, {}}, in, {{true, false}, {false, true}});
  }
}

void psum_cases(Maker& m) {
  for (DType t : {f64, f32, i32})
    for (const Shape& s : {Shape{}, Shape{2, 3}, Shape{0}})
      m.add(CollectiveParams{"i", 4}, {{t, s}}, {{true}});
}

/// Of f64 none: its transpose wants elements of an axis that are not alike.
void all_gather_cases(Maker& m) {
  for (DType t : {f32, i32, DType::boolean}) {
    m.add(GatherAxisParams{"i", 4, 0}, {{t, {}}});
    m.add(GatherAxisParams{"i", 4, 1}, {{t, {2, 3}}});
    m.add(GatherAxisParams{"i", 2, 1}, {{t, {0}}});
  }
}

void axis_index_cases(Maker& m) { m.add(CollectiveParams{"i", 4}, {}); }

}  // namespace gnomon::test
