// tests/engine/train_test.cpp -- training loops on the device: order of batches, resuming bit for
// bit, damaged checkpoints.
#include "gnomon/train.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <thread>

#include "gnomon/ops.h"
#include "gnomon/optim.h"
#include "tests/engine/fixture.h"
#include "tests/support/temporary_folder.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;
using train::Rows;

class Train : public DeviceTest {};

struct Line {
  Array slope, offset;
};
struct Batch {
  Array x, y;
};
struct Learner {
  Line line;
  optim::State<Line> optimiser;
  Key noise;
};

constexpr int examples = 10, steps = 7;

std::vector<io::FileArray> data() {
  std::vector<float> x, y;
  for (int i = 0; i < examples; ++i) {
    x.push_back(float(i) / 5 - 1);
    y.push_back(1.5f * x.back() - 0.5f);
  }
  return {train::host_array(x, {examples}), train::host_array(y, {examples})};
}

const auto optimiser = [] { return optim::adamw(optim::cosine_decay(0.1, 20)); };

Learner start(Runtime& rt) {
  return jit(rt, [](Key key) {
    const Line line{full({}, 0.25f), full({}, 0.75f)};
    return Learner{line, optimiser().init(line), std::move(key)};
  })(rt.key(3));
}

auto step_of(Runtime& rt) {
  return jit(rt,
             [](Learner l, const Batch& b) {
               auto [now, later] = random::split<2>(std::move(l.noise));
               const Array noise = 0.01f * random::normal(std::move(now), b.x.shape());
               const auto loss = [&](const Line& p) {
                 return mean(optim::squared_error(p.slope * b.x + p.offset, b.y + noise));
               };
               const auto both = value_and_grad(loss)(l.line);
               auto [u, next] = optimiser().update(both.grad, l.optimiser, l.line);
               return std::pair{
                   Learner{optim::apply_updates(l.line, u), std::move(next), std::move(later)},
                   both.value};
             },
             {.name = "step", .max_traces = 1});
}

template <class T>
std::vector<std::byte> bits(Runtime& rt, const T& tree) {
  std::vector<std::byte> all;
  for (const Array& a : tree::leaves(tree)) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(a.size()) * size_of(a.dtype()));
    rt.to_bytes(a, bytes);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

TEST_F(Train, ARunThatWasBrokenOffGoesOnBitForBit) {
  const auto step = step_of(rt);
  const train::FeederOptions order{.batch = 3, .seed = 5};
  train::Feeder<Batch> whole(rt, data(), order);
  const auto want = bits(rt, train::loop(rt, step, start(rt), whole, {.steps = steps}));
  for (int broken = 0; broken <= steps; ++broken) {
    SCOPED_TRACE(broken);
    const TemporaryFolder folder;
    const train::Checkpoints checkpoints(folder.path.string());
    {
      train::Feeder<Batch> feeder(rt, data(), order);
      train::loop(rt, step, start(rt), feeder, {.steps = broken, .save_every = 2}, &checkpoints);
    }
    train::Feeder<Batch> feeder(rt, data(), order);
    EXPECT_EQ(bits(rt, train::loop(rt, step, start(rt), feeder, {.steps = steps}, &checkpoints)),
              want);
    EXPECT_EQ(checkpoints.steps().back(), steps);
    EXPECT_LE(checkpoints.steps().size(), 2u);
  }
}

TEST_F(Train, ACancelledRunGoesOnBitForBit) {
  const auto step = step_of(rt);
  train::Feeder<Batch> whole(rt, data(), {.batch = 3}), feeder(rt, data(), {.batch = 3});
  const auto want = bits(rt, train::loop(rt, step, start(rt), whole, {.steps = steps}));
  const TemporaryFolder folder;
  const train::Checkpoints checkpoints(folder.path.string());
  const CancelToken token;
  std::vector<std::string> lines;
  train::LoopOptions options{.steps = steps, .report_every = 2};
  options.on_report = [&](std::string_view line) { lines.emplace_back(line); };
  options.on_step = [&](const Progress& p) {
    EXPECT_EQ(p.bound, std::uint64_t(steps));
    if (p.steps == 4) token.cancel();
  };
  options.cancel_with = token;
  try {
    train::loop(rt, step, start(rt), feeder, options, &checkpoints);
    FAIL() << "it ran to its end";
  } catch (const Cancelled& e) {
    EXPECT_THAT(e.what(), HasSubstr("cancelled after 4 of 7 steps"));
  }
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[1], HasSubstr("step 4 of 7: loss "));
  EXPECT_THAT(lines[1], HasSubstr(" steps/s"));
  EXPECT_EQ(checkpoints.steps(), std::vector<std::int64_t>{4});
  EXPECT_EQ(bits(rt, train::loop(rt, step, start(rt), feeder, {.steps = steps}, &checkpoints)),
            want);
}

TEST_F(Train, ACheckpointBehindTheLastStepIsRefused) {
  const auto step = step_of(rt);
  const TemporaryFolder folder;
  const train::Checkpoints checkpoints(folder.path.string());
  train::Feeder<Batch> feeder(rt, data(), {.batch = 3});
  const auto run = [&](std::int64_t to) {
    return bits(rt, train::loop(rt, step, start(rt), feeder, {.steps = to}, &checkpoints));
  };
  const auto whole = run(5);
  EXPECT_THAT(usage_message([&] { run(3); }),
              HasSubstr("gnomon::train::loop: the newest checkpoint is of step 5, and the run ends "
                        "at step 3; allow that many steps, use another folder"));
  EXPECT_EQ(checkpoints.steps(), std::vector<std::int64_t>{5});
  EXPECT_EQ(run(5), whole);
}

TEST_F(Train, DamagedCheckpointsAreRefusedAndTheLastGoodOneTaken) {
  struct Mixed {
    Array a, flags;
    std::vector<Array> more;
  };
  const auto made = [&](float x) {
    return Mixed{rt.from_host({x, 2.0f, 3.0f}),
                 rt.from_host(std::vector<bool>{true, false, true}),
                 {rt.from_host({7, 8})}};
  };
  const TemporaryFolder folder;
  const train::Checkpoints checkpoints(folder.path.string());
  EXPECT_FALSE(checkpoints.restore(rt, made(0)).has_value());
  checkpoints.save(rt, 10, made(1), "a");
  checkpoints.save(rt, 20, made(2), "a");
  const auto good = checkpoints.restore(rt, made(0), "a");
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(good->step, 20);
  EXPECT_EQ(bits(rt, good->tree), bits(rt, made(2)));
  EXPECT_TRUE(good->refused.empty());

  std::string whole;
  {
    std::ifstream in(checkpoints.path(20), std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string bytes = whole;
    const std::size_t at = random() % bytes.size();
    if (i % 4 == 0)
      bytes.resize(at);
    else
      bytes[at] = char(bytes[at] ^ char(i % 2 == 0 ? 1u << random() % 8 : 1 + random() % 255));
    std::ofstream(checkpoints.path(20), std::ios::binary | std::ios::trunc) << bytes;
    const auto found = checkpoints.restore(rt, made(0), "a");
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->step, 10) << "byte " << at << " of damage " << i;
    EXPECT_EQ(bits(rt, found->tree), bits(rt, made(1)));
    ASSERT_EQ(found->refused.size(), 1u);
    EXPECT_THAT(found->refused[0], HasSubstr("step_000000000020.safetensors "));
  }
  // A file that was not finished is none.
  std::ofstream(checkpoints.path(30) + ".part") << "half";
  EXPECT_EQ(checkpoints.steps(), (std::vector<std::int64_t>{10, 20}));
  const auto refusal = [&](const auto& like, const std::string& run) -> std::string {
    try {
      checkpoints.restore(rt, like, run);
    } catch (const FileError& e) {
      return e.what();
    }
    return "no FileError";
  };
  EXPECT_THAT(refusal(made(0), "b"), HasSubstr("is of another run: `a`, and this one is `b`"));
  EXPECT_THAT(refusal(Line{made(0).a, made(0).a}, "a"), HasSubstr("has 3 arrays, and the tree 2"));
  Mixed other = made(0);
  other.a = rt.from_host({1.0f});
  EXPECT_THAT(refusal(other, "a"), HasSubstr("has `a` of type f32[3], which is f32[1]"));
  std::ofstream(checkpoints.path(10), std::ios::binary | std::ios::trunc) << "no";
  EXPECT_THAT(refusal(made(0), "a"), HasSubstr("is good"));
  EXPECT_THAT(usage_message([&] { train::Checkpoints(folder.path.string(), {.keep = 0}); }),
              HasSubstr("keep 1 checkpoint or more"));
}

TEST_F(Train, BatchesAreInTheOrderOfSeedAndEpoch) {
  const auto numbers = [&](train::FeederOptions o, int count, int from = 0) {
    train::Feeder<std::vector<std::int32_t>> feeder(
        rt, examples, [](Rows rows) { return std::vector<std::int32_t>(rows.begin(), rows.end()); },
        o);
    feeder.seek(from);
    std::vector<std::int32_t> all;
    for (int i = 0; i < count; ++i)
      for (const std::int32_t r : feeder.next()) all.push_back(r);
    return all;
  };
  // Two epochs of three batches of three of ten.
  std::vector<std::int32_t> want;
  for (int e = 0; e < 2; ++e) {
    const auto order = rt.to_host<std::int32_t>(
        random::permutation(random::fold_in(rt.key(5), rt.from_host(e)), examples));
    want.insert(want.end(), order.begin(), order.begin() + 9);
  }
  const train::FeederOptions five{.batch = 3, .seed = 5};
  EXPECT_EQ(numbers(five, 6), want);
  EXPECT_EQ(numbers(five, 2, 4), (std::vector<std::int32_t>(want.begin() + 12, want.end())));
  EXPECT_NE(numbers({.batch = 3, .seed = 6}, 6), want);
  EXPECT_EQ(numbers({.batch = 4, .shuffle = false, .ahead = 3}, 3),
            (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3}));
  // Rows of arrays are those rows.
  train::Feeder<Batch> feeder(rt, data(), five);
  const Batch b = feeder.next();
  std::vector<float> x;
  for (int i = 0; i < 3; ++i) x.push_back(float(want[std::size_t(i)]) / 5 - 1);
  EXPECT_EQ(rt.to_host<float>(b.x), x);
  EXPECT_EQ(feeder.position(), 1);
  EXPECT_EQ(feeder.per_epoch(), 3);
  EXPECT_THAT(usage_message([&] { train::Feeder<Batch>(rt, data(), {.batch = 11}); }),
              HasSubstr("batches of 11 of 10 examples"));
  EXPECT_THAT(usage_message([&] { train::Feeder<Array>(rt, data()); }),
              HasSubstr("2 arrays of examples for batches of 1 arrays"));
}

TEST_F(Train, BatchesAreReadyBeforeTheyAreAskedFor) {
  std::atomic<int> made{0};
  train::Feeder<int> feeder(rt, examples,
                            [&](Rows rows) {
                              if (++made == 6) throw std::runtime_error("no sixth batch");
                              return int(rows[0]);
                            },
                            {.batch = 1, .shuffle = false, .ahead = 2});
  const auto reaches = [&](int n) {
    for (int i = 0; i < 2000 && made < n; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return made.load();
  };
  EXPECT_EQ(reaches(2), 2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(feeder.next(), i);
    EXPECT_EQ(reaches(i + 3), i + 3);  // two more are there, and no third
  }
  EXPECT_EQ(feeder.next(), 3);
  EXPECT_EQ(feeder.next(), 4);
  EXPECT_THROW(feeder.next(), std::runtime_error);
  EXPECT_EQ(feeder.next(), 5);
}

TEST_F(Train, AnEpochOnTheDeviceIsTheSameBatches) {
  // Sums of whole numbers, which no order of additions changes.
  std::vector<float> x(examples), y(examples);
  std::iota(x.begin(), x.end(), 1.0f);
  std::iota(y.begin(), y.end(), 100.0f);
  const Batch all{rt.from_host(x), rt.from_host(y)};
  const auto step = [](const Array& total, const Batch& b) {
    const Array s = sum(b.x * b.y);
    return std::pair{total + s, s};
  };
  const auto epoch = jit(rt, [&](const Array& total, const Batch& data, Key key) {
    return train::epoch(step, total, data, std::move(key), 3);
  });
  const auto [total, sums] =
      epoch(rt.from_host(0.0f), all, random::fold_in(rt.key(5), rt.from_host(1)));
  train::Feeder<Batch> feeder(rt,
                              {train::host_array(x, {examples}), train::host_array(y, {examples})},
                              {.batch = 3, .seed = 5});
  feeder.seek(3);
  std::vector<float> want;
  for (int i = 0; i < 3; ++i) {
    const Batch b = feeder.next();
    const auto bx = rt.to_host<float>(b.x), by = rt.to_host<float>(b.y);
    want.push_back(std::inner_product(bx.begin(), bx.end(), by.begin(), 0.0f));
  }
  EXPECT_EQ(rt.to_host<float>(sums), want);
  EXPECT_EQ(rt.item<float>(total), want[0] + want[1] + want[2]);

  // Keys for what a step draws differ from step to step and come from the epoch's.
  const auto drawing = jit(rt, [&](const Batch& data, Key key) {
    return train::epoch(
               [](const Array& n, const Batch&, Key k) {
                 return std::pair{n + 1, random::uniform(std::move(k), {2})};
               },
               full({}, 0), data, std::move(key), 5)
        .second;
  });
  const auto once = rt.to_host<float>(drawing(all, rt.key(1)));
  EXPECT_EQ(once, rt.to_host<float>(drawing(all, rt.key(1))));
  EXPECT_NE(once[0], once[2]);
  EXPECT_THAT(usage_message([&] {
                jit(rt, [&](const Batch& d, Key key) {
                  return train::epoch(step, full({}, 0.0f), d, std::move(key), 11).first;
                })(all, rt.key(0));
              }),
              HasSubstr("batches of 11 of 10 examples"));
}

}  // namespace
}  // namespace gnomon::testing
