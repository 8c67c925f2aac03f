// tests/engine/nn_sequential_test.cpp -- layers one after the other, with keys and states.
#include "tests/engine/nn_checks.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;

/// A state that cannot be used twice.
struct Memory {
  Array sum;
  Memory() = default;
  explicit Memory(Array s) : sum(std::move(s)) {}
  Memory(Memory&&) = default;
  Memory& operator=(Memory&&) = default;
  Memory clone() const { return Memory(sum); }
  static auto fields(auto& m) { return std::tie(m.sum); }
};

/// Adds up what went through it.
struct Summing {
  Array factor;
  std::pair<Array, Memory> operator()(const Array& x, Memory before) const {
    Memory after(before.sum + sum(x));
    return {factor * x, std::move(after)};
  }
};
/// Draws, and adds up what it drew.
struct Noisy {
  std::pair<Array, Memory> operator()(const Array& x, Memory before, Key key) const {
    const Array noise = random::normal(std::move(key), x.shape());
    return {x + noise, Memory(before.sum + sum(noise))};
  }
};

nn::Linear linear(int seed) { return nn::Linear::make(3, 3, random::key(seed)); }

TEST(NnSequential, CallsOneLayerAfterTheOther) {
  const HostArray x = test::f32(grid(3));
  const auto all = [](const Array& in) {
    const nn::Linear a = linear(1), b = linear(2);
    const nn::Sequential net{a,
                             nn::Lambda{tanh},
                             relu,
                             nn::Identity{},
                             nn::Dropout{0.5, true},
                             [](const Array& v) { return v * 2; },
                             nn::Sequential{b, nn::Lambda{}}};
    EXPECT_EQ(
        tree::leaf_paths(net),
        (std::vector<std::string>{".layers[0].weight", ".layers[0].bias",
                                  ".layers[6].layers[0].weight", ".layers[6].layers[0].bias"}));
    return std::pair{net(in), b(relu(tanh(a(in))) * 2)};
  };
  const auto both = test::run_all(all, x);
  EXPECT_EQ(both.at(0), both.at(1));
}

TEST(NnSequential, GivesLayerIKeyI) {
  const HostArray x = test::f32(grid(3));
  const auto all = [](const Array& in) {
    const nn::Dropout drop{0.5};
    const nn::Sequential net{linear(1), drop, nn::Lambda{relu}, nn::Sequential{drop}};
    const Keys keys = random::split(random::key(9), 4);
    const Array by_hand = drop(relu(drop(linear(1)(in), keys[1])), random::split(keys[3], 1)[0]);
    return std::pair{net(in, random::key(9)), by_hand};
  };
  const auto both = test::run_all(all, x);
  EXPECT_EQ(both.at(0), both.at(1));
}

TEST(NnSequential, HandsOnAState) {
  const HostArray x = test::f32(grid(3));
  const auto all = [](const Array& in) {
    const Summing twice{full({}, 2)}, thrice{full({}, 3)};
    const nn::Sequential net{twice, nn::Lambda{tanh}, nn::Sequential{thrice, nn::Identity{}}};
    auto [y, state] = net(in, Memory(zeros({})));
    const Array h = tanh(2 * in);

    const nn::Sequential noisy{twice, Noisy{}, nn::Dropout{}};
    auto [z, later] = noisy(in, std::move(state), random::key(4));
    const Keys keys = random::split(random::key(4), 3);
    const Array noise = random::normal(keys[1], {3});
    return std::tuple{y,         3 * h,
                      z,         nn::Dropout{}(2 * in + noise, keys[2]),
                      later.sum, sum(in) + sum(h) + sum(in) + sum(noise)};
  };
  const auto r = test::run_all(all, x);
  for (std::size_t i = 0; i < 6; i += 2) test::expect_near(r.at(i), r.at(i + 1), 1e-6);
}

TEST(NnSequential, IsAModelLikeAnyOther) {
  // Mapped over a batch with a key for each example, and differentiated in.
  const HostArray xs = test::f32({4, 3}, grid(12));
  const auto all = [](const Array& in) {
    const nn::Sequential net{linear(1), nn::Lambda{relu}, nn::Dropout{0.25}, linear(2)};
    const auto loss = [&](const auto& model) {
      return sum(square(vmap(model)(in, random::split(random::key(3), 4))));
    };
    const auto plain = [&](const std::pair<nn::Linear, nn::Linear>& p) {
      Array total = zeros({});
      const Keys keys = random::split(random::key(3), 4);
      for (Dim i = 0; i < 4; ++i) {
        const Keys four = random::split(keys[i], 4);
        total = total + sum(square(p.second(nn::Dropout{0.25}(relu(p.first(in[i])), four[2]))));
      }
      return total;
    };
    return std::pair{grad(loss)(net), grad(plain)(std::pair{linear(1), linear(2)})};
  };
  const auto g = test::run_all(all, xs);
  ASSERT_EQ(g.size(), 8u);
  for (std::size_t i = 0; i < 4; ++i) test::expect_near(g[i], g[4 + i]);
}

TEST(NnSequential, SaysWhichLineFedALayerTheWrongShape) {
  EXPECT_THAT(test::usage_error_of(
                  [](const Array& in) {
                    return nn::Sequential{nn::Lambda{relu}, linear(1)}(in);
                  },
                  test::counting({4})),
              HasSubstr("gnomon::nn::Linear: the input has 4 features, the layer takes 3; make the "
                        "layer for as many as it is given (nn_sequential_test.cpp:"));
  EXPECT_THAT(
      test::usage_error_of([](const Array& in) { return nn::Sequential{nn::Dropout{}}(in); },
                           test::counting({4})),
      HasSubstr("was given no key"));
}

}  // namespace
}  // namespace gnomon::testing
