// samples/recompilation/cases.cpp -- what makes a function trace or compile again, beside how to
// avoid it.
#include "samples/recompilation/cases.h"

#include <algorithm>

#include "samples/common/sample.h"

namespace gn = gnomon;
using gn::Array;

namespace {

constexpr gn::Dim n = 256;

// Array members are data; all others are static, and part of what is compiled.
struct Frozen {
  Array x;
  float rate;
};
struct Tuned {
  Array x, rate;
};
struct Listed {
  std::vector<Array> values;
};
struct Buffered {
  Array values, count;  // f32[most, n], i32[]: how many rows of it are used
};
struct Layer {
  Array weight, bias;
  bool inference = false;
  Array operator()(const Array& x) const {
    const Array y = gn::tanh(gn::matmul(weight, x) + bias);
    return inference ? y : 0.9f * y;
  }
};

Array wave(const Array& x) { return gn::sin(x) + 0.25f * x; }
struct Wave {  // the same once more, by somebody else
  Array operator()(const Array& x) const {
    const Array quarter = 0.25f * x;
    return gn::sin(x) + quarter;
  }
};

}  // namespace

void Case::call(gn::Runtime& rt, const std::function<void()>& f) {
  const gn::Counters before = rt.counters();
  const double ms = sample::milliseconds_of([&] {
    f();
    rt.wait();
  });
  const gn::Counters after = rt.counters();
  const Way way = after.traces == before.traces                    ? hit
                  : after.programs_shared > before.programs_shared ? shared
                                                                   : compiled;
  us[way].push_back(1000 * ms);
}

double Case::median(Way way) const {
  std::vector<double> sorted = us[way];
  if (sorted.empty()) return 0;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

std::vector<Case> run_all(gn::Runtime& rt, int calls) {
  const std::vector<float> numbers(n, 0.5f);
  const Array x = rt.from_host(numbers), one = rt.from_host(1.0f);
  const auto layer = [&](int i) {  // made again: other numbers of the same shapes
    return Layer{rt.from_host(std::vector<float>(n * n, 0.001f * float(i)), {n, n}), x};
  };
  std::vector<Case> cases;
  const auto add = [&](const char* name, const std::function<void(int)>& f) {
    cases.push_back({name, {}});
    for (int i = 0; i < calls; ++i) cases.back().call(rt, [&] { f(i); });
  };

  const auto stable = gn::jit(rt, wave, {.name = "stable", .max_traces = 1});
  add("made once", [&](int) { stable(x); });
  add("lambda made again", [&](int) {
    gn::jit(rt, [](const Array& a) { return gn::sin(a) + 0.25f * a; }, {.name = "fresh"})(x);
  });
  add("same graph elsewhere", [&](int) { gn::jit(rt, Wave{}, {.name = "other"})(x); });

  const auto frozen =
      gn::jit(rt, [](const Frozen& s) { return s.x - s.rate * wave(s.x); }, {.name = "frozen"});
  add("rate a float", [&](int i) { frozen(Frozen{x, 1.0f / float(i + 1)}); });
  const auto tuned = gn::jit(rt, [](const Tuned& s) { return s.x - s.rate * wave(s.x); },
                             {.name = "tuned", .max_traces = 1});
  add("rate an Array", [&](int i) { tuned(Tuned{x, rt.from_host(1.0f / float(i + 1))}); });

  const auto listed = gn::jit(rt,
                              [](const Listed& s) {
                                Array sum = s.values[0];
                                for (std::size_t i = 1; i < s.values.size(); ++i)
                                  sum = sum + s.values[i];
                                return sum;
                              },
                              {.name = "listed"});
  Listed list;
  add("list that grows", [&](int) {
    list.values.push_back(x);
    listed(list);
  });
  const auto append = [&](const Buffered& s, const Array& row) {
    const Array values = s.values.at(s.count).set(row);
    return std::pair{Buffered{values, s.count + 1}, gn::sum(values, {0})};
  };
  const auto buffered = gn::jit(rt, append, {.name = "buffered", .max_traces = 1});
  Buffered buffer{rt.from_host(std::vector<float>(std::size_t(calls) * n), {calls, n}),
                  rt.from_host(0)};
  add("buffer and count", [&](int) { buffer = buffered(std::move(buffer), x).first; });

  const auto forward = [](const Array& a, const Layer& l) { return l(a); };
  const auto passed = gn::jit(rt, forward, {.name = "passed", .max_traces = 1});
  add("module made again", [&](int i) { passed(x, layer(i)); });
  add("module captured", [&](int i) {
    const Layer l = layer(i);
    gn::jit(rt, [&](const Array& a) { return l(a); }, {.name = "captured"})(x);
  });
  const auto switched = gn::jit(rt, forward, {.name = "switched", .max_traces = 2});
  add("static flag", [&](int i) {
    Layer l = layer(i);
    l.inference = i % 2 == 1;
    switched(x, l);
  });
  return cases;
}

std::string refused(gn::Runtime& rt) {
  const Array x = rt.from_host({1.0f});
  const auto f = gn::jit(rt, [](const Frozen& s) { return s.x * s.rate; },
                         {.name = "strict", .max_traces = 1});
  f(Frozen{x, 0.1f});
  std::string message;
  try {
    f(Frozen{x, 0.01f});
  } catch (const gn::UsageError& e) {
    message = e.what();
  }
  f(Frozen{x, 0.1f});
  const gn::CacheInfo info = f.cache_info();
  return info.traces == 1 && info.hits == 1 ? message : "";
}
