// tests/compile_fail/transforms.cpp -- misuse of transforms and rules that is visible in types.
#include <utility>

#include "gnomon/custom.h"
#include "gnomon/jacobian.h"
#include "gnomon/ops.h"
#include "gnomon/partition.h"
#include "gnomon/transform.h"
#include "gnomon/tree_ops.h"

namespace gn = gnomon;
using gn::Array;

struct Model {
  Array weight, bias;
};

std::pair<Array, Array> loss(const Array& x) { return {gn::sum(x), x}; }
Array loss_of(const Model& m) { return gn::sum(m.weight) * m.bias; }
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
                        [](const Array& v) {
                          return std::pair{v, v};
                        },
                        [](const Array&, const Array& dy) {
                          return std::pair{dy, dy};
                        })(x);
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

// CASE 8: expect "gnomon: a tangent is a tree like what moves, or gnomon::none; several arguments"
#ifdef CASE_8
auto bad(const Array& x, const Array& y) {
  return gn::jvp([](const Array& a, const Array& b) { return a * b; }, std::tuple{x, y}, x);
}
#endif

// CASE 9: expect "gnomon: a tangent is a tree like what moves, or gnomon::none; several arguments"
#ifdef CASE_9
auto bad(const Model& m, const Array& dx) { return gn::hvp(loss_of, m, dx); }
#endif

// CASE 10: expect "x is the argument, or all of them one by one, or a std::tuple of several"
#ifdef CASE_10
Array bad(const Array& x, const Array& y) {
  return gn::custom_jvp([](const Array& a, const Array& b) { return a * b; },
                        [](const Array& a, const Array& da) {
                          return std::pair{a, da};
                        })(x, y);
}
#endif

// CASE 11: expect "the forward pass of custom_vjp takes the arguments of the function, one by one or as"
#ifdef CASE_11
Array bad(const Array& x, const Array& y) {
  return gn::custom_vjp([](const Array& a, const Array& b) { return a * b; },
                        [](const Array& a) {
                          return std::pair{a, a};
                        },
                        [](const Array&, const Array& dy) {
                          return std::tuple{dy, dy};
                        })(x, y);
}
#endif

// CASE 12: expect "gnomon: the selector of a Jacobian gives a reference to a part of the result"
#ifdef CASE_12
Model bad(const Model& m) {
  return gn::jacrev([](const Model& a) { return a; })(m).of([](auto& y) { return y.weight; });
}
#endif

// CASE 13: expect "gnomon::tree::at: the selector gives a reference to a part; write `-> auto&`"
#ifdef CASE_13
Model bad(const Model& m, const Array& w) {
  return gn::tree::at([](auto& a) { return a.weight; }, m, w);
}
#endif

// CASE 14: expect "what replaces a part has its type, or is a function of the part that gives one"
#ifdef CASE_14
Model bad(const Model& m) {
  return gn::tree::at(
      [](auto& a) -> auto& { return a.weight; }, m, 0.5f);
}
#endif

// CASE 15: expect "gnomon::tree::at: there must be as many values as parts that the selector names"
#ifdef CASE_15
Model bad(const Model& m, const Array& w) {
  return gn::tree::at([](auto& a) { return std::tie(a.weight, a.bias); }, m, std::tuple{w});
}
#endif

// CASE 16: expect "the selector gives a const reference; take the tree as `auto& m`"
#ifdef CASE_16
Model bad(const Model& m, const Array& w) {
  return gn::tree::at(
      [](const auto& a) -> auto& { return a.weight; }, m, w);
}
#endif

// CASE 17: expect "gnomon::tree::reduce: f must take (what was made so far, const Array&)"
#ifdef CASE_17
auto bad(const Model& m) {
  return gn::tree::reduce([](const Array& a) { return a; }, m, gn::Array());
}
#endif
