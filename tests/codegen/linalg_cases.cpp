// tests/codegen/linalg_cases.cpp -- the examples of linear algebra.
#include "codegen/primitives/linalg/linalg.h"
#include "tests/codegen/case_maker.h"

namespace gnomon::test {

// Batches in front of 4 x 4 and 7 x 7 matrices (written out by elements, and by loops or products);
// the laws add axes of length 3 and 5.

void cholesky_cases(Maker& m) {
  for (DType t : {f64, f32}) {
    m.add({}, {{t, {4, 4}}}, {}, {{-0.5, 0.5, 4, 4}});
    m.add({}, {{t, {1, 1}}}, {}, {{0.5, 2}});
    m.add({}, {{t, {0, 0}}});
  }
  m.add({}, {{f64, {2, 4, 4}}}, {}, {{-0.5, 0.5, 4, 4}});
  m.add({}, {{f64, {11, 11}}}, {}, {{-0.5, 0.5, 6, 11}});
}
void triangular_solve_cases(Maker& m) {
  const Masks linear{{false, true}};
  for (DType t : {f64, f32})
    for (bool left : {true, false})
      for (bool lower : {true, false})
        for (bool transposed : {true, false}) {
          const TriangularParams p{left, lower, transposed, t == f32};
          m.add(p, {{t, {4, 4}}, {t, left ? Shape{4, 2} : Shape{2, 4}}}, linear,
                {{-0.5, 0.5, 2, 4}, {}});
        }
  m.add(TriangularParams{}, {{f64, {2, 4, 4}}, {f64, {2, 4, 1}}}, linear, {{-0.5, 0.5, 2, 4}, {}});
  m.add(TriangularParams{}, {{f64, {11, 11}}, {f64, {11, 2}}}, linear, {{-0.5, 0.5, 2, 11}, {}});
  m.add(TriangularParams{.lower = false, .unit_diagonal = true}, {{f64, {37, 37}}, {f64, {37, 1}}},
        linear, {{-0.2, 0.2, 2, 37}, {}});
  m.add(TriangularParams{}, {{f64, {0, 0}}, {f64, {0, 2}}}, linear);
  m.add(TriangularParams{}, {{f64, {2, 2}}, {f64, {2, 0}}}, linear);
}
void lu_cases(Maker& m) {
  for (DType t : {f64, f32}) {
    m.add({}, {{t, {4, 4}}}, {}, {{-2, 2, 1, 4}});
    m.add({}, {{t, {4, 2}}});
    m.add({}, {{t, {2, 4}}});
    m.add({}, {{t, {1, 1}}});
    m.add({}, {{t, {0, 2}}});
  }
  m.add({}, {{f64, {2, 4, 4}}}, {}, {{-2, 2, 1, 4}});
  m.add({}, {{f64, {8, 7}}});
}
void solve_cases(Maker& m) {
  const Masks linear{{false, true}};
  for (DType t : {f64, f32})
    for (bool transposed : {false, true}) {
      const SolveParams p{transposed};
      m.add(p, {{t, {4, 4}}, {t, {4, 2}}}, linear, {{-1, 1, 3, 4}, {}});
      m.add(p, {{t, {0, 0}}, {t, {0, 2}}}, linear);
    }
  m.add(SolveParams{}, {{f64, {2, 4, 4}}, {f64, {2, 4, 1}}}, linear, {{-1, 1, 3, 4}, {}});
  m.add(SolveParams{true}, {{f64, {7, 7}}, {f64, {7, 2}}}, linear, {{-1, 1, 4, 7}, {}});
}
void qr_cases(Maker& m) {
  for (DType t : {f64, f32}) {
    m.add(QrParams{}, {{t, {4, 2}}});
    m.add(QrParams{}, {{t, {4, 4}}}, {}, {{-1, 1, 3, 4}});
    m.add(QrParams{}, {{t, {2, 4}}});
    m.add(QrParams{true}, {{t, {4, 4}}}, {}, {{-1, 1, 3, 4}});
    m.add(QrParams{}, {{t, {1, 1}}});
    m.add(QrParams{}, {{t, {0, 2}}});
  }
  m.add(QrParams{}, {{f64, {2, 4, 2}}});
  m.add(QrParams{}, {{f64, {8, 7}}}, {}, {{-1, 1}});
}
void eigh_cases(Maker& m) {
  for (DType t : {f64, f32}) {
    m.add({}, {{t, {4, 4}}});
    m.add({}, {{t, {2, 2}}});
    m.add({}, {{t, {1, 1}}});
    m.add({}, {{t, {0, 0}}});
  }
  m.add({}, {{f64, {2, 4, 4}}});
  m.add({}, {{f64, {7, 7}}});
}
void svd_cases(Maker& m) {
  for (DType t : {f64, f32}) {
    m.add({}, {{t, {4, 2}}});
    m.add({}, {{t, {2, 4}}});
    m.add({}, {{t, {4, 4}}}, {}, {{-1, 1, 2, 4}});
    m.add({}, {{t, {1, 1}}}, {}, {{0.5, 2}});
    m.add({}, {{t, {0, 2}}});
  }
  m.add({}, {{f64, {2, 4, 2}}});
  m.add({}, {{f64, {8, 6}}});
}
void pinv_cases(Maker& m) {
  const PinvParams p{1e-6};
  for (DType t : {f64, f32}) {
    m.add(p, {{t, {4, 2}}});
    m.add(p, {{t, {2, 4}}});
    m.add(p, {{t, {1, 1}}}, {}, {{0.5, 2}});
    m.add(p, {{t, {0, 2}}});
  }
  m.add(p, {{f64, {2, 4, 2}}});
  m.add(p, {{f64, {6, 8}}});
}

void expm_cases(Maker& m) {
  const ExpmParams p;
  for (DType t : {f64, f32}) {
    m.add(p, {{t, {3, 3}}});
    m.add(p, {{t, {1, 1}}});
    m.add(p, {{t, {0, 0}}});
  }
  m.add(p, {{f64, {2, 3, 3}}}, {}, {{-3, 3}});
  m.add(p, {{f64, {9, 9}}});
}
void expm_tangent_cases(Maker& m) {
  const ExpmParams p;
  const Masks linear{{false, true}};
  for (DType t : {f64, f32}) {
    m.add(p, {{t, {3, 3}}, {t, {3, 3}}}, linear);
    m.add(p, {{t, {0, 0}}, {t, {0, 0}}}, linear);
  }
  m.add(p, {{f64, {2, 3, 3}}, {f64, {2, 3, 3}}}, linear, {{-2, 2}, {}});
}

}  // namespace gnomon::test
