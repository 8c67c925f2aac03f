// tests/support/dtype_programs.cpp -- the programs.
#include "tests/support/dtype_programs.h"

#include <functional>

#include "codegen/trace/trace.h"
#include "gnomon/control.h"
#include "gnomon/indexing.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {

namespace {

using Arrays = std::vector<Array>;
using Program = std::function<Arrays(const Arrays&)>;

class Maker {
 public:
  explicit Maker(DType t) : dtype_(t) {}

  void add(std::string name, const std::vector<Aval>& avals, const Program& f) {
    DtypeProgram p;
    p.name = std::string(gnomon::name(dtype_)) + ": " + std::move(name);
    Trace t;
    Arrays in;
    for (const Aval& a : avals) {
      in.push_back(t.input(a));
      p.inputs.push_back(random_array(a, static_cast<std::uint32_t>(programs.size() + in.size())));
    }
    p.graph = t.finish(f(in));
    programs.push_back(std::move(p));
  }

  std::vector<DtypeProgram> programs;

 private:
  DType dtype_;
};

bool is_bool(const Array& a) { return a.dtype() == DType::boolean; }

/// Something of every kind of arithmetic that the type has.
Array mixed(const Array& x, const Array& y) {
  if (is_bool(x)) return where(x, y, !y) ^ (x && y);
  const Array z = x * y + x - minimum(x, y);
  return where(x > y, z, y - z);
}

/// A step of a loop that stays in range for every type.
Array stepped(const Array& s, const Array& x) {
  if (is_bool(s)) return s ^ x;
  return where(s > 2, s - 2, s + x);
}

}  // namespace

std::vector<DtypeProgram> dtype_programs(DType t) {
  Maker m(t);
  const auto of = [t](const Shape& s) { return Aval{t, s}; };

  for (Dim n : {1, 3, 37, 64, 1030})
    m.add("chain of " + std::to_string(n), {of({n}), of({n})}, [](const Arrays& a) {
      const Array y = mixed(a[0], a[1]);
      return Arrays{y, mixed(y, a[0])};
    });
  m.add("compare", {of({37}), of({37})}, [](const Arrays& a) {
    return Arrays{a[0] == a[1], is_bool(a[0]) ? a[0] : a[0] < a[1]};
  });
  // Compilers of drivers look for these.
  const auto widened = [](const Arrays& a) {
    Arrays r;
    for (DType to : {DType::i16, DType::i32, DType::i64, DType::u32, DType::u64}) {
      const Array x = cast(a[0], to);
      for (int c : {0, 1, 3})
        r.insert(r.end(), {x < c, x >= c, x == c, maximum(x, c), clip(x, c, c + 2)});
    }
    return r;
  };
  if (!is_float(t)) m.add("widened, then compared with constants", {of({37})}, widened);
  m.add("rows reduced", {of({5, 13})}, [](const Arrays& a) {
    if (is_bool(a[0])) return Arrays{any(a[0], 1), all(a[0], 0)};
    return Arrays{max(a[0], 1), min(a[0], 0), sum(a[0], 1), argmax(a[0], 0)};
  });
  m.add("a long sum", {of({3001})}, [](const Arrays& a) {
    return Arrays{is_bool(a[0]) ? any(a[0]) : sum(cast(a[0] > 0, a[0].dtype()))};
  });
  m.add("odd rows", {of({7, 13})}, [](const Arrays& a) {
    return Arrays{slice(a[0], {1, 2}, {6, 11}, {1, 2}), transpose(a[0]), flip(a[0], 1)};
  });
  m.add("joined", {of({3, 5}), of({3, 2})}, [](const Arrays& a) {
    return Arrays{concatenate({a[0], a[1]}, 1), pad(a[1], {{1, 0}, {0, 3}})};
  });
  m.add("taken", {of({9, 3}), {DType::i32, {11}}}, [](const Arrays& a) {
    return Arrays{take(a[0], a[1]), take(a[0], a[1] % 3, 1)};
  });
  m.add("scattered", {of({11}), {DType::i32, {23}}, of({23})}, [](const Arrays& a) {
    if (is_bool(a[0])) return Arrays{at_set(a[0], reshape(slice_axis(a[1], 0, 0, 1), {}), true)};
    return Arrays{scatter_add(a[0], a[1], a[2]), at_set(a[0], 3, 1)};
  });
  m.add("updated", {of({6, 5}), of({2, 3}), {DType::i32, {}}}, [](const Arrays& a) {
    return Arrays{dynamic_update_slice(a[0], a[1], {a[2], 1}),
                  dynamic_slice(a[0], {a[2], a[2]}, {3, 1})};
  });
  m.add("carried by lanes", {of({1030}), of({1030})}, [](const Arrays& a) {
    return Arrays{fori_loop(
        0, 6, [&](const Array&, const Array& s) { return stepped(s, a[1]); }, a[0])};
  });
  m.add("history in place", {of({17}), of({17})}, [](const Arrays& a) {
    const auto step = [&](const Array& i, const Array& history) {
      const Array before = dynamic_slice(history, {i}, {1});
      const Array next = stepped(before, dynamic_slice(a[1], {i}, {1}));
      return dynamic_update_slice(history, next, {i + 1});
    };
    return Arrays{fori_loop(0, 16, step, a[0])};
  });
  m.add("histories by lane", {of({33, 5}), of({33, 5})}, [](const Arrays& a) {
    const auto one = [](const Array& x, const Array& y) {
      const auto step = [&](const Array& i, const Array& history) {
        const Array next = stepped(dynamic_slice(history, {i}, {1}), dynamic_slice(y, {i}, {1}));
        return dynamic_update_slice(history, next, {i + 1});
      };
      return fori_loop(0, 4, step, x);
    };
    return Arrays{vmap(one)(a[0], a[1])};
  });
  m.add("stacked by lane", {of({35}), of({3, 35})}, [](const Arrays& a) {
    const auto step = [](const Array& s, const Array& x) {
      const Array next = stepped(s, x);
      return std::pair{next, next};
    };
    const auto [last, rows] = scan(step, a[0], a[1]);
    return Arrays{last, rows};
  });
  m.add("lanes that stop", {of({35})}, [](const Arrays& a) {
    struct State {
      Array x, count, odd;
    };
    const auto one = [](const Array& x) {
      const auto go = [](const State& s) { return s.count < 5 && s.odd; };
      const auto step = [&](State s) {
        const Array on = is_bool(x) ? x : x > 0;
        return State{stepped(s.x, x), s.count + 1, s.odd ^ (on && (s.count > 2))};
      };
      const State end = while_loop(
          go, step, State{x, zeros({}, DType::u8), ones({}, DType::boolean)}, {.max_steps = 8});
      return std::tuple{end.x, end.count, end.odd};
    };
    const auto [x, count, odd] = vmap(one)(a[0]);
    return Arrays{x, count, odd};
  });
  m.add("converted", {of({41})}, [t](const Arrays& a) {
    Arrays r;
    for (DType to : every_dtype)
      if (to != DType::f64 || t == DType::f64)
        r.push_back(cast(is_float(t) && is_unsigned(to) ? abs(a[0]) : a[0], to));
    return r;
  });
  if (t != DType::boolean)
    m.add("bits", {of({9, 8})}, [t](const Arrays& a) {
      Arrays r{bitcast(bitcast(a[0], DType::u8), t)};
      if (size_of(t) > 2) r.push_back(bitcast(a[0], DType::i16));
      if (size_of(t) < 4)
        r.push_back(bitcast(reshape(a[0], {18 * size_of(t), 4 / size_of(t)}), DType::u32));
      return r;
    });
  if (is_integer(t))
    m.add("integer arithmetic", {of({300}), of({300})}, [](const Arrays& a) {
      // Large numbers: the products of small ones wrap.
      const Array x = a[0] * 37 * (a[1] + 5) * 101, y = a[1] * 11;
      return Arrays{x / 3 > 7, x % 7,     floor_divide(x, y), remainder(x, y),
                    x << a[1], x >> a[1], popcount(x),        (x & y) | (x ^ ~y),
                    abs(x),    sign(x),   x * x * x,          where(x < y, x, y)};
    });
  if (is_float(t))
    m.add("float arithmetic", {of({300}), of({300})}, [](const Arrays& a) {
      const Array x = a[0], y = a[1] + 3;
      return Arrays{x / y,         floor(x * 8),       round(x * 8), sqrt(abs(x)),
                    maximum(x, y), isnan(x / (x - x)), x * 1000 * y, x / 3000 / y};
    });
  return m.programs;
}

double dtype_tolerance(DType t) { return t == DType::f32 ? 1e-5 : t == DType::f64 ? 1e-12 : 0; }

}  // namespace gnomon::testing
