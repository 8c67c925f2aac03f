// tests/engine/nn_attention_test.cpp -- attention, positions and decoding on the host reference.
#include <cmath>

#include "tests/codegen/host_random.h"
#include "tests/engine/nn_checks.h"

namespace gnomon::testing {
namespace {

using nn::MultiheadAttention;
using test::HostKey;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Truly;

constexpr int heads = 2, n = 3, m = 4, q_in = 4, k_in = 3, v_in = 2, qk = 2, vo = 3, out = 5;

/// A row of numbers after the other through weight x + bias.
Numbers rows(const double* w, const double* b, const double* x, int count, int to, int from) {
  Numbers y;
  for (int r = 0; r < count; ++r)
    for (int i = 0; i < to; ++i) {
      y.push_back(b ? b[i] : 0);
      for (int j = 0; j < from; ++j) y.back() += w[i * from + j] * x[r * from + j];
    }
  return y;
}

/// softmax(q k^T / sqrt(qk)) v of head h, for [n, heads, qk] and the like; factors of weights.
template <class Allowed, class Kept>
Numbers attended(const Numbers& q, const Numbers& k, const Numbers& v, Allowed allowed, Kept kept) {
  Numbers y(std::size_t(n * heads * vo), 0);
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < n; ++i) {
      double e[m], sum = 0;
      for (int j = 0; j < m; ++j) {
        double dot = 0;
        for (int d = 0; d < qk; ++d)
          dot +=
              q[std::size_t((i * heads + h) * qk + d)] * k[std::size_t((j * heads + h) * qk + d)];
        sum += e[j] = allowed(h, i, j) ? std::exp(dot / std::sqrt(double(qk))) : 0;
      }
      for (int j = 0; j < m; ++j)
        for (int d = 0; d < vo; ++d)
          y[std::size_t((i * heads + h) * vo + d)] +=
              kept(h, i, j) * e[j] / sum * v[std::size_t((j * heads + h) * vo + d)];
    }
  return y;
}

constexpr int numbers = heads * qk * (q_in + 1) + heads * qk * (k_in + 1) +
                        heads * vo * (v_in + 1) + out * (heads * vo + 1) + n * q_in + m * k_in +
                        m * v_in;

/// The layer and its three sequences.
template <class F>
Array with_layer(Parts part, F f) {
  const auto map = [&](Dim to, Dim from) {
    const Array w = part({to, from});
    return nn::Linear{w, part({to})};
  };
  MultiheadAttention layer;
  layer.heads = heads;
  layer.query_proj = map(heads * qk, q_in);
  layer.key_proj = map(heads * qk, k_in);
  layer.value_proj = map(heads * vo, v_in);
  layer.output_proj = map(out, heads * vo);
  const Array q = part({n, q_in}), k = part({m, k_in});
  return f(layer, q, k, part({m, v_in}));
}

template <class Allowed, class Kept>
Numbers looped(NumberParts part, Allowed allowed, Kept kept) {
  const double *wq = part(heads * qk * q_in), *bq = part(heads * qk);
  const double *wk = part(heads * qk * k_in), *bk = part(heads * qk);
  const double *wv = part(heads * vo * v_in), *bv = part(heads * vo);
  const double *wo = part(out * heads * vo), *bo = part(out);
  const double *q = part(n * q_in), *k = part(m * k_in), *v = part(m * v_in);
  const Numbers y =
      attended(rows(wq, bq, q, n, heads * qk, q_in), rows(wk, bk, k, m, heads * qk, k_in),
               rows(wv, bv, v, m, heads * vo, v_in), allowed, kept);
  return rows(wo, bo, y.data(), n, out, heads * vo);
}

bool all(int, int, int) { return true; }
bool shared(int, int i, int j) { return (i + 2 * j) % 3 != 0; }
bool own(int h, int i, int j) { return (h + i + j) % 2 == 0; }
double one(int, int, int) { return 1; }

Array mask_of(bool (*allowed)(int, int, int), bool per_head) {
  std::vector<bool> mask;
  for (int h = 0; h < (per_head ? heads : 1); ++h)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < m; ++j) mask.push_back(allowed(h, i, j));
  return reshape(array(std::vector<int>(mask.begin(), mask.end())) != 0,
                 per_head ? Shape{heads, n, m} : Shape{n, m});
}

TEST(NnAttention, GivesWhatLoopsGiveAndItsDerivatives) {
  const auto with = [](const char* name, nn::AttentionOptions (*options)(),
                       bool (*allowed)(int, int, int)) {
    return LayerCase{name, numbers,
                     [=](Parts part) {
                       return with_layer(part, [&](const MultiheadAttention& layer, const Array& q,
                                                   const Array& k, const Array& v) {
                         return layer(q, k, v, options());
                       });
                     },
                     [=](NumberParts part) { return looped(part, allowed, one); }};
  };
  const LayerCase cases[] = {
      with(
          "all", [] { return nn::AttentionOptions{}; }, all),
      with(
          "masked", [] { return nn::AttentionOptions{mask_of(shared, false)}; }, shared),
      with(
          "masked by head", [] { return nn::AttentionOptions{mask_of(own, true)}; }, own),
      with(
          "causal", [] { return nn::AttentionOptions{.causal = true}; },
          [](int, int i, int j) { return j <= i; }),
      with(
          "masked and causal",
          [] {
            return nn::AttentionOptions{mask_of([](int, int, int j) { return j != 1; }, false),
                                        true};
          },
          [](int, int i, int j) { return j <= i && j != 1; }),
  };
  for (const LayerCase& c : cases) expect_as_looped(c);
}

TEST(NnAttention, DropsWeightsByAKeyForEachHead) {
  const Numbers at = grid(numbers);
  const auto keys = HostKey(9).split(heads);
  const auto kept = [&](int h, int i, int j) {
    return keys[std::size_t(h)].uniform(n * m)[std::size_t(i * m + j)] < 0.75f ? 1 / 0.75 : 0;
  };
  const auto run = [&](bool inference) {
    return test::run(
        [&](const Array& flat) {
          return with_layer(Parts(flat), [&](MultiheadAttention layer, const Array& q,
                                             const Array& k, const Array& v) {
            layer.dropout = {.p = 0.25, .inference = inference};
            return ravel(layer(q, k, v, random::key(9)));
          });
        },
        test::f32(at));
  };
  test::expect_near(run(false), looped(NumberParts(at), all, kept));
  test::expect_near(run(true), looped(NumberParts(at), all, one));
}

TEST(NnAttention, StaysFiniteForLargeProductsAndForRowsWithoutKeys) {
  const auto f = [](const Array& x) {
    const Array q = reshape(x * 1e15, {3, 1, 2}), v = reshape(x, {3, 1, 2});
    const auto loss = [&](const Array& at) { return sum(nn::dot_product_attention(at, q, v)); };
    const Array none = nn::dot_product_attention(q, q, v, {.mask = full({3, 3}, false)});
    return std::tuple{nn::dot_product_attention(q, q, v), grad(loss)(q), none,
                      broadcast_to(mean(v, 0, {.keepdims = true}), {3, 1, 2})};
  };
  const auto r = test::run_all(f, test::f32(grid(6)));
  EXPECT_THAT(r.at(0), Each(Truly([](double y) { return std::isfinite(y); })));
  EXPECT_THAT(r.at(1), Each(Truly([](double y) { return std::isfinite(y); })));
  test::expect_near(r.at(2), r.at(3));
}

TEST(NnAttention, RotaryTurnsPairsByTheirPositions) {
  const LayerCase c{"rotary", 3 * 4,
                    [](Parts part) {
                      return nn::RotaryPositionalEmbedding{4, 100}(part({3, 4}), 5);
                    },
                    [](NumberParts part) {
                      const double* x = part(12);
                      Numbers y(12);
                      for (int p = 0; p < 3; ++p)
                        for (int i = 0; i < 2; ++i) {
                          const double angle = (p + 5) * std::pow(100, -i / 2.0);
                          const double a = x[4 * p + i], b = x[4 * p + i + 2];
                          y[std::size_t(4 * p + i)] = a * std::cos(angle) - b * std::sin(angle);
                          y[std::size_t(4 * p + i + 2)] = b * std::cos(angle) + a * std::sin(angle);
                        }
                      return y;
                    }};
  expect_as_looped(c);
}

TEST(NnAttention, DecodesStepByStepWhatCausalAttentionGives) {
  for (const bool rotary : {false, true}) {
    SCOPED_TRACE(rotary);
    const auto both = [&](const Array& x) {
      const auto layer = MultiheadAttention::make(2, 4, random::key(1),
                                                  {.use_value_bias = true, .rotary = rotary});
      const auto step = [&](const nn::KeyValueCache& cache, const Array& row) {
        auto [y, next] = layer.decode(expand_dims(row, 0), cache);
        return std::pair{next, y};
      };
      const auto [end, single] = scan(step, layer.cache(7), x);
      auto [first, cache] = layer.decode(slice_axis(x, 0, 0, 4), layer.cache(6));
      auto [second, last] = layer.decode(slice_axis(x, 0, 4, 6), cache);
      return std::tuple{ravel(layer(x, x, x, {.causal = true})), ravel(single),
                        ravel(concatenate({first, second})), stack({end.length, last.length}),
                        ravel(layer(x, x, x, {.mask = nn::causal_mask(6)}))};
    };
    const auto r = test::run_all(both, test::f32({6, 4}, grid(24)));
    test::expect_near(r.at(1), r.at(0));
    test::expect_near(r.at(2), r.at(0));
    EXPECT_EQ(r.at(3), (Numbers{6, 6}));
    EXPECT_EQ(r.at(4), r.at(0));
  }
}

TEST(NnAttention, DecodesABatchOfSequencesOfDifferentLengths) {
  const auto both = [](const Array& x) {
    const auto layer = MultiheadAttention::make(2, 4, random::key(1), {.rotary = true});
    const auto from = [&](Dim seen) {
      return layer.decode(slice_axis(x, 0, 0, seen), layer.cache(6)).second;
    };
    const nn::KeyValueCache a = from(2), b = from(4);
    const nn::KeyValueCache two{stack({a.key, b.key}), stack({a.value, b.value}),
                                stack({a.length, b.length})};
    const auto decode = [&](const Array& row, const nn::KeyValueCache& cache) {
      return layer.decode(row, cache).first;
    };
    const Array rows = stack({slice_axis(x, 0, 2, 3), slice_axis(x, 0, 4, 5)});
    const Array whole = layer(x, x, x, {.causal = true});
    return std::pair{vmap(decode)(rows, two), stack({whole[2], whole[4]})};
  };
  const auto r = test::run_all(both, test::f32({6, 4}, grid(24)));
  test::expect_near(r.at(0), r.at(1));
}

TEST(NnAttention, BeginsWithEquinoxsDrawsOfTheSameKey) {
  const auto drawn = test::run_all([] {
    return MultiheadAttention::make(2, 6, random::key(7),
                                    {.key_size = 5, .output_size = 4, .use_output_bias = true});
  });
  ASSERT_EQ(drawn.size(), 5u);
  const auto keys = HostKey(7).split(4);
  const std::size_t sizes[] = {36, 30, 36, 24};
  const double fan_in[] = {6, 5, 6, 6};
  for (std::size_t i = 0; i < 4; ++i) {
    const float limit = float(1 / std::sqrt(fan_in[i]));
    const auto draws = keys[i].split(2)[0].uniform(sizes[i], -limit, limit);
    EXPECT_EQ(drawn[i], Numbers(draws.begin(), draws.end())) << i;
  }
}

TEST(NnAttention, OfABatchIsBatchedProducts) {
  const HostArray xs = test::f32({3, 5, 4}, grid(60));
  const auto layer = [] { return MultiheadAttention::make(2, 4, random::key(1)); };
  const auto batched = [&](const Array& x) { return vmap(layer())(x); };
  const auto looped = [&](const Array& x) {
    return stack({layer()(x[0]), layer()(x[1]), layer()(x[2])});
  };
  test::expect_near(test::run(batched, xs), test::run(looped, xs));
  EXPECT_EQ(test::count_equations(test::graph_of(batched, xs), "dot_general"), 6);
}

TEST(NnAttention, SaysWhatDoesNotFit) {
  const HostArray x = test::counting({6, 4}), batch = test::counting({2, 6, 4});
  const auto with = [](nn::MultiheadAttentionOptions options, nn::AttentionOptions how = {}) {
    return [=](const Array& in) {
      return MultiheadAttention::make(2, 4, random::key(0), options)(in, in, in, how);
    };
  };
  EXPECT_THAT(test::usage_error_of(with({}), batch),
              HasSubstr("gnomon::nn::MultiheadAttention: the query is f32[2,6,4], the layer takes "
                        "[any,4]; a layer acts on one example"));
  EXPECT_THAT(test::usage_error_of(with({.key_size = 3}), x),
              HasSubstr("the key is f32[6,4], the layer takes [any,3]; pass one example of that "
                        "shape (nn_attention_test.cpp:"));
  EXPECT_THAT(test::usage_error_of(with({.dropout_p = 0.1}), x),
              HasSubstr("was given no key; pass one, layer(q, k, v, std::move(key)), or set"));
  EXPECT_THAT(test::usage_error_of(
                  [&](const Array& in) {
                    return MultiheadAttention::make(2, 4, random::key(0))(
                        in, in, in, {.mask = full({6, 5}, true)});
                  },
                  x),
              HasSubstr("the mask is bool[6,5]; it is bool[6,6] or bool[2,6,6], true where"));
  EXPECT_THAT(test::usage_error_of(
                  [&](const Array& in) {
                    return MultiheadAttention::make(2, 4, random::key(0))(in, in,
                                                                          slice_axis(in, 0, 0, 5));
                  },
                  x),
              HasSubstr("6 keys and 5 values; each key has a value"));
  EXPECT_THAT(test::usage_error_of(
                  [&](const Array& in) {
                    const auto layer = MultiheadAttention::make(2, 4, random::key(0));
                    return layer.decode(in, layer.cache(5)).first;
                  },
                  x),
              HasSubstr("6 positions for a cache of 5; make it as large as the longest sequence"));
  EXPECT_THAT(test::usage_error_of(with({.qk_size = 3, .rotary = true}), x),
              HasSubstr("heads of 3 features, and `rotary` turns them in pairs"));
  EXPECT_THAT(test::usage_error_of(
                  [](const Array& in) { return nn::dot_product_attention(in, in, in); }, x),
              HasSubstr("gnomon::nn::dot_product_attention: query f32[6,4], key f32[6,4]"));
  EXPECT_THAT(
      test::usage_error_of([](const Array& in) { return nn::RotaryPositionalEmbedding{3}(in); }, x),
      HasSubstr("a size of 3; features are turned in pairs"));
  EXPECT_THAT(test::usage_error_of([](const Array& in) { return MultiheadAttention{}(in); }, x),
              HasSubstr("`query_proj.weight` is empty; `make` draws the weights of a layer"));
}

}  // namespace
}  // namespace gnomon::testing
