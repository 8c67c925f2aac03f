// tests/compile_fail/state.cpp -- misuse of gnomon/state.h.
#include "gnomon/state.h"

#include "gnomon/gnomon.h"

namespace gn = gnomon;
using gn::Array;
using gn::State;

struct Counter {
  gn::StateIndex<> calls;
  std::pair<Array, State> operator()(const Array& x, State state) const {
    const Array n = state.get(calls) + 1;
    return {x, std::move(state).set(calls, n)};
  }
};
struct Net {
  Array weight;
  Counter counter;
};

std::pair<Array, State> good(const Net& net, const Array& x, State state) {
  const auto loss = [](const Net& n, const Array& e, State s) {
    return n.counter(n.weight * e, std::move(s));
  };
  auto [g, next] = gn::grad(loss, gn::has_aux)(net, x, state);
  return net.counter(g.weight, std::move(next));
}

// CASE 1: expect "gnomon::State: a state is used once, and this would be a copy of it. Write"
#ifdef CASE_1
std::pair<Array, State> bad(const Net& net, const Array& x, State state) {
  return net.counter(x, state);
}
#endif

// CASE 2: expect "used twice? go on with the State that a call gives back"
#ifdef CASE_2
std::pair<Array, State> bad(const Net& net, const Array& x, const State& state) {
  return net.counter(x, state);
}
#endif

// CASE 3: expect "gnomon: what is differentiated in holds a State, which no gradient reaches"
#ifdef CASE_3
State bad(const Net& net, State state) {
  return gn::grad([&](const State& s) { return s.get(net.counter.calls); })(state);
}
#endif

// CASE 4: expect "gradients are of parameters. Pass the model first and the state behind it"
#ifdef CASE_4
auto bad(const Net& net, State state) {
  return gn::grad([](const Net& n, const State& s) { return n.weight * s.get(n.counter.calls); })(
      std::tie(net, state));
}
#endif

// CASE 5: expect "gnomon::State::set: gives a new state and takes the old one over; write"
#ifdef CASE_5
State bad(const Net& net, State state, const Array& n) { return state.set(net.counter.calls, n); }
#endif

// CASE 6: expect "gnomon: what is differentiated in holds a State, which no gradient reaches"
#ifdef CASE_6
struct Both {
  Net net;
  std::vector<State> states;
};
auto bad(const Both& both) {
  return gn::vjp([](const Both& b) { return b.net.weight; }, both);
}
#endif
