// tests/codegen/control_cases.cpp -- examples of loops, branches and statements.
#include "codegen/lax/lax.h"
#include "codegen/operations/control.h"
#include "codegen/operations/effects.h"
#include "tests/codegen/case_maker.h"

namespace gnomon::test {

void while_cases(Maker& m) {
  for (DType t : {f64, f32}) {
    // x, i -> x * 1.5 + c, i + 1 while i < 4.
    const std::vector<Aval> avals{{t, {2}}, {i32, {}}, {t, {2}}};
    const GraphPtr condition = trace_graph(
        avals, [](const Arrays& x) { return Arrays{lax::lt(x[1], lax::scalar(DType::i32, 4))}; });
    const GraphPtr body = trace_graph(avals, [](const Arrays& x) {
      return Arrays{lax::add(lax::mul(x[0], 1.5), x[2]), lax::add(x[1], 1)};
    });
    m.add(WhileParams{condition, body, 2, 10, 0}, avals, {}, {{}, {0, 3}, {}});
    m.add(WhileParams{condition, body, 2, 2, 0}, avals, {}, {{}, {0, 3}, {}});
  }
}

void scan_cases(Maker& m) {
  for (DType t : {f64, f32})
    for (bool reverse : {false, true}) {
      // carry, row, constant -> carry * constant + row, carry.
      const std::vector<Aval> step{{t, {2}}, {t, {2}}, {t, {2}}};
      const GraphPtr body = trace_graph(step, [](const Arrays& x) {
        return Arrays{lax::add(lax::mul(x[0], x[2]), x[1]), lax::mul(x[0], x[0])};
      });
      m.add(ScanParams{body, 1, 1, 3, reverse}, {{t, {2}}, {t, {3, 2}}, {t, {2}}});
    }
}

void cond_cases(Maker& m) {
  for (DType t : {f64, f32}) {
    const std::vector<Aval> avals{{t, {2}}, {t, {2}}};
    const GraphPtr first =
        trace_graph(avals, [](const Arrays& x) { return Arrays{lax::mul(x[0], x[1])}; });
    const GraphPtr second =
        trace_graph(avals, [](const Arrays& x) { return Arrays{lax::add(x[0], x[1])}; });
    m.add(CondParams{{first, second}, 0}, {{DType::boolean, {}}, avals[0], avals[1]});
    m.add(CondParams{{first, second, first}, 0}, {{i32, {}}, avals[0], avals[1]}, {},
          {{-1, 4}, {}, {}});
  }
}

void print_cases(Maker& m) {
  m.add(StatementParams{"here \"{{}}\"", {}, {}}, {});
  for (DType t : {f64, f32, i32, DType::boolean}) {
    m.add(StatementParams{"{}", {}, {}}, {{t, {}}});
    m.add(StatementParams{"x = {}\ny = {}", {}, {}}, {{t, {2, 3}}, {i32, {}}});
    m.add(StatementParams{"{}", {2, 3}, {1, 0}}, {{t, {6, 2}}});
  }
}

void error_if_cases(Maker& m) {
  for (const Shape& s : {Shape{}, Shape{3}, Shape{2, 0}})
    m.add(StatementParams{"bad", {}, {}}, {{DType::boolean, s}});
  m.add(StatementParams{"bad", {4}, {0}}, {{DType::boolean, {4}}});
}

}  // namespace gnomon::test
