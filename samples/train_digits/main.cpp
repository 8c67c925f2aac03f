// samples/train_digits/main.cpp -- a convolutional network learns to read digits that the program
// draws: an epoch is one compiled call, which is traced once and takes no new memory.
#include <gnomon/gnomon.h>
#include <gnomon/nn.h>
#include <gnomon/optim.h>
#include <gnomon/train.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "samples/common/sample.h"
#include "samples/train_digits/digits.h"

namespace {

namespace gn = gnomon;
namespace nn = gnomon::nn;
using digits::Examples;
using gn::Array;
using gn::Dim;
using gn::Key;
using gn::State;

Array flat(const Array& x) { return gn::ravel(x); }

/// 1 x 8 x 8 pixels -> 2 blocks of convolution, normalisation and pooling -> 10 logits.
auto network(Dim channels, Key key) {
  auto [a, b, c] = gn::random::split<3>(std::move(key));
  constexpr Dim rest = digits::side / 2 * (digits::side / 2);  // pixels behind the pooling
  return nn::Sequential{
      nn::Conv2d::make(1, channels, 3, std::move(a), {.padding = "SAME", .use_bias = false}),
      nn::BatchNorm::make(channels, "batch", {.momentum = 0.9}),
      nn::Lambda{gn::relu},
      nn::MaxPool2d::make(2, {.stride = 2}),
      nn::Conv2d::make(channels, 2 * channels, 3, std::move(b),
                       {.padding = "SAME", .use_bias = false}),
      nn::BatchNorm::make(2 * channels, "batch", {.momentum = 0.9}),
      nn::Lambda{gn::relu},
      flat,
      nn::Dropout{.p = 0.2},
      nn::Linear::make(2 * channels * rest, digits::classes, std::move(c))};
}
using Network = decltype(network(1, std::declval<Key>()));

struct Training {
  Network net;
  State state;  // of the normalisations
  gn::optim::State<Network> moments;
};

/// Mean cross entropy of a batch. The gradient is that of the network; the state flows beside it.
std::pair<Array, State> loss(const Network& net, State state, const Examples& batch, Key key) {
  const auto each = [&](const Array& image, State s, Key k) {
    return net(image, std::move(s), std::move(k));
  };
  auto [logits, next] = gn::vmap(
      each, {.in_axes = {0, gn::unmapped, 0}, .out_axes = {0, gn::unmapped}, .axis_name = "batch"})(
      batch.images, std::move(state), gn::random::split(std::move(key), batch.labels.dim(0)));
  return {gn::mean(gn::optim::softmax_cross_entropy_with_integer_labels(logits, batch.labels)),
          std::move(next)};
}

Array logits_of(const Network& net, const State& state, const Array& images) {
  const Network infers = nn::inference(net);
  return gn::vmap([&](const Array& image) { return infers(image, state.clone()).first; })(images);
}

/// How often each digit was read as which.
struct Reading {
  std::vector<sample::Column> table{{"digit", {}}, {"read as", {}}, {"times", {}}};
  double right = 0;  // of all
};
Reading reading_of(const std::vector<float>& logits, const std::vector<std::int32_t>& labels) {
  constexpr auto classes = std::size_t(digits::classes);
  Reading r;
  for (std::size_t i = 0; i < classes * classes; ++i) {
    r.table[0].values.push_back(double(i / classes));
    r.table[1].values.push_back(double(i % classes));
    r.table[2].values.push_back(0);
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto of = logits.begin() + std::ptrdiff_t(i * classes);
    const auto best = std::size_t(std::max_element(of, of + classes) - of);
    r.table[2].values[std::size_t(labels[i]) * classes + best] += 1;
    if (best == std::size_t(labels[i])) r.right += 1 / double(labels.size());
  }
  return r;
}

/// A line of digits below the other, the loss and the confusion matrix.
void draw() {
  sample::draw(
      "train_digits.png",
      "set multiplot layout 1,3\nset palette gray negative\nunset colorbox\nset title 'digits to "
      "learn from'\nset size ratio 1\nunset tics\nset yrange [*:*] reverse\nplot for [i=0:63] "
      "'train_digits.map' binary array=(8,8) format='%float' skip=i*256 origin=(i%8*9,int(i/8)*9) "
      "with image notitle\nset tics\nset title 'loss'\nset xlabel 'step'\nset logscale y\nset "
      "format y '%g'\nset yrange [*:*] noreverse\nplot 'train_digits.csv' every ::1 using 0:1 with "
      "lines notitle\nunset logscale y\nset title 'unseen digits'\nset xlabel 'read as'\nset "
      "ylabel 'digit'\nset xrange [-0.5:9.5]\nset yrange [9.5:-0.5]\nset xtics 1\nset ytics 1\n"
      "plot 'train_digits_read.csv' every ::1 using 2:1:(log($3+1)) with image notitle, '' every "
      "::1 using 2:1:($3>0?sprintf('%d',$3):'') with labels tc rgb '#d04020' notitle",
      {1800, 640});
}

}  // namespace

int main(int argc, char** argv) {
  Dim examples = 4096, unseen = 2000, batch = 128, epochs = 8, channels = 8;
  float noise = 0.1f, rate = 0.02f;
  sample::Settings settings("A convolutional network that learns to read digits of 8 x 8 pixels.");
  settings.add("--examples", examples, "to learn from", 128, 1 << 20);
  settings.add("--unseen", unseen, "to be tested by", 100, 1 << 20);
  settings.add("--batch", batch, "examples in each step", 2, 128);
  settings.add("--epochs", epochs, "times that all are seen", 3, 10000);
  settings.add("--channels", channels, "of the first convolution", 1, 1024);
  settings.add("--noise", noise, "deviation of the noise; ink is 1", 0, 10);
  settings.add("--rate", rate, "of learning, at first", 1e-5f, 1);
  return sample::run(settings, argc, argv, [&](gn::Runtime& rt) {
    const auto optimiser = gn::optim::adamw(
        gn::optim::cosine_decay(double(rate), epochs * (examples / batch)), {.weight_decay = 1e-3});
    const auto begin = [&](Key key) {
      auto made = gn::make_with_state(network(channels, std::move(key)));
      auto moments = optimiser.init(made.model);
      return Training{std::move(made.model), std::move(made.state), std::move(moments)};
    };
    const auto step = [&](const Training& at, const Examples& some, Key key) {
      auto [value, slope] =
          gn::value_and_grad(loss, gn::has_aux)(at.net, at.state.clone(), some, std::move(key));
      auto [updates, moments] = optimiser.update(slope, at.moments, at.net);
      return std::pair{Training{gn::optim::apply_updates(at.net, updates), std::move(value.second),
                                std::move(moments)},
                       value.first};
    };
    const auto pass = [&](Training at, const Examples& all, Key key) {
      return gn::train::epoch(step, std::move(at), all, std::move(key), batch);
    };
    const auto epoch = gn::jit(rt, pass, {.name = "epoch", .max_traces = 1});

    const Array font = rt.from_host(digits::font(), {digits::classes, 7, 5});
    const auto drawn = [&](Key key, Dim n) { return digits::draw(font, noise, std::move(key), n); };
    const auto draws = gn::jit(rt, drawn, {.name = "draw"});
    const Examples all = draws(rt.key(1), examples), test = draws(rt.key(2), unseen);
    Training at = gn::jit(rt, begin, {.name = "begin"})(rt.key(3));
    const gn::Counters start = rt.counters();

    std::vector<double> losses, ms;
    gn::Counters early;  // before the third epoch
    gn::MemoryStats memory;
    for (Dim e = 0; e < epochs; ++e) {
      if (e == 2) early = rt.counters(), memory = rt.memory();
      ms.push_back(sample::milliseconds_of([&] {
        auto result = epoch(std::move(at), all, rt.key(100 + e));
        at = std::move(result.first);
        for (const float l : rt.to_host<float>(result.second)) losses.push_back(double(l));
      }));
      sample::progress("epoch " + std::to_string(e + 1) + ": loss " +
                       std::to_string(losses.back()));
    }
    sample::progress("");
    const gn::Counters end = rt.counters();
    const auto leaves = gn::tree::leaf_count(at), donated = end.donated - start.donated;
    std::printf(
        "%d parameters, %zu steps in %d calls: the first %.0f ms, compiled as well, the "
        "last %.0f ms\nan epoch needs %s",
        int(nn::parameter_count(at.net)), losses.size(), int(epochs), ms[0], ms.back(),
        to_string(epoch.memory_report(), 2).c_str());
    std::printf(
        "of %zu arrays of network, state and optimiser %llu were overwritten in %d "
        "epochs; %llu bytes in use before the third, %llu in the end\n",
        leaves, static_cast<unsigned long long>(donated), int(epochs),
        static_cast<unsigned long long>(memory.live_bytes),
        static_cast<unsigned long long>(rt.memory().live_bytes));
    const bool constant = rt.memory().live_bytes == memory.live_bytes &&
                          rt.memory().peak_bytes == memory.peak_bytes &&
                          end.device_allocations == early.device_allocations &&
                          end.vulkan_objects == early.vulkan_objects &&
                          end.recordings == early.recordings;

    const auto read = gn::jit(rt, logits_of, {.name = "read", .max_traces = 1});
    const auto logits = rt.to_host<float>(read(at.net, at.state, test.images));
    gn::io::save_tree(rt, "train_digits.safetensors", at);
    const Training back = gn::io::load_tree(rt, "train_digits.safetensors", at);
    const bool same = rt.to_host<float>(read(back.net, back.state, test.images)) == logits;
    const Reading reading = reading_of(logits, rt.to_host<std::int32_t>(test.labels));
    std::printf("loss %.3f at first, %.3f in the end; %.2f %% of %d unseen digits are right\n",
                losses[0], losses.back(), 100 * reading.right, int(unseen));
    sample::write_floats("train_digits.map", rt.to_host<float>(all.images));
    sample::write_csv("train_digits.csv", {{"loss", losses}});
    sample::write_csv("train_digits_read.csv", reading.table);
    draw();
    bool right = sample::check(reading.right >= 0.97, "97 of 100 unseen digits are read");
    right &= sample::check(epoch.cache_info().traces == 1 && read.cache_info().traces == 1,
                           "one trace for all epochs");
    right &= sample::check(donated == leaves * std::uint64_t(epochs) && end.shared_donations == 0,
                           "every epoch overwrites what it is given");
    right &= sample::check(constant, "the third and later epochs take no memory, record nothing");
    return sample::check(same, "what is loaded reads them the same, bit for bit") && right;
  });
}
