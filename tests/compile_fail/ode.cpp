// tests/compile_fail/ode.cpp -- misuse of diffeqsolve that is visible in types.
#include "gnomon/ode.h"
#include "gnomon/ops.h"

namespace gn = gnomon;
using gn::Array;
using gn::None;

struct State {
  Array x, v;
};

auto good(const State& start) {
  const gn::ode::OdeTerm field{[](const Array&, const State& s, const None&) {
    return State{s.v, -s.x};
  }};
  return gn::ode::diffeqsolve(field, gn::ode::Tsit5(), 0.0, 1.0, 0.1, start);
}

// CASE 1: expect "gnomon::ode: a vector field must return the type of the state y0"
#ifdef CASE_1
auto bad(const State& start) {
  const gn::ode::OdeTerm field{[](const Array&, const State& s, const None&) { return s.v; }};
  return gn::ode::diffeqsolve(field, gn::ode::Tsit5(), 0.0, 1.0, 0.1, start);
}
#endif

// CASE 2: expect "gnomon::ode: a vector field is called with (const Array& t, const Y& y"
#ifdef CASE_2
auto bad(const State& start) {
  const gn::ode::OdeTerm field{[](const State& s) { return s; }};
  return gn::ode::diffeqsolve(field, gn::ode::Tsit5(), 0.0, 1.0, 0.1, start);
}
#endif

// CASE 3: expect "gnomon::ode: a controller needs both tolerances"
#ifdef CASE_3
gn::ode::PidController bad() { return {.rtol = 1e-3}; }
#endif

// CASE 4: expect "gnomon::ode::event: a condition gives one Array"
#ifdef CASE_4
auto bad(const State& start) {
  const gn::ode::OdeTerm field{[](const Array&, const State& s, const None&) { return s; }};
  return gn::ode::diffeqsolve(
      field, gn::ode::Tsit5(), 0.0, 1.0, 0.1, start, gn::none, {},
      gn::ode::event([](const Array&, const State&, const None&) { return true; }));
}
#endif

// CASE 5: expect "gnomon::ode::ControlTerm: behind the path comes Ito{} or Stratonovich{}"
#ifdef CASE_5
auto bad(const gn::ode::IndexedBrownianPath<Array>& path) {
  const auto field = [](const Array&, const State& s, const None&) { return s; };
  return gn::ode::ControlTerm(field, path, 1);
}
#endif

// CASE 6: expect "PartitionedTerm: the state has two members, {p, q}"
#ifdef CASE_6
auto bad(const Array& start) {
  const auto same = [](const Array&, const Array& a, const None&) { return a; };
  const gn::ode::PartitionedTerm term(gn::ode::OdeTerm{same}, gn::ode::OdeTerm{same});
  return gn::ode::diffeqsolve(term, gn::ode::VelocityVerlet(), 0.0, 1.0, 0.1, start);
}
#endif

// CASE 7: expect "PartitionedTerm: a vector field must return the type of the member"
#ifdef CASE_7
auto bad(const State& start) {
  const auto same = [](const Array&, const Array& a, const None&) { return a; };
  const auto both = [](const Array&, const Array& a, const None&) { return State{a, a}; };
  const gn::ode::PartitionedTerm term(gn::ode::OdeTerm{both}, gn::ode::OdeTerm{same});
  return gn::ode::diffeqsolve(term, gn::ode::VelocityVerlet(), 0.0, 1.0, 0.1, start);
}
#endif

// CASE 8: expect "ConstantStepSize"
#ifdef CASE_8
gn::ode::ClipStepSize bad() { return {gn::ode::ConstantStepSize{}, {0.25}}; }
#endif
