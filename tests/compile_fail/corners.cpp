// tests/compile_fail/corners.cpp -- what first users write and must not, and the words they meet.
#include <algorithm>
#include <tuple>
#include <utility>

#include "gnomon/control.h"
#include "gnomon/jit.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "gnomon/random.h"
#include "gnomon/transform.h"

namespace gn = gnomon;
using gn::Array;

struct State {
  Array x, v;
};

Array below(const State& s) { return gn::sum(s.v) < 1; }

// Both scans take `kind`; the one of dynamic length is meant where a length is given.
auto good(const Array& xs, const Array& n) {
  const auto body = [](Array c, Array x) { return std::pair{c + x, c}; };
  auto fixed = gn::scan(body, 0.0f, xs, {.kind = gn::LoopKind::stored});
  auto plain = gn::scan(body, 0.0f, xs, {});
  auto dynamic = gn::scan(body, 0.0f, xs, {.length = n, .kind = gn::LoopKind::stored});
  return std::tuple{fixed.first, plain.second, dynamic.rows, gn::max(xs, 0), gn::min(xs, {0, 1})};
}

// CASE 1: expect "gnomon::while_loop: the bound is missing; write {.max_steps = n} behind"
#ifdef CASE_1
auto bad(const State& s) {
  return gn::while_loop(
      below, [](State t) { return t; }, s);
}
#endif

// CASE 2: expect "gnomon::while_loop: a loop needs a bound; write {.max_steps = n}"
#ifdef CASE_2
auto bad(const State& s) {
  return gn::while_loop(below, [](State t) { return t; }, s, {.kind = gn::LoopKind::stored});
}
#endif

// CASE 3: expect "gnomon::while_loop_counted: the bound is missing; write {.max_steps = n}"
#ifdef CASE_3
auto bad(const State& s) {
  return gn::while_loop_counted(
      below, [](State t) { return t; }, s);
}
#endif

// CASE 4: expect "the larger one of each pair is gnomon::maximum(a, b)"
#ifdef CASE_4
Array bad(const Array& x, const Array& y) { return max(x, y); }
#endif

// CASE 5: expect "the smaller one of each pair is gnomon::minimum(a, b)"
#ifdef CASE_5
Array bad(const Array& x) { return gn::min(0.5f, x); }
#endif

// CASE 6: expect "the larger one of each pair is gnomon::maximum(a, b)"
#ifdef CASE_6
Array bad(const Array& x) { return gn::max(x, 0.0); }
#endif

// CASE 7: expect "for std::max, std::min and std::clamp write maximum, minimum and clip"
#ifdef CASE_7
Array bad(const Array& x, const Array& y) { return std::max(x, y); }
#endif

// CASE 8: expect "gnomon: clamp of arrays is gnomon::clip(x, lo, hi)"
#ifdef CASE_8
Array bad(const Array& x) { return clamp(x, 0, 1); }
#endif

// CASE 9: expect "gnomon: fabs of arrays is gnomon::abs(x)"
#ifdef CASE_9
Array bad(const Array& x) { return fabs(x); }
#endif

// CASE 10: expect "Take Array or const Array& (T or const T&), and return the new value"
#ifdef CASE_10
auto bad(const Array& x) {
  return gn::while_loop([](const Array& v) { return v < 1; },
                        [](Array& v) {
                          v += 1;
                          return v;
                        },
                        x, {.max_steps = 9});
}
#endif

// CASE 11: expect "Take Array or const Array& (T or const T&), and return the new value"
#ifdef CASE_11
auto bad(const State& s) {
  return gn::fori_loop(
      0, 3, [](const Array&, State& t) { return t; }, s);
}
#endif

// CASE 12: expect "Take Array or const Array& (T or const T&), and return the new value"
#ifdef CASE_12
auto bad(const Array& xs) {
  return gn::scan([](Array& c, const Array& x) { return std::pair{c + x, c}; }, 0.0f, xs);
}
#endif

// CASE 13: expect "Take Array or const Array& (T or const T&), and return the new value"
#ifdef CASE_13
auto bad(const Array& x) {
  return gn::cond(
      gn::sum(x) > 0, [](Array& v) { return v; }, [](const Array& v) { return -v; }, x);
}
#endif

// CASE 14: expect "Take Array or const Array& (T or const T&), and return the new value"
#ifdef CASE_14
Array bad(const Array& xs) {
  return gn::vmap([](Array& x) { return x * x; })(xs);
}
#endif

// CASE 15: expect "Take Array or const Array& (T or const T&), and return the new value"
#ifdef CASE_15
Array bad(const Array& x) {
  return gn::grad([](Array& v) { return gn::sum(v); })(x);
}
#endif

// CASE 16: expect "Take Array or const Array& (T or const T&), and return the new value"
#ifdef CASE_16
auto bad(const State& s) {
  return gn::while_loop([](State& t) { return gn::sum(t.v) < 1; }, [](State t) { return t; }, s,
                        {.max_steps = 9});
}
#endif

// CASE 17: expect "Take Array or const Array& (T or const T&), and return the new value"
#ifdef CASE_17
auto bad(const Array& x) {
  return gn::jvp([](auto& v) { return v * v; }, x, x);
}
#endif

// CASE 18: expect "gnomon::Key: a key gives one draw, and this would be its second use."
#ifdef CASE_18
Array bad(gn::Key key) { return gn::random::normal(key, {3}) + gn::random::uniform(key, {3}); }
#endif

// CASE 19: expect "used twice? random::split makes new keys, clone() the same draws"
#ifdef CASE_19
Array bad(const gn::Key& key) { return gn::random::normal(key, {3}); }
#endif

// CASE 20: expect "used twice? random::split makes new keys, clone() the same draws"
#ifdef CASE_20
struct Sampler {
  gn::Key key;
  Array mean;
};
Sampler bad(Sampler& s) { return s; }
#endif

// CASE 21: expect "Take Array or const Array& (T or const T&), and return the new value"
#ifdef CASE_21
auto bad(gn::Runtime& rt, const Array& x) {
  return gn::jit(rt, [](Array& v) { return v * v; })(x);
}
#endif
