// tests/compile_fail/transforms.cpp -- misuse of transforms and rules that is visible in types.
#include <utility>

#include "gnomon/custom.h"
#include "gnomon/ops.h"
#include "gnomon/partition.h"
#include "gnomon/transform.h"

namespace gn = gnomon;
using gn::Array;

struct Model {
  Array weight, bias;
};

std::pair<Array, Array> loss(const Array& x) { return {gn::sum(x), x}; }
Array good(const Array& x) { return gn::grad(loss, gn::has_aux)(x).first; }

// CASE 1: expect "for one that returns std::pair{loss, aux} write grad(f, has_aux)"
#ifdef CASE_1
Array bad(const Array& x) { return gn::grad(loss)(x); }
#endif

// CASE 2: expect "gnomon: with has_aux the function returns std::pair{loss, aux}"
#ifdef CASE_2
Array bad(const Array& x) {
  return gn::grad([](const Array& v) { return gn::sum(v); }, gn::has_aux)(x).first;
}
#endif

// CASE 3: expect "gnomon: a rule of custom_jvp is (x, dx) -> std::pair{y, dy}, (x, y, dx) -> dy"
#ifdef CASE_3
Array bad(const Array& x) {
  return gn::custom_jvp([](const Array& v) { return v; }, [](const Array& v) { return v; })(x);
}
#endif

// CASE 4: expect "gnomon: the backward pass of custom_vjp gives a cotangent like the argument"
#ifdef CASE_4
Array bad(const Array& x) {
  return gn::custom_vjp([](const Array& v) { return v; },
                        [](const Array& v) { return std::pair{v, v}; },
                        [](const Array&, const Array& dy) { return std::pair{dy, dy}; })(x);
}
#endif

// CASE 5: expect "gnomon: the rule of custom_vmap runs when a vmap comes, when what it captured"
#ifdef CASE_5
Array bad(const Array& x, const Array& k) {
  return gn::custom_vmap(
      [](const Array& v) { return v; },
      [&](gn::Dim, const std::vector<bool>&, const Array& v) { return v * k; })(x);
}
#endif

// CASE 6: expect "gnomon: a spec is bool(const Array&), bool(const Array&, const std::string& path)"
#ifdef CASE_6
Model bad(const Model& m) {
  return gn::tree::filter(m, [](int) { return true; });
}
#endif

// CASE 7: expect "gnomon: the forward pass of custom_vjp gives std::pair{y, residuals}"
#ifdef CASE_7
Array bad(const Array& x) {
  return gn::custom_vjp([](const Array& v) { return v; }, [](const Array& v) { return v; },
                        [](const Array&, const Array& dy) { return dy; })(x);
}
#endif
