// tests/support/random_graph.cpp -- the generator: scopes of values and steps that add to them.
#include "tests/support/random_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "codegen/graph/text.h"
#include "codegen/trace/function.h"
#include "gnomon/control.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/support/random_steps.h"

namespace gnomon::testing {
namespace {

/// The values one function sees and how it makes more of them.
class Scope : public Steps {
 public:
  Scope(std::uint64_t seed, int depth, Dim max_elements, const Setting& setting, Style style)
      : Steps(seed, depth, max_elements, setting, style) {}

  void give(Value v) { values_.push_back(std::move(v)); }
  void give(const Arrays& arrays) {
    // Arguments of a loop body or a mapped function: whether they are exact is not known there.
    for (const Array& a : arrays) give(Value{a, usual(a.dtype())});
  }
  /// What is handed over: floats of full width may have been rounded, narrow ones are exact,
  /// because coarse ones stay where they are.
  static Trust usual(DType t) {
    return t == DType::f32 || t == DType::f64 ? Trust::rounded : Trust::exact;
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      // Most attempts succeed; an empty or odd scope may refuse some.
      for (int attempt = 0; attempt < 20; ++attempt)
        if (step()) break;
    }
  }

  /// Some of the values made here, now and then one that was given, or one twice.
  std::vector<Value> results(Dim least, Dim most) {
    std::vector<Value> r;
    const Dim count = random_.between(least, most);
    for (Dim i = 0; i < count; ++i)
      if (const auto v = pick_any([](const Value&) { return true; })) r.push_back(*v);
    return r;
  }

  /// A value of type `like` that depends on what was made here.
  Array value_like(const Array& like) {
    const auto same = pick([&](const Value& v) { return v.array.aval() == like.aval(); });
    if (same && random_.chance(70)) return same->array;
    // Any value, brought to a shape that broadcasts to the one wanted, and combined with `like`.
    const auto source = pick([&](const Value& v) { return convertible(v, like.dtype()); });
    if (!source) return like;
    const Value meets{like, Trust::exact};
    Array x = converted(*source, like.dtype());
    if (!broadcasts(x.shape(), like.shape())) {
      if (x.size() == like.size()) {
        x = reshape(x, like.shape());
      } else if (x.size() == 0) {
        return like;
      } else {
        x = meets.boolean() ? any(x) : meets.floating() ? mean(x) : max(x);
      }
    }
    if (meets.floating()) return (like + x) * 0.5;
    if (meets.narrow()) return clip(like + x, -8, 8);
    if (meets.boolean()) return logical_xor(like, x);
    const bool product = random_.chance(30);
    return product ? like * x + 1 : like + x;
  }

  /// A smooth scalar of so many steps from floats of one dtype.
  Array loss(const Arrays& inputs, int steps) {
    give(inputs);
    run(steps);
    Array total = value_like(inputs[0]);
    for (const Value& v : results(1, 2))
      if (v.dtype() == inputs[0].dtype() && v.array.size() > 0) total = total + mean(tanh(v.array));
    return mean(total);
  }

 private:
  using Step = bool (Scope::*)();

  bool step() {
    struct Weighted {
      Step step;
      int weight;
    };
    static constexpr std::array<Weighted, 33> steps{{
        {&Scope::unary, 14},       {&Scope::binary, 16},        {&Scope::compare, 5},
        {&Scope::choose, 5},       {&Scope::convert, 8},        {&Scope::reinterpret, 3},
        {&Scope::create, 3},       {&Scope::rearrange, 14},     {&Scope::cut, 9},
        {&Scope::join, 6},         {&Scope::reduce, 12},        {&Scope::multiply, 7},
        {&Scope::read_at, 7},      {&Scope::read_elements, 4},  {&Scope::slice_at, 6},
        {&Scope::write_at, 5},     {&Scope::write_elements, 7}, {&Scope::segments, 3},
        {&Scope::random_draws, 4}, {&Scope::sorted, 5},         {&Scope::searched, 3},
        {&Scope::accumulate, 7},   {&Scope::windows, 4},        {&Scope::convolve, 4},
        {&Scope::fourier, 1},      {&Scope::linear_algebra, 2}, {&Scope::special_function, 2},
        {&Scope::count_loop, 13},  {&Scope::repeat_loop, 15},   {&Scope::scan_loop, 13},
        {&Scope::branch, 10},      {&Scope::map, 30},           {&Scope::derive, 10},
    }};
    Dim total = 0;
    for (const auto& [f, weight] : steps) total += weight;
    Dim at = random_.below(total);
    for (const auto& [f, weight] : steps) {
      if (at < weight) return (this->*f)();
      at -= weight;
    }
    return false;
  }

  // ---- loops, branches, vmap

  Scope inner(std::uint64_t seed) const {
    return Scope(seed, depth_ - 1, max_elements_ / 2, setting_, style_);
  }
  /// Values from outside that a body uses.
  std::vector<Value> captured(Dim most) {
    std::vector<Value> r;
    const Dim count = random_.between(0, most);
    for (Dim i = 0; i < count; ++i)
      if (auto v = pick([](const Value&) { return true; })) r.push_back(std::move(*v));
    return r;
  }
  Arrays state(Dim most) {
    Arrays r;
    const Dim count = random_.between(1, most);
    for (Dim i = 0; i < count; ++i)
      if (auto v = pick([](const Value&) { return true; })) r.push_back(v->array);
    return r;
  }
  bool add_all(const Arrays& arrays) {
    bool any = false;
    for (const Array& a : arrays) any = add(a, usual(a.dtype())) || any;
    return any;
  }
  int body_steps() { return static_cast<int>(random_.between(1, depth_ > 1 ? 4 : 2)); }

  /// A function of `arguments` in a new scope: tells `finish` when its values are there.
  template <class F>
  auto body(F finish) {
    const std::uint64_t seed = random_.next();
    const int steps = body_steps();
    std::vector<Value> outside = captured(3);
    // Called as often as the tracer likes: everything it draws comes from its own seed.
    return [this, seed, steps, outside = std::move(outside), finish](const Arrays& arguments) {
      Scope scope = inner(seed);
      for (const Value& v : outside) scope.give(v);
      scope.give(arguments);
      scope.run(steps);
      return finish(scope);
    };
  }

  static Arrays next_state(Scope& scope, const Arrays& state) {
    Arrays r;
    for (const Array& a : state) r.push_back(scope.value_like(a));
    return r;
  }

  bool loops() const { return depth_ > 0; }

  bool count_loop() {
    if (!loops()) return false;
    const Arrays init = state(3);
    if (init.empty()) return false;
    const auto run = body([](Scope& scope) { return std::move(scope); });
    const auto step = [&](const Array& i, const Arrays& carried) {
      Arrays all{i};
      all.insert(all.end(), carried.begin(), carried.end());
      Scope scope = run(all);
      return next_state(scope, carried);
    };
    const auto bound = pick_integer_scalar();
    if (!bound || random_.chance(40)) {
      const Dim trips = random_.between(0, 6);
      return add_all(fori_loop(1, 1 + trips, step, init));
    }
    const Array limit = bound->array % 7;
    const Dim most = random_.between(1, 6);
    return add_all(fori_loop(is_signed(bound->dtype()) ? Operand(-1) : Operand(0), limit, step,
                             init, {.max_steps = most}));
  }

  bool repeat_loop() {
    if (!loops()) return false;
    Arrays init = state(3);
    const auto decides = pick_integer_scalar();
    const auto vector = pick([](const Value& v) { return v.integer() && v.rank() > 0; });
    if (init.empty() || !decides) return false;
    const auto run = body([](Scope& scope) { return std::move(scope); });
    const Dim kind = random_.below(3);
    const Dim most = random_.between(1, 7);
    const Array count = cast(decides->array % 6, DType::i32);
    if (kind == 0) {
      // A counter runs up to a bound that stays outside.
      init.push_back(count - count);
      return add_all(while_loop([&](const Arrays& s) { return s.back() < count; },
                                [&](const Arrays& s) {
                                  Scope scope = run(s);
                                  Arrays next = next_state(scope, Arrays(s.begin(), s.end() - 1));
                                  next.push_back(s.back() + 1);
                                  return next;
                                },
                                init, {.max_steps = most}));
    }
    // What the body makes decides.
    init.push_back(kind == 1 || !vector ? count : vector->array);
    return add_all(while_loop(
        [&](const Arrays& s) {
          const Array& x = s.back();
          return x.rank() == 0 ? x % 4 != 3 : sum(x) % 3 != 1;
        },
        [&](const Arrays& s) {
          Scope scope = run(s);
          return next_state(scope, s);
        },
        init, {.max_steps = most}));
  }

  bool scan_loop() {
    if (!loops()) return false;
    const Arrays init = state(2);
    const auto first = pick_array();
    if (init.empty() || !first) return false;
    const Dim n = first->array.dim(0);
    if (n > 40) return false;
    Arrays sequences{first->array};
    const auto second = pick([&](const Value& v) { return v.rank() > 0 && v.array.dim(0) == n; });
    if (random_.chance(50)) sequences.push_back(second->array);
    const auto run = body([](Scope& scope) { return std::move(scope); });
    const bool reverse = random_.chance(30);
    const auto [last, rows] = scan(
        [&](const Arrays& carried, const Arrays& xs) {
          Arrays all = carried;
          all.insert(all.end(), xs.begin(), xs.end());
          Scope scope = run(all);
          Arrays next = next_state(scope, carried);
          Arrays out;
          for (const Value& v : scope.results(1, 2))
            if (v.trust != Trust::coarse && v.array.size() * n <= max_elements_ && v.rank() < 4)
              out.push_back(v.array);
          return std::pair<Arrays, Arrays>{next, out};
        },
        init, sequences, {.reverse = reverse});
    add_all(rows);
    return add_all(last);
  }

  bool branch() {
    if (!loops()) return false;
    const auto index =
        pick([](const Value& v) { return (v.integer() || v.boolean()) && v.rank() == 0; });
    const Arrays operands = state(3);
    const Arrays like = state(2);
    if (!index || operands.empty() || like.empty()) return false;
    const auto results = [&](Scope& scope) {
      Arrays r;
      for (const Array& a : like) r.push_back(scope.value_like(a));
      return r;
    };
    const auto a = body(results), b = body(results), c = body(results);
    if (index->boolean()) return add_all(cond(index->array, a, b, operands));
    const Array which = is_signed(index->dtype()) ? index->array % 5 - 1 : index->array % 4;
    return add_all(switch_(which, std::tuple{a, b, c}, operands));
  }

  bool map() {
    if (depth_ == 0) return false;
    const auto first = pick_array();
    if (!first) return false;
    const int a = axis(*first);
    const Dim n = first->array.dim(a);
    if (n == 0 && random_.chance(50)) return false;
    // Mapped over the first axis, the last, or the second.
    std::array<Arrays, 3> mapped;
    const Dim most = random_.between(1, 4);
    Dim count = 0;
    for (const Value& v : values_) {
      if (v.rank() == 0 || v.trust == Trust::coarse || count >= most) continue;
      const bool take_it = random_.chance(60);
      if (!take_it) continue;
      const std::size_t where = v.array.dim(0) == n                   ? 0
                                : v.array.dim(-1) == n                ? 1
                                : v.rank() > 2 && v.array.dim(1) == n ? 2
                                                                      : 3;
      if (where == 3) continue;
      mapped[where].push_back(v.array);
      ++count;
    }
    if (count == 0) return false;
    const std::uint64_t seed = random_.next();
    const int steps = body_steps() + 1;
    const std::vector<Value> outside = captured(2);
    const Dim limit = std::max<Dim>(8, max_elements_ / std::max<Dim>(1, n));
    Style style = style_;
    if (--style.most_rank < 2) return false;
    std::vector<Trust> trust;
    const auto f = [&](const Arrays& x, const Arrays& y, const Arrays& z) {
      Scope scope(seed, depth_ - 1, limit, setting_, style);
      for (const Value& v : outside) scope.give(v);
      scope.give(x);
      scope.give(y);
      scope.give(z);
      scope.run(steps);
      Arrays r;
      trust.clear();
      for (const Value& v : scope.results(1, 3)) {
        if (v.array.size() * n > max_elements_) continue;
        r.push_back(v.array);
        trust.push_back(std::max(v.trust, usual(v.dtype())));
      }
      return r;
    };
    const bool out_last = random_.chance(25);
    const Arrays results =
        vmap(f, {.in_axes = {0, -1, 1}, .out_axes = {out_last ? -1 : 0}, .axis_size = n})(
            mapped[0], mapped[1], mapped[2]);
    bool any = false;
    for (std::size_t i = 0; i < results.size(); ++i) any = add(results[i], trust[i]) || any;
    return any;
  }

  // ---- derivatives

  /// The derivative of a smooth function of one or two of the floats, forward or backward.
  bool derive() {
    if (depth_ == 0) return false;
    const auto floating = [](const Value& v) { return v.floating() && v.array.size() > 0; };
    const auto x = pick(floating);
    if (!x) return false;
    const auto y =
        pick([&](const Value& v) { return v.dtype() == x->dtype() && v.array.size() > 0; });
    Arrays arguments{x->array};
    if (random_.chance(50)) arguments.push_back(y->array);
    const bool forward = random_.chance(40);
    const std::uint64_t seed = random_.next();
    const int steps = body_steps() + 1;
    const std::vector<Value> outside = captured(2);
    const auto f = [&](const Arrays& inputs) {
      Scope scope(seed, depth_ - 1, max_elements_ / 2, setting_, Style{true, style_.most_rank});
      for (const Value& v : outside) scope.give(v);
      return scope.loss(inputs, steps);
    };
    // Derivatives may be large, and theirs larger; what goes on is not, or a loop around it would
    // take small differences apart.
    const auto bounded = [](const Array& d) { return d / (1 + d * d) * 0.5; };
    if (!forward) {
      Arrays gradient = grad(f)(arguments);
      for (Array& g : gradient) g = bounded(g);
      return add_all(gradient);
    }
    Arrays tangents;
    for (const Array& a : arguments) tangents.push_back(cos(a));
    const auto [value, tangent] = jvp(f, arguments, tangents);
    return add_all({value, bounded(tangent)});
  }
};

/// Of central differences of fourth order in f64.
constexpr double difference_step = 1e-3;

HostArray random_input(const Aval& a, Random& random) {
  HostArray r(a);
  const bool wide = random.chance(25);
  for (Dim i = 0; i < r.size(); ++i) {
    const double u = random.unit();
    if (is_float(a.dtype)) {
      r.set_number(i, 4 * u - 2);
    } else if (a.dtype == DType::boolean) {
      r.set_integer(i, u < 0.5);
    } else if (wide) {
      // Any bits, and the ends of the range.
      const std::uint64_t bits = random.next();
      const std::array<std::uint64_t, 4> ends{0, ~std::uint64_t{0}, std::uint64_t{1} << 63, 1};
      const std::uint64_t x = bits % 5 == 0 ? ends[bits / 5 % 4] : bits;
      r.set_integer(i, static_cast<std::int64_t>(x) >> (64 - 8 * size_of(a.dtype)));
    } else {
      r.set_integer(i, static_cast<std::int64_t>(u * 24) - (is_signed(a.dtype) ? 8 : 0));
    }
  }
  return r;
}

/// The program of `f` on arrays of these types, and some inputs.
template <class F>
RandomGraph traced_on(std::uint64_t seed, const F& f, const std::vector<Aval>& types,
                      Random& random) {
  RandomGraph r;
  r.seed = seed;
  Trace outer;
  Arrays placeholders;
  for (const Aval& a : types) placeholders.push_back(outer.input(a));
  r.graph = make_graph(f, placeholders).graph;
  for (const Aval& a : types) r.inputs.push_back(random_input(a, random));
  return r;
}

/// Element types of a program: the common ones, most often with a few of the others.
std::vector<DType> some_dtypes(Random& random) {
  std::vector<DType> r{DType::f32, DType::i32, DType::u32, DType::boolean};
  if (random.chance(40)) return r;
  const std::vector<DType> others{DType::i8,  DType::u8,  DType::i16, DType::u16,
                                  DType::i64, DType::u64, DType::f16, DType::bf16};
  const Dim count = random.between(1, 3);
  for (Dim i = 0; i < count; ++i) r.push_back(random.one_of(others));
  if (random.chance(15)) r.push_back(DType::f64);
  return r;
}

bool holds_dtype(const Graph& g, DType t) {
  for (const Aval& a : g.avals)
    if (a.dtype == t) return true;
  for (const Equation& e : g.equations)
    for (const GraphPtr& sub : e.params.graphs())
      if (holds_dtype(*sub, t)) return true;
  return false;
}

}  // namespace

RandomGraph random_graph(std::uint64_t seed, const RandomGraphOptions& options) {
  Random random(seed);
  Setting setting;
  setting.dtypes = some_dtypes(random);
  const bool many = random.chance(25);
  setting.lanes = many ? random.between(40, 300) : random.between(2, 20);
  for (int i = 0; i < 3; ++i) setting.lengths.push_back(random.between(1, 9));
  if (random.chance(8)) setting.lengths.push_back(0);
  if (random.chance(10)) setting.lengths.push_back(random.between(100, options.max_elements));

  std::vector<Aval> avals;
  const Dim count = random.between(2, 6);
  for (Dim i = 0; i < count; ++i) {
    Aval a;
    const Dim kind = random.below(10);
    a.dtype = kind < 3 ? DType::f32 : kind < 5 ? DType::i32 : random.one_of(setting.dtypes);
    const Dim rank = random.below(random.chance(5) ? 8 : 4);
    for (Dim r = 0; r < rank; ++r) {
      const bool lane = random.chance(45);
      const Dim other = random.one_of(setting.lengths);
      const Dim d = lane ? setting.lanes : other;
      if (a.shape.size() * d <= options.max_elements) a.shape.append(d);
    }
    avals.push_back(a);
  }
  avals.push_back({DType::i32, {}});  // something to decide with

  const std::uint64_t body_seed = random.next();
  const int steps = static_cast<int>(random.between(3, options.steps));
  bool coarse = false;
  const auto f = [&](const Arrays& inputs) {
    Scope scope(body_seed, options.depth, options.max_elements, setting, {});
    // What comes from the host is exact.
    for (const Array& a : inputs) scope.give(Value{a, Trust::exact});
    scope.run(steps);
    Arrays outputs;
    coarse = false;
    for (const Value& v : scope.results(2, 6)) {
      outputs.push_back(v.array);
      coarse = coarse || v.trust == Trust::coarse;
    }
    return outputs;
  };
  RandomGraph r = traced_on(seed, f, avals, random);
  r.coarse = coarse;
  return r;
}

RandomGraph random_derivatives(std::uint64_t seed, const RandomGraphOptions& options) {
  Random random(seed);
  Setting setting;
  setting.dtypes = {DType::f64, DType::i32, DType::boolean};
  setting.lanes = random.between(2, 6);
  for (int i = 0; i < 2; ++i) setting.lengths.push_back(random.between(1, 5));
  // The floats to differentiate in, and an integer to decide with.
  std::vector<Aval> avals;
  const Dim count = random.between(1, 2);
  for (Dim i = 0; i < count; ++i) {
    Aval a{DType::f64, {}};
    const Dim rank = random.below(3);
    for (Dim k = 0; k < rank; ++k) {
      const bool lane = random.chance(45);
      a.shape.append(lane ? setting.lanes : random.one_of(setting.lengths));
    }
    avals.push_back(a);
  }
  avals.push_back({DType::i32, {}});

  const std::uint64_t body_seed = random.next();
  const int steps = static_cast<int>(random.between(2, options.steps));
  const auto all_laws = [&](const Arrays& inputs) {
    const Arrays x(inputs.begin(), inputs.end() - 1);
    const auto f = [&](const Arrays& at) {
      Scope scope(body_seed, options.depth, options.max_elements, setting, Style{true, 5});
      scope.give(Value{inputs.back(), Trust::exact});
      return scope.loss(at, steps);
    };
    const auto dot = [](const Arrays& a, const Arrays& b) {
      Array r = sum(a[0] * b[0]);
      for (std::size_t i = 1; i < a.size(); ++i) r = r + sum(a[i] * b[i]);
      return r;
    };
    const auto moved = [&](const Arrays& by, double h) {
      Arrays r;
      for (std::size_t i = 0; i < x.size(); ++i) r.push_back(x[i] + by[i] * h);
      return r;
    };
    Arrays v, w;
    for (const Array& a : x) {
      v.push_back(cos(a * 3));
      w.push_back(sin(a * 2 + 1));
    }
    const auto gradient = grad(f);
    const auto slope = [&](const Arrays& at) { return jvp(f, at, v).second; };
    const auto along_w = [&](const Arrays& at) { return dot(gradient(at), w); };
    Arrays stacked;
    for (std::size_t i = 0; i < x.size(); ++i) stacked.push_back(stack({x[i], moved(v, 0.25)[i]}));
    const auto difference = [&](double h) { return f(moved(v, h)) - f(moved(v, -h)); };
    const Array near = difference(difference_step), far = difference(2 * difference_step);
    return Arrays{(near * 8 - far) / (12 * difference_step),
                  slope(x),
                  dot(gradient(x), v),
                  dot(jvp(gradient, x, v).second, w),
                  dot(grad(slope)(x), w),
                  dot(grad(along_w)(x), v),
                  vmap(along_w)(stacked),
                  stack({along_w(x), along_w(moved(v, 0.25))})};
  };
  return traced_on(seed, all_laws, avals, random);
}

std::string broken_law(const std::vector<HostArray>& outputs) {
  const auto number = [&](std::size_t i) { return outputs[i].number(0); };
  std::string what;
  const auto compare = [&](const char* law, double a, double b, double tolerance) {
    if (!(std::fabs(a - b) <= tolerance * std::max(1.0, std::fabs(b))))
      what += std::string(law) + ": " + std::to_string(a) + " and " + std::to_string(b) + "\n";
  };
  compare("finite differences and forward mode", number(0), number(1), 1e-6);
  compare("forward and reverse mode", number(1), number(2), 1e-10);
  compare("forward over reverse and reverse over forward", number(3), number(4), 1e-9);
  compare("forward over reverse and reverse over reverse", number(3), number(5), 1e-9);
  for (Dim i = 0; i < 2; ++i)
    compare("gradients of elements and of each", outputs[6].number(i), outputs[7].number(i), 1e-10);
  return what;
}

bool holds(const RandomGraph& r, DType t) { return holds_dtype(r.graph, t); }

double tolerance(const RandomGraph& r, DType t) {
  switch (t) {
    case DType::f32:
      return 1e-4;
    case DType::f64:
      return 1e-9;
    case DType::f16:
      return r.coarse ? 0x1p-9 : 0;
    case DType::bf16:
      return r.coarse ? 0x1p-6 : 0;
    default:
      return 0;
  }
}

std::string describe(const RandomGraph& r) {
  std::string text = "seed " + std::to_string(r.seed) + "\n" + print(r.graph) + "\n";
  for (std::size_t i = 0; i < r.inputs.size(); ++i) {
    const HostArray& a = r.inputs[i];
    text += "input " + std::to_string(i) + " " + to_string(a.aval) + ":";
    constexpr Dim shown = 24;
    for (Dim k = 0; k < std::min(shown, a.size()); ++k) {
      const std::string number = std::to_string(a.number(k));
      text += " " + (is_float(a.aval.dtype) ? number : std::to_string(a.integer(k)));
    }
    text += a.size() > shown ? " ...\n" : "\n";
  }
  return text;
}

}  // namespace gnomon::testing
