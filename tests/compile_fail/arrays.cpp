// tests/compile_fail/arrays.cpp -- misuse of arrays, shapes, keys and trees that is visible in
// types.
#include "gnomon/masks.h"
#include "gnomon/ops.h"
#include "gnomon/random.h"
#include "gnomon/transform.h"
#include "gnomon/tree.h"

namespace gn = gnomon;
using gn::Array;

struct Model {
  Array weight;
  int width = 3;
};

Array good(const Model& m, const Array& x) {
  return gn::where(x > 0, m.weight * x, gn::zeros({m.width}));
}

// CASE 1: expect "gnomon: a traced Array has no value while tracing; use where / cond / while_loop"
#ifdef CASE_1
Array bad(const Array& x) {
  if (static_cast<bool>(x > 0)) return x;
  return -x;
}
#endif

// CASE 2: expect "gnomon: a traced Array has no value while tracing"
#ifdef CASE_2
float bad(const Array& x) { return static_cast<float>(x); }
#endif

// CASE 3: expect "gnomon: a traced Array cannot be a shape dimension"
#ifdef CASE_3
Array bad(const Array& n) { return gn::zeros(gn::Shape(n, 3)); }
#endif

// CASE 4: expect "used twice? random::split makes new keys, clone() the same draws"
#ifdef CASE_4
Array bad(const gn::Key& key) {
  gn::Key again = key;
  return gn::random::normal(std::move(again), {3});
}
#endif

// CASE 5: expect "a raw pointer cannot be a field of a tree"
#ifdef CASE_5
struct Holder {
  Array* weight;
};
auto bad(Holder h) { return gn::tree::leaves(h); }
#endif

// CASE 6: expect "a C array cannot be a field of a tree; use std::array"
#ifdef CASE_6
struct Holder {
  Array weights[2];
};
auto bad(Holder h) { return gn::tree::leaves(h); }
#endif

// CASE 7: expect "A closure with captures cannot be"
#ifdef CASE_7
auto bad(const Array& x) {
  auto scaled = [x](const Array& y) { return x * y; };
  struct Layer {
    decltype(scaled) apply;
  };
  return gn::tree::leaves(Layer{scaled});
}
#endif

// CASE 8: expect "Use x.dim(i) and std::min/std::max on integers"
#ifdef CASE_8
Array bad(const Array& x, const Array& n) { return gn::zeros({gn::minimum(n, 8), x.dim(0)}); }
#endif

// CASE 9: expect "a size is fixed when the function is traced; clamp it with std::min/std::max on"
#ifdef CASE_9
Array bad(const Array& n) { return gn::first_valid(n, gn::minimum(n, 8)); }
#endif
