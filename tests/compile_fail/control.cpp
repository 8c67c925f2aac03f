// tests/compile_fail/control.cpp -- misuse of loops and branches that is visible in types.
#include "gnomon/control.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"

namespace gn = gnomon;
using gn::Array;

struct Newton {
  Array x, step;
};

Newton good(const Newton& start) {
  return gn::while_loop([](const Newton& s) { return s.step > 1; }, [](Newton s) { return s; },
                        start, {.max_steps = 50});
}

// CASE 1: expect "gnomon::while_loop: body must return the state type it takes"
#ifdef CASE_1
auto bad() {
  return gn::while_loop([](const Newton&) { return gn::ones({}); }, [](Newton s) { return s.x; },
                        Newton{}, {.max_steps = 1});
}
#endif

// CASE 2: expect "gnomon::while_loop: cond must return one boolean Array"
#ifdef CASE_2
auto bad() {
  return gn::while_loop([](const Newton&) { return true; }, [](Newton s) { return s; }, Newton{},
                        {.max_steps = 1});
}
#endif

// CASE 3: expect "gnomon::while_loop: a loop needs a bound; write {.max_steps = n}"
#ifdef CASE_3
auto bad() {
  return gn::while_loop([](const Newton&) { return gn::ones({}); }, [](Newton s) { return s; },
                        Newton{}, {});
}
#endif

// CASE 4: expect "gnomon::scan: body must return std::pair{carry, y}"
#ifdef CASE_4
auto bad(const Array& xs) {
  return gn::scan([](Array c, Array x) { return c + x; }, 0.0f, xs);
}
#endif

// CASE 5: expect "gnomon::scan: body must return {carry, y} with the carry type it takes"
#ifdef CASE_5
auto bad(const Array& xs) {
  return gn::scan([](Newton s, Array x) { return std::pair{s.x, x}; }, Newton{}, xs);
}
#endif

// CASE 6: expect "gnomon::cond: both branches must return the same type"
#ifdef CASE_6
auto bad(const Array& x) {
  return gn::cond(
      x > 0, [&] { return x; },
      [&] {
        return Newton{x, x};
      });
}
#endif

// CASE 7: expect "gnomon::switch_: there must be at least one branch"
#ifdef CASE_7
auto bad(const Array& x) { return gn::switch_(x, std::tuple<>{}); }
#endif

// CASE 8: expect "gnomon::fori_loop: traced bounds need a number of steps"
#ifdef CASE_8
auto bad(const Array& n) {
  return gn::fori_loop(
      0, n, [](Array i, Array v) { return v + i; }, 0);
}
#endif

// CASE 9: expect "gnomon: a traced Array has no value while tracing; use where / cond / while_loop"
#ifdef CASE_9
auto bad(const Array& x) {
  if (static_cast<bool>(x > 0)) return x;
  return -x;
}
#endif

// CASE 10: expect "gnomon::fori_loop: body must take (Array i, state)"
#ifdef CASE_10
auto bad(const Array& x) {
  return gn::fori_loop(
      0, 3, [](Array v) { return v; }, x);
}
#endif

// CASE 11: expect "gnomon::fori_loop: traced bounds need a number of steps"
#ifdef CASE_11
auto bad(const Array& n) {
  return gn::fori_loop(0, n, [](Array i, Array v) { return v + i; }, 0, {.unroll = 2});
}
#endif

// CASE 12: expect "gnomon::while_loop_counted: cond must return one boolean Array"
#ifdef CASE_12
auto bad() {
  return gn::while_loop_counted([](const Newton&) { return true; }, [](Newton s) { return s; },
                                Newton{}, {.max_steps = 1});
}
#endif

// CASE 13: expect "gnomon::map_each: f must take one element"
#ifdef CASE_13
auto bad(const Array& xs) {
  return gn::map_each([](Newton s) { return s; }, xs);
}
#endif
