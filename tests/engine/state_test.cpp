// tests/engine/state_test.cpp -- State: what layers remember passes through every transform, and is
// used once.
#include "gnomon/state.h"

#include "gnomon/axes.h"
#include "gnomon/checkpoint.h"
#include "gnomon/jit.h"
#include "gnomon/loops.h"
#include "gnomon/random.h"
#include "gnomon/tree_ops.h"
#include "tests/codegen/graph_host.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using test::f32;
using test::Numbers;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// x times a weight; counts its calls and sums what it was given.
struct Meter {
  struct Seen {
    Array calls, total;
  };
  Array weight;
  StateIndex<Seen> seen;

  static Meter make(double weight) {
    return {full({}, weight), StateIndex(Seen{zeros({}, DType::i32), zeros({})})};
  }
  std::pair<Array, State> operator()(const Array& x, State state, Loc loc = Loc::here()) const {
    const Seen before = state.get(seen, loc);
    State next = std::move(state).set(seen, {before.calls + 1, before.total + sum(x)}, loc);
    return {weight * x, std::move(next)};
  }
};

struct Net {
  Meter first;
  std::vector<Meter> rest;
  std::pair<Array, State> operator()(const Array& x, State state) const {
    auto [y, next] = first(x, std::move(state));
    for (const Meter& m : rest) std::tie(y, next) = m(y, std::move(next));
    return {std::move(y), std::move(next)};
  }
};
Net net() { return {Meter::make(2), {Meter::make(3), Meter::make(-1)}}; }

template <class F>
std::string message(F f) {
  return test::usage_error_of(f, f32(0));
}

TEST(State, HoldsWhatTheModelBeginsWithByItsPlaces) {
  auto made = make_with_state(net());
  EXPECT_THAT(made.state.places(), ElementsAre("first.seen", "rest[0].seen", "rest[1].seen"));
  EXPECT_THAT(tree::leaf_paths(made.model),
              ElementsAre(".first.weight", ".rest[0].weight", ".rest[1].weight"));
  EXPECT_EQ(tree::leaf_paths(made.state)[3], ".entries.rest[0].seen.values[1]");
  EXPECT_EQ(made.model.rest[1].seen.place(), "rest[1].seen");
  EXPECT_EQ(tree::leaf_count(State(net())), 6u);
  // Made again it is the same to jit.
  auto again = make_with_state(net());
  EXPECT_EQ(signature_of(made.model, made.state), signature_of(again.model, again.state));
  EXPECT_TRUE(make_with_state(Meter{}.weight).state.places().empty());
  // By a function, with its arguments; a layer by itself has no path.
  auto one = make_with_state(Meter::make, 2.0);
  EXPECT_THAT(one.state.places(), ElementsAre("seen"));
  EXPECT_THAT(make_with_state(StateIndex(zeros({}))).state.places(), ElementsAre(""));
}

TEST(State, GoesThroughLayersAndSubstates) {
  const auto all = [](const Array& x) {
    auto made = make_with_state(net());
    auto [y, state] = made.model(x, std::move(made.state));
    // The part of one layer, updated apart from the rest.
    State part = state.substate(made.model.rest[0]);
    EXPECT_EQ(part.places().size(), 1u);
    auto [z, used] = made.model.rest[0](y, std::move(part));
    state = std::move(state).update(std::move(used));
    const auto a = state.get(made.model.first.seen), b = state.get(made.model.rest[0].seen),
               c = state.get(made.model.rest[1].seen);
    return concatenate({reshape(y, {-1}), stack({a.total, b.total, c.total}),
                        cast(stack({a.calls, b.calls, c.calls}), DType::f32)});
  };
  // y = -6x; totals: 3, 2 * 3 + 6 * -3, 6 * 3.
  EXPECT_EQ(test::run(all, f32({1, 2})), (Numbers{-6, -12, 3, 6 - 18, 18, 1, 2, 1}));
}

TEST(State, PassesLoopsVmapGradAndCheckpoint) {
  const auto all = [](const Array& x) {
    auto made = make_with_state(Meter::make(2));
    const auto& model = made.model;
    const auto body = [&](State s, const Array& e) { return model(e, std::move(s)).second; };
    State scanned = scan(
                        [&](State s, const Array& e) {
                          auto [y, next] = model(e, std::move(s));
                          return std::pair{std::move(next), y};
                        },
                        made.state.clone(), x)
                        .first;
    scanned = while_loop([&](const State& s) { return s.get(model.seen).calls < 10; },
                         [&](State s) { return body(std::move(s), full({}, 0.5)); },
                         std::move(scanned), {.max_steps = 20});
    scanned = fori_loop(
        0, 2, [&](Array, State s) { return body(std::move(s), full({}, 0.25)); },
        std::move(scanned));
    const auto many = vmap(
        [&](const Array& e, State s) {
          auto [y, next] = model(pmean(e, "batch"), std::move(s));
          return std::pair{y, std::move(next)};
        },
        {.in_axes = {0, unmapped}, .out_axes = {0, unmapped}, .axis_name = "batch"});
    auto [ys, after] = many(x, scanned);
    const auto loss = [&](const Meter& m, State s, const Array& e) {
      auto [y, next] = checkpoint([](const Meter& k, const Array& a, State t) {
        return k(a, std::move(t));
      })(m, e, std::move(s));
      return std::pair{sum(y), std::move(next)};
    };
    auto [g, end] = grad(loss, has_aux)(model, after, x);
    EXPECT_EQ(tree::leaf_count(g), 1u);
    const auto seen = end.get(model.seen);
    return stack({cast(seen.calls, DType::f32), seen.total, g.weight, sum(ys)});
  };
  // Calls: 3 of the scan, 7 up to 10, 2, 1 of the batch (the mean), 1.
  EXPECT_EQ(test::run(all, f32({1, 2, 6})),
            (Numbers{14, 9 + 7 * 0.5 + 2 * 0.25 + 3 + 9, 9, 3 * 2 * 3}));
}

TEST(State, ValuesMayBeTreesWithKeysAndMayBeStacked) {
  struct Noise {
    StateIndex<std::pair<Key, std::optional<Array>>> memory;
  };
  const auto draws = [](const Array&) {
    auto made = make_with_state(
        Noise{StateIndex(std::pair<Key, std::optional<Array>>{random::key(3), zeros({})})});
    auto memory = made.state.get(made.model.memory);
    auto [a, b] = random::split<2>(std::move(memory.first));
    State next = std::move(made.state)
                     .set(made.model.memory, {std::move(a), random::uniform(std::move(b), {})});
    return *next.get(made.model.memory).second;
  };
  const auto direct = [](const Array&) {
    auto [a, b] = random::split<2>(random::key(3));
    return random::uniform(std::move(b), {});
  };
  EXPECT_EQ(test::run(draws, f32(0)), test::run(direct, f32(0)));

  // Models side by side have states side by side.
  const auto stacked = [](const Array& x) {
    auto made = vmap([](const Array& w) {
      auto one = make_with_state(Meter::make(1));
      one.model.weight = w;
      return one;
    })(x);
    auto [y, next] = vmap([](const Meter& m, State s) { return m(m.weight, std::move(s)); })(
        made.model, made.state);
    return stack({y, next.get(made.model.seen).total});
  };
  EXPECT_EQ(test::run(stacked, f32({2, 3})), (Numbers{4, 9, 2, 3}));
}

TEST(State, SaysWhereAnOldOneWasUsed) {
  // The counter goes back: what Equinox calls the old state.
  const int line = __LINE__ + 4;
  const std::string twice = message([](const Array& x) {
    auto made = make_with_state(Meter::make(2));
    // The two uses.
    auto [y, next] = made.model(x, std::move(made.state));
    return made.model(y, std::move(made.state)).first;
  });
  EXPECT_THAT(
      twice,
      AllOf(HasSubstr("gnomon::State::get: `seen` is asked of a state that was used"),
            HasSubstr("`seen` was updated from it (state_test.cpp:" + std::to_string(line) + ")"),
            HasSubstr("go on with the State that came back (state_test.cpp:" +
                      std::to_string(line + 1) + ")")));
  int away = 0;
  const std::string moved = message([&](const Array& x) {
    auto made = make_with_state(Meter::make(2));
    away = __LINE__ + 1;
    const State other = std::move(made.state);
    return x + made.state.get(made.model.seen).total;
  });
  EXPECT_THAT(moved, HasSubstr("it was moved away (state_test.cpp:" + std::to_string(away)));
  const std::string mapped = message([&](const Array& x) {
    auto made = make_with_state(Meter::make(2));
    away = __LINE__ + 1;
    const State other = std::move(made.state);
    return vmap([&](const Array& e, State s) { return made.model(e, std::move(s)).first; },
                {.in_axes = {0, unmapped}})(stack({x, x}), made.state);
  });
  EXPECT_THAT(mapped, AllOf(HasSubstr("State::clone: this state was used before"),
                            HasSubstr("state_test.cpp:" + std::to_string(away))));
}

TEST(State, SaysWhatDoesNotFit) {
  struct Case {
    const char* want;
    Array (*f)(const Array&);
  };
  const Case cases[] = {
      {"State::set: `seen.total` is f32[] in the state and f32[2] in the new value; a state keeps",
       [](const Array& x) {
         auto m = make_with_state(Meter::make(1));
         return std::move(m.state)
                    .set(m.model.seen, {zeros({}, DType::i32), ones({2})})
                    .get(m.model.seen)
                    .total +
                x;
       }},
      {"`seen.calls` is i32[] in the state and f32[] in the new value",
       [](const Array& x) {
         auto m = make_with_state(Meter::make(1));
         return std::move(m.state).set(m.model.seen, {x, x}).get(m.model.seen).total;
       }},
      {"`seen.calls` is i32[] in the state and empty in the new value",
       [](const Array& x) {
         auto m = make_with_state(Meter::make(1));
         return std::move(m.state).set(m.model.seen, {Array(), x}).get(m.model.seen).total;
       }},
      {"the layer's value is 2 elements in the state and 1 element in the new value",
       [](const Array& x) {
         auto m = make_with_state(StateIndex(std::vector<Array>{x, x}));
         return std::move(m.state).set(m.model, {x}).get(m.model)[0];
       }},
      {"State: `first.seen` has no initial value any more, make_with_state took it out",
       [](const Array& x) {
         auto m = make_with_state(net());
         return State(m.model).get(m.model.first.seen).total + x;
       }},
      {"make_with_state: `model.rest[0].seen` has no initial value any more",
       [](const Array& x) {
         struct Outer {
           Net model;
         };
         auto m = make_with_state(Meter::make(2));
         auto outer = make_with_state(Outer{{Meter::make(1), {m.model}}});
         return outer.state.get(m.model.seen).total + x;
       }},
      {"State::get: `rest[0].seen` is not in this state, which has `seen`; make_with_state gives",
       [](const Array& x) {
         auto a = make_with_state(net());
         auto b = make_with_state(Meter::make(1));
         return b.state.get(a.model.rest[0].seen).total + x;
       }},
      {"State::get: the layer's value is 1 array in this state and 2 in the model",
       [](const Array& x) {
         auto a = make_with_state(StateIndex(x));
         auto b = make_with_state(StateIndex(std::pair{x, x}));
         return a.state.get(b.model).first;
       }},
      {"the StateIndex of this layer holds its initial value itself; pass the model through",
       [](const Array& x) { return State().get(Meter::make(1).seen).total + x; }},
      {"make_with_state: `seen` begins with an empty Array; give its StateIndex a value",
       [](const Array& x) {
         auto m = make_with_state(Meter{});
         return m.state.get(m.model.seen).total + x;
       }},
      {"State::update: `rest[1].seen` is not in this state, which has `seen`",
       [](const Array& x) {
         auto a = make_with_state(net());
         auto b = make_with_state(Meter::make(1));
         State part = a.state.substate(a.model.rest[1]);
         return std::move(b.state).update(std::move(part)).get(b.model.seen).total + x;
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.want);
    EXPECT_THAT(message(c.f), HasSubstr(c.want));
  }
}

class StateDevice : public DeviceTest {};

TEST_F(StateDevice, IsAnArgumentAndAResultOfJit) {
  auto made = make_with_state(Meter::make(2));
  const auto step = [](const Meter& m, const Array& x, State s) { return m(x, std::move(s)); };
  auto run = jit(rt, step, {.name = "step", .max_traces = 1});
  State state = std::move(made.state);
  const Array x = rt.from_host({1.0f, 2.0f});
  for (int i = 0; i < 3; ++i) {
    auto [y, next] = run(made.model, x, std::move(state));
    EXPECT_EQ(rt.to_host<float>(y), (std::vector<float>{2, 4}));
    state = std::move(next);
  }
  EXPECT_EQ(rt.item<float>(state.get(made.model.seen).total), 9);
  // Kept on purpose, and made again: no further trace.
  auto again = make_with_state(Meter::make(5));
  run(again.model, x, state.clone());
  const int line = __LINE__ + 1;
  run(again.model, x, std::move(state));
  EXPECT_EQ(run.cache_info().traces, 1u);
  const std::string old = usage_message([&] { state.get(made.model.seen); });
  EXPECT_THAT(old, AllOf(HasSubstr("`seen` is asked of a state that was used before"),
                         HasSubstr("moved away (state_test.cpp:" + std::to_string(line))));
  EXPECT_THAT(
      usage_message([&] { run(made.model, x, std::move(state)); }),
      AllOf(HasSubstr(
                "gnomon::State: this state was used before: it was moved away (state_test.cpp:" +
                std::to_string(line)),
            HasSubstr("came back (state_test.cpp:")));
}

}  // namespace
}  // namespace gnomon::testing
