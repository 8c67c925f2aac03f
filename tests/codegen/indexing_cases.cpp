// tests/codegen/indexing_cases.cpp -- examples of the operations that read or write at positions
// which they are given, sorting and sparse rows among them.
#include "codegen/operations/csr.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/sort.h"
#include "tests/codegen/case_maker.h"

namespace gnomon::test {

void gather_cases(Maker& m) {
  for (DType t : {f64, f32, i32})
    for (GatherMode mode : {GatherMode::clip, GatherMode::fill}) {
      const Masks linear = t == f64 ? Masks{{true, false}} : Masks{};
      // Out of range only where no derivative is taken: reads clip, writes drop.
      const Domain at = t == f64 ? Domain{0, 3} : Domain{-2, 6};
      m.add(GatherParams{0, 0, mode}, {{t, {4}}, {i32, {3}}}, linear, {{}, at});
      m.add(GatherParams{0, 0, mode}, {{t, {4, 2}}, {i32, {5}}}, linear, {{}, at});
      m.add(GatherParams{1, 0, mode}, {{t, {2, 4}}, {i32, {1}}}, linear, {{}, at});
      m.add(GatherParams{1, 1, mode}, {{t, {2, 4, 3}}, {i32, {2, 3}}}, linear, {{}, at});
      m.add(GatherParams{0, 0, mode}, {{t, {4}}, {i32, {0}}}, linear, {{}, at});
      m.add(GatherParams{0, 0, mode}, {{t, {4, 2}}, {i32, {2, 3}}}, linear, {{}, at});
      m.add(GatherParams{2, 1, mode}, {{t, {2, 3, 4, 2}}, {i32, {2, 3, 1, 2}}}, linear, {{}, at});
    }
}

void scatter_cases(Maker& m, const Masks& linear) {
  for (DType t : {f64, f32, i32}) {
    const Masks masks = is_float(t) ? linear : Masks{};
    m.add(ScatterParams{0, 0}, {{t, {4}}, {i32, {6}}, {t, {6}}}, masks, {{}, {0, 3}, {}});
    m.add(ScatterParams{0, 0}, {{t, {4, 2}}, {i32, {3}}, {t, {3, 2}}}, masks, {{}, {-1, 5}, {}});
    m.add(ScatterParams{1, 1}, {{t, {2, 4}}, {i32, {2, 3}}, {t, {2, 3}}}, masks, {{}, {0, 3}, {}});
    m.add(ScatterParams{2, 1}, {{t, {2, 3, 2}}, {i32, {2, 5}}, {t, {2, 3, 5}}}, masks,
          {{}, {-1, 2}, {}});
    m.add(ScatterParams{0, 0, true}, {{t, {4, 2}}, {i32, {1}}, {t, {1, 2}}}, masks,
          {{}, {0, 3}, {}});
    m.add(ScatterParams{0, 0}, {{t, {3}}, {i32, {0}}, {t, {0}}}, masks, {{}, {0, 3}, {}});
  }
}

void scatter_mul_cases(Maker& m) {
  const Masks linear{{true, false, false}};
  // Several factors on one element have no derivative: those cases stay away from f64.
  for (DType t : {f32, i32})
    m.add(ScatterParams{0, 0}, {{t, {4, 2}}, {i32, {6}}, {t, {6, 2}}}, {}, {{}, {-1, 5}, {}});
  for (DType t : {f64, f32}) {
    m.add(ScatterParams{0, 0, true}, {{t, {4, 2}}, {i32, {1}}, {t, {1, 2}}}, linear,
          {{}, {0, 3}, {}});
    m.add(ScatterParams{1, 1, true}, {{t, {2, 4}}, {i32, {2, 1}}, {t, {2, 1}}}, linear,
          {{}, {-1, 4}, {}});
  }
}

void dynamic_slice_cases(Maker& m) {
  for (DType t : {f64, f32, i32}) {
    m.add(DynamicSliceParams{{2}, 0}, {{t, {5}}, {i32, {}}}, {{true, false}}, {{}, {-1, 6}});
    m.add(DynamicSliceParams{{1, 2}, 0}, {{t, {3, 4}}, {i32, {}}, {i32, {}}},
          {{true, false, false}}, {{}, {0, 2}, {0, 4}});
    m.add(DynamicSliceParams{{3}, 1}, {{t, {2, 4}}, {i32, {2}}}, {{true, false}}, {{}, {0, 2}});
    // Whole axes in front of those in part, between them and behind them.
    m.add(DynamicSliceParams{{2, 1, 3, 2, 2}, 1},
          {{t, {2, 2, 3, 3, 4, 2}}, {i32, {2}}, {i32, {2}}, {i32, {2}}, {i32, {2}}, {i32, {2}}},
          {{true, false, false, false, false, false}},
          {{}, {-1, 3}, {-1, 4}, {-1, 3}, {-1, 5}, {-1, 3}});
  }
}

void dynamic_update_slice_cases(Maker& m) {
  for (DType t : {f64, f32, i32}) {
    m.add(DynamicUpdateSliceParams{0}, {{t, {5}}, {t, {2}}, {i32, {}}},
          {{true, true, false}, {false, true, false}}, {{}, {}, {-1, 6}});
    m.add(DynamicUpdateSliceParams{0}, {{t, {3, 4}}, {t, {1, 2}}, {i32, {}}, {i32, {}}},
          {{true, true, false, false}}, {{}, {}, {0, 2}, {0, 4}});
    m.add(DynamicUpdateSliceParams{1}, {{t, {2, 4}}, {t, {2, 3}}, {i32, {2}}},
          {{true, true, false}}, {{}, {}, {0, 2}});
  }
}

void sort_cases(Maker& m) {
  const Domain few{0, 3};  // many ties
  for (DType t : {f64, f32, i32, u32, DType::u8, DType::boolean, DType::i64}) {
    // A difference quotient sees the permutation change at ties.
    const Domain d = is_float(t) ? Domain{} : few;
    m.add(SortParams{0, 1}, {{t, {5}}}, {}, {d});
    m.add(SortParams{1, 1}, {{t, {2, 7}}}, {}, {d});
    m.add(SortParams{0, 1}, {{t, {11, 2}}}, {}, {d});
    m.add(SortParams{0, 1}, {{t, {1}}}, {}, {d});
    m.add(SortParams{1, 1}, {{t, {2, 0}}}, {}, {d});
    m.add(SortParams{0, 2}, {{i32, {9}}, {t, {9}}, {f32, {9}}}, {}, {few, d, {}});
    m.add(SortParams{0, 1}, {{t, {150}}}, {}, {d});
  }
}

void rearrange_cases(Maker& m) {
  const auto along = [](int axis) { return Domain{.permuted_axis = axis}; };
  for (DType t : {f64, f32, i32, DType::boolean}) {
    m.add(RearrangeParams{0}, {{t, {4}}, {i32, {4}}}, {{true, false}}, {{}, along(0)});
    m.add(RearrangeParams{1}, {{t, {2, 3}}, {i32, {2, 3}}}, {{true, false}}, {{}, along(1)});
    m.add(RearrangeParams{0}, {{t, {3, 2}}, {i32, {3, 2}}}, {{true, false}}, {{}, along(0)});
    m.add(RearrangeParams{0}, {{t, {0}}, {i32, {0}}}, {{true, false}}, {{}, along(0)});
  }
}
namespace {

/// Of the offsets of so many rows; no lane axis of the laws may be as long.
Domain offsets_of(Dim rows, Dim entries) {
  return {.low = 0, .high = static_cast<double>(entries), .ascending = rows + 1};
}
}  // namespace

void csr_rows_cases(Maker& m) {
  for (DType t : {f64, f32})
    for (Dim k : {1, 8})
      m.add(CsrParams{4, 7, false}, {{i32, {7}}, {i32, {7}}, {t, {7}}, {t, {4, k}}},
            {{false, false, true, false}, {false, false, false, true}},
            {offsets_of(6, 7), {0, 3}, {}, {}});
}

void csr_dot_cases(Maker& m) {
  for (DType t : {f64, f32}) {
    const Masks each{{false, false, true, false}, {false, false, false, true}};
    const auto add = [&](Dim rows, Dim width, Dim entries, Dim k, Dim longest) {
      const std::vector<Domain> domains{
          offsets_of(rows, entries), {0, static_cast<double>(width - 1)}, {}, {}};
      for (bool transpose : {false, true})
        m.add(CsrParams{width, longest, transpose, k == 16},
              {{i32, {rows + 1}},
               {i32, {entries}},
               {t, {entries}},
               {t, {transpose ? rows : width, k}}},
              each, domains);
    };
    add(3, 4, 7, 2, 0);
    add(5, 2, 6, 1, 6);
    add(1, 3, 0, 2, 0);
    add(3, 4, 5, 20, 5);
    add(6, 4, 9, 16, 0);
    add(5, 4, 9, 16, 9);
    add(1, 1, 3, 1, 0);
  }
}

void csr_sampled_cases(Maker& m) {
  for (DType t : {f64, f32}) {
    const Masks each{{false, false, true, false}, {false, false, false, true}};
    for (Dim k : {1, 3})
      m.add(CsrParams{4, 0, false}, {{i32, {4}}, {i32, {7}}, {t, {3, k}}, {t, {4, k}}}, each,
            {offsets_of(3, 7), {0, 3}, {}, {}});
    m.add(CsrParams{2, 0, false}, {{i32, {2}}, {i32, {0}}, {t, {1, 2}}, {t, {2, 2}}}, each,
          {offsets_of(1, 0), {0, 1}, {}, {}});
  }
}

}  // namespace gnomon::test
