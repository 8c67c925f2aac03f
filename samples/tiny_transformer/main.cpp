// samples/tiny_transformer/main.cpp -- a transformer learns a small language character by
// character, many steps in one compiled call, and speaks it with a cache of keys and values.
#include <gnomon/gnomon.h>
#include <gnomon/optim.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "samples/common/sample.h"
#include "samples/tiny_transformer/grammar.h"
#include "samples/tiny_transformer/model.h"

namespace {

namespace gn = gnomon;
namespace optim = gnomon::optim;
using gn::Array;
using gn::Dim;

/// Texts i32[batch, n + 1]: the mean of - log p of all characters but the first.
Array loss(const Model& m, const Array& texts) {
  const Dim n = texts.dim(1) - 1;
  const Array seen = gn::slice_axis(texts, 1, 0, n), next = gn::slice_axis(texts, 1, 1, n + 1);
  const Array logits = gn::vmap([&](const Array& text) { return logits_of(m, text); })(seen);
  return gn::mean(optim::softmax_cross_entropy_with_integer_labels(logits, next));
}

struct Training {
  Model model;
  optim::State<Model> state;
};
/// Texts that are being written.
struct Writing {
  Array last;                   // i32[count, 1]
  gn::nn::KeyValueCache cache;  // of every text and block
  gn::Key key;
};
/// {the next character of each, what the model thought of all of them}.
std::pair<Writing, Array> write_on(const Model& m, Writing w) {
  auto [now, later] = gn::random::split<2>(std::move(w.key));
  const auto one = [&](const Array& last, const gn::nn::KeyValueCache& cache) {
    return next_logits(m, last, cache);
  };
  auto both = gn::vmap(one)(w.last, w.cache);
  const Array drawn = gn::random::categorical(std::move(now), both.first);
  return {Writing{gn::cast(drawn, gn::DType::i32), std::move(both.second), std::move(later)},
          both.first};
}

double mean_of_last(const std::vector<double>& v, Dim n) {
  return std::accumulate(v.end() - n, v.end(), 0.0) / double(n);
}

void draw(const std::vector<std::int32_t>& text, const Sizes& sizes) {
  const std::size_t size = text.size();
  const std::string n = std::to_string(size);
  std::string tics, maps;
  for (std::size_t i = 0; i < size; ++i)
    tics += (i ? ",'" : "'") + grammar::to_string({text[i]}) + "' " + std::to_string(i);
  for (const Dim block : {Dim{0}, sizes.layers - 1})
    maps += "set title 'block " + std::to_string(block + 1) +
            ": where its first head looks'\nplot 'tiny_transformer.map' binary array=(" + n + "," +
            n + ") format='%float' skip=" +
            std::to_string(std::size_t(block * sizes.heads) * size * size * sizeof(float)) +
            " with image notitle\n";
  sample::draw(
      "tiny_transformer.png",
      "set multiplot layout 1,3\nset xlabel 'step'\nset ylabel 'nats per character'\n"
      "set yrange [0:]\nset title 'loss'\nplot 'tiny_transformer.csv' every ::1 using "
      "0:1 with lines title 'model', '' every ::1 using 0:2 with lines title 'entropy'\n"
      "unset xlabel\nunset ylabel\nset palette gray negative\nunset colorbox\nset xtics (" +
          tics + ")\nset ytics (" + tics + ")\nset xrange [-0.5:" + n + "-0.5]\nset yrange [" + n +
          "-0.5:-0.5]\nset size ratio 1\n" + maps,
      {1800, 640});
}

}  // namespace

int main(int argc, char** argv) {
  Dim steps = 150, batch = 32, length = 32;
  Sizes sizes;
  sample::Settings settings("A transformer that learns words and their mirror images.");
  settings.add("--steps", steps, "steps of training", 50, 1000000);
  settings.add("--batch", batch, "texts of a step", 1, 1024);
  settings.add("--length", length, "characters of a text", 16, 1024);
  settings.add("--layers", sizes.layers, "blocks", 1, 24);
  settings.add("--width", sizes.width, "features", 8, 1024);
  settings.add("--heads", sizes.heads, "heads of attention; width / heads is even", 1, 64);
  return sample::run(settings, argc, argv, [&](gn::Runtime& rt) {
    constexpr Dim chunk = 50;  // steps of a call
    const Dim calls = (steps + chunk - 1) / chunk;
    const auto optimiser = optim::adamw(optim::warmup_cosine_decay(0, 1e-2, 20, calls * chunk),
                                        {.b2 = 0.99, .weight_decay = 1e-2});
    const auto begin = [&](gn::Key key) {
      Model m = make(std::move(key), sizes);
      auto state = optimiser.init(m);
      return Training{std::move(m), std::move(state)};
    };
    const auto train = [&](const Training& from, const Array& texts) {
      const auto step = [&](const Training& at, const Array& some) {
        const auto both = gn::value_and_grad(loss)(at.model, some);
        auto [updates, state] = optimiser.update(both.grad, at.state, at.model);
        return std::pair{Training{optim::apply_updates(at.model, updates), std::move(state)},
                         both.value};
      };
      return gn::scan(step, from, texts);
    };
    const auto trained = gn::jit(rt, train, {.name = "train", .max_traces = 1});
    Training at = gn::jit(rt, begin, {.name = "begin"})(rt.key(1));

    std::mt19937 random(1);
    std::vector<double> losses, entropies, ms;
    for (Dim call = 0; call < calls; ++call) {
      std::vector<std::int32_t> texts;
      for (Dim i = 0; i < chunk; ++i) {
        entropies.push_back(0);
        for (Dim j = 0; j < batch; ++j) {
          const auto text = grammar::text(random, int(length) + 1);
          entropies.back() += grammar::information(text) / double(batch * length);
          texts.insert(texts.end(), text.begin(), text.end());
        }
      }
      ms.push_back(sample::milliseconds_of([&] {
        auto result = trained(std::move(at), rt.from_host(texts, {chunk, batch, length + 1}));
        at = std::move(result.first);
        for (const float l : rt.to_host<float>(result.second)) losses.push_back(double(l));
      }));
      sample::progress("step " + std::to_string(losses.size()) + ": loss " +
                       std::to_string(losses.back()));
    }
    sample::progress("");
    const double learned = mean_of_last(losses, chunk), known = mean_of_last(entropies, chunk);
    std::printf(
        "%zu steps in calls of %d: the first call %.1f s, compiled as well, the last one "
        "%.1f s; %d kernels\nloss %.3f at first, %.3f in the end, where no model is better "
        "than %.3f\n",
        losses.size(), int(chunk), ms[0] / 1000, ms.back() / 1000, trained.kernel_count(),
        losses[0], learned, known);

    constexpr std::size_t count = 96, characters = grammar::alphabet.size();
    const auto size = std::size_t(length);
    const auto start = [&](const Model& m) {
      return gn::vmap([&](const Array&) { return empty_cache(m, length); })(gn::zeros({count}));
    };
    const auto written = gn::jit(rt, write_on, {.name = "write", .max_traces = 1});
    std::vector<std::vector<std::int32_t>> texts(count, {std::int32_t(characters - 1)});
    Writing w{rt.from_host(std::vector<std::int32_t>(count, characters - 1), {count, 1}),
              gn::jit(rt, start)(at.model), rt.key(2)};
    std::vector<float> cached(count * size * characters);
    for (std::size_t i = 0; i < size; ++i) {
      auto next = written(at.model, std::move(w));
      w = std::move(next.first);
      const auto logits = rt.to_host<float>(next.second);
      const auto drawn = rt.to_host<std::int32_t>(w.last);
      for (std::size_t t = 0; t < count; ++t) {
        std::copy_n(&logits[t * characters], characters, &cached[(t * size + i) * characters]);
        texts[t].push_back(drawn[t]);
      }
    }
    grammar::Lines lines;
    std::vector<std::int32_t> all;
    for (auto& t : texts) {
      const grammar::Lines some = grammar::count_lines(t);
      lines.right += some.right;
      lines.all += some.all;
      t.pop_back();
      all.insert(all.end(), t.begin(), t.end());
    }
    std::printf("it writes %s\n      and %s\n%d of %d lines are right\n",
                grammar::to_string(texts[0]).c_str(), grammar::to_string(texts[1]).c_str(),
                lines.right, lines.all);

    const auto look = [](const Model& m, const Array& some) {
      const auto [logits, maps] =
          gn::vmap([&](const Array& text) { return attention_maps(m, text); })(some);
      return std::pair{logits, maps[0]};
    };
    const auto whole =
        gn::jit(rt, look, {.name = "look"})(at.model, rt.from_host(all, {count, length}));
    const auto full = rt.to_host<float>(whole.first);
    double off = 0;
    for (std::size_t i = 0; i < full.size(); ++i)
      off = std::max(off, double(std::abs(full[i] - cached[i])));
    sample::write_floats("tiny_transformer.map", rt.to_host<float>(whole.second));
    sample::write_csv("tiny_transformer.csv", {{"loss", losses}, {"entropy", entropies}});
    draw(texts[0], sizes);
    bool right = sample::check(learned < known + 0.05, "the loss is almost the entropy");
    right &= sample::check(off < 1e-3, "logits with the cache are those of the whole text");
    right &= sample::check(10 * lines.right > 9 * lines.all && lines.all > 0,
                           "nine lines of ten belong to the language");
    return right;
  });
}
