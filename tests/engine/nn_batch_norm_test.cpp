// tests/engine/nn_batch_norm_test.cpp -- batch normalisation against loops over a batch, in both
// modes.
#include <cmath>

#include "gnomon/axes.h"
#include "gnomon/indexing.h"
#include "gnomon/jit.h"
#include "gnomon/nn/batch_norm.h"
#include "tests/engine/nn_checks.h"

namespace gnomon::testing {
namespace {

using nn::BatchNorm;
using nn::BatchNormMode;
using test::f32;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int examples = 3, channels = 2, places = 4;
constexpr double momentum = 0.75, eps = 1e-3;

/// {ys, state} of a batch.
std::pair<Array, State> batched(const BatchNorm& norm, const Array& xs, const State& state) {
  return vmap([&](const Array& x, State s) { return norm(x, std::move(s)); },
              {.in_axes = {0, unmapped}, .out_axes = {0, unmapped}, .axis_name = "batch"})(xs,
                                                                                           state);
}

BatchNorm inferring(BatchNorm norm) {
  norm.inference = true;
  return norm;
}

/// Inference before anything was seen, two batches, inference, and the averages.
Array layer(BatchNormMode mode, Parts parts) {
  const Array one = parts({examples, channels, 2, 2}), two = parts({examples, channels, 2, 2});
  const DType dtype = one.dtype();
  auto made = make_with_state(BatchNorm::make(
      channels, "batch", {.mode = mode, .eps = eps, .momentum = momentum, .dtype = dtype}));
  BatchNorm norm = made.model;
  norm.weight = parts({channels});
  norm.bias = parts({channels});
  const Array zero = inferring(norm)(one[0], made.state.clone()).first;
  auto [y1, s1] = batched(norm, one, made.state);
  auto [y2, s2] = batched(norm, two, s1);
  auto [y3, s3] = inferring(norm)(one[0], std::move(s2));
  const auto averages = s3.get(norm.averages);
  const Array parts_of_all[] = {
      zero, y1, y2, y3, averages.mean, averages.variance, cast(averages.batches, dtype)};
  std::vector<Array> flat;
  for (const Array& a : parts_of_all) flat.push_back(reshape(a, {-1}));
  return concatenate(flat);
}

struct Channel {
  double mean = 0, variance = 1;
};

Numbers loop(BatchNormMode mode, NumberParts parts) {
  const double* batches[] = {parts(examples * channels * places),
                             parts(examples * channels * places)};
  const double *weight = parts(channels), *bias = parts(channels);
  Channel averages[channels];
  int seen = 0;
  Numbers out;
  const auto give = [&](double x, int c, Channel by) {
    out.push_back((x - by.mean) / std::sqrt(by.variance + eps) * weight[c] + bias[c]);
  };
  const auto infer = [&] {
    for (int c = 0; c < channels; ++c) {
      Channel by = averages[c];
      if (mode == BatchNormMode::batch) {
        const double scale = seen == 0 ? 1 : 1 - std::pow(momentum, seen);
        by = {by.mean / scale, by.variance / scale};
      }
      for (int i = 0; i < places; ++i) give(batches[0][c * places + i], c, by);
    }
  };
  infer();
  for (const double* x : batches) {
    Channel now[channels];
    for (int c = 0; c < channels; ++c) {
      double total = 0, squares = 0;
      for (int e = 0; e < examples; ++e)
        for (int i = 0; i < places; ++i) total += x[(e * channels + c) * places + i];
      const double m = total / (examples * places);
      for (int e = 0; e < examples; ++e)
        for (int i = 0; i < places; ++i)
          squares += std::pow(x[(e * channels + c) * places + i] - m, 2);
      now[c] = {m, squares / (examples * places)};
      Channel& a = averages[c];
      if (mode == BatchNormMode::ema && seen == 0) {
        a = now[c];
      } else {
        a.mean += (1 - momentum) * (now[c].mean - a.mean);
        a.variance += (1 - momentum) * (now[c].variance - a.variance);
      }
    }
    ++seen;
    for (int e = 0; e < examples; ++e)
      for (int c = 0; c < channels; ++c)
        for (int i = 0; i < places; ++i)
          give(x[(e * channels + c) * places + i], c,
               mode == BatchNormMode::batch ? now[c] : averages[c]);
  }
  infer();
  for (const Channel& a : averages) out.push_back(a.mean);
  for (const Channel& a : averages) out.push_back(a.variance);
  out.push_back(seen);
  return out;
}

constexpr Dim all_numbers = 2 * examples * channels * places + 2 * channels;

TEST(BatchNorm, ModeBatchIsTheLoop) {
  expect_as_looped({"batch", all_numbers,
                    [](Parts p) { return layer(BatchNormMode::batch, std::move(p)); },
                    [](NumberParts p) { return loop(BatchNormMode::batch, std::move(p)); }});
}

TEST(BatchNorm, ModeEmaIsTheLoop) {
  expect_as_looped({"ema", all_numbers,
                    [](Parts p) { return layer(BatchNormMode::ema, std::move(p)); },
                    [](NumberParts p) { return loop(BatchNormMode::ema, std::move(p)); }});
}

TEST(BatchNorm, KeepsTheDigitsOfAveragesOfFewBatches) {
  // One batch at momentum 0.9999: the average holds one part in 10000 of what inference gives back.
  const auto mean_of = [](const Array& xs) {
    auto made = make_with_state(
        BatchNorm::make(1, "batch", {.channelwise_affine = false, .momentum = 0.9999}));
    const State state = batched(made.model, xs, made.state).second;
    // The input that inference brings to 0.
    const BatchNorm infers = inferring(made.model);
    const Array at0 = infers(zeros({1}), state.clone()).first,
                at1 = infers(ones({1}), state.clone()).first;
    return -at0 / (at1 - at0);
  };
  const Numbers got = test::run(mean_of, f32({4, 1}, {2, 4, 7, 12}));
  EXPECT_NEAR(got[0], 6.25, 1e-5);
}

TEST(BatchNorm, TakesVectorsAndHalves) {
  const auto all = [](const Array& xs) {
    auto made = make_with_state(BatchNorm::make(2, "batch", {.eps = 0}));
    auto [y, state] = batched(made.model, cast(xs, DType::f16), made.state);
    EXPECT_EQ(y.aval(), (Aval{DType::f16, {2, 2}}));
    EXPECT_EQ(state.get(made.model.averages).mean.aval(), (Aval{DType::f32, {2}}));
    return cast(y, DType::f32);
  };
  EXPECT_EQ(test::run(all, f32({2, 2}, {1, 5, 3, 1})), (Numbers{-1, 1, 1, -1}));
}

TEST(BatchNorm, SaysHowItIsMeant) {
  struct Case {
    const char* want;
    Array (*f)(const Array&);
  };
  const Case cases[] = {
      {"nn::BatchNorm: there is no vmap with the axis `batch` around, whose examples would be "
       "averaged; write vmap(f, {.in_axes = {0, unmapped}, .out_axes = {0, unmapped}, .axis_name "
       "= \"batch\"})(xs, state), or set `inference` (nn_batch_norm_test.cpp:",
       [](const Array& x) {
         auto m = make_with_state(BatchNorm::make(2, "batch"));
         return m.model(x, std::move(m.state)).first;
       }},
      {"there is no vmap with the axis `batch` around",
       [](const Array& x) {
         auto m = make_with_state(BatchNorm::make(2, "batch"));
         return vmap([&](const Array& e, State s) { return m.model(e, std::move(s)).first; },
                     {.in_axes = {0, unmapped}, .axis_name = "lot"})(stack({x, x}), m.state);
       }},
      {"nn::BatchNorm: the input is f32[2], the layer takes 3 channels along the first axis",
       [](const Array& x) {
         auto m = make_with_state(BatchNorm::make(3, "batch"));
         return m.model(x, std::move(m.state)).first;
       }},
      {"nn::BatchNorm: the momentum is 1.000000; it is how much of an average is kept, in [0, 1)",
       [](const Array& x) { return x + *BatchNorm::make(3, "batch", {.momentum = 1}).weight; }},
      {"the StateIndex of this layer holds its initial value itself; pass the model through "
       "make_with_state",
       [](const Array& x) { return BatchNorm::make(2, "batch")(x, State()).first; }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.want);
    EXPECT_THAT(test::usage_error_of(c.f, f32({1, 2})), HasSubstr(c.want));
  }
}

class BatchNormDevice : public DeviceTest {};

TEST_F(BatchNormDevice, LearnsWhileTheStateFlowsBeside) {
  auto made = make_with_state(BatchNorm::make(2, "batch", {.momentum = momentum}));
  const auto step = [](const BatchNorm& norm, State state, const Array& xs) {
    const auto loss = [](const BatchNorm& n, State s, const Array& batch) {
      auto [ys, next] = batched(n, batch, s);
      return std::pair{mean(square(ys - 1)), std::move(next)};
    };
    auto [g, next] = grad(loss, has_aux)(norm, std::move(state), xs);
    return std::pair{tree::add(norm, tree::scale(-0.25, g)), std::move(next)};
  };
  auto learn = jit(rt, step, {.name = "learn", .max_traces = 1});
  const Array xs = rt.from_host({1.0f, -4.0f, 3.0f, 8.0f}, {2, 2});
  BatchNorm norm = std::move(made.model);
  State state = std::move(made.state);
  // Weights w and biases b go by gradients w / 2 and b - 1, shared by two channels and example.
  double w = 1, b = 0;
  for (int i = 0; i < 4; ++i) {
    auto [moved, next] = learn(norm, std::move(state), xs);
    norm = std::move(moved);
    state = std::move(next);
    w -= 0.25 * w;
    b -= 0.25 * (b - 1);
  }
  for (int c = 0; c < channels; ++c) {
    EXPECT_NEAR(rt.to_host<float>(*norm.weight)[static_cast<std::size_t>(c)], w, 1e-4);
    EXPECT_NEAR(rt.to_host<float>(*norm.bias)[static_cast<std::size_t>(c)], b, 1e-4);
  }
  const auto averages = state.get(norm.averages);
  EXPECT_EQ(rt.item<int>(averages.batches), 4);
  const double kept = std::pow(momentum, 4);
  EXPECT_NEAR(rt.to_host<float>(averages.mean)[1], 2 * (1 - kept), 1e-5);
  EXPECT_NEAR(rt.to_host<float>(averages.variance)[1], kept + 36 * (1 - kept), 1e-4);
}

}  // namespace
}  // namespace gnomon::testing
