// tests/support/loop_goldens.cpp -- loops with known answers.
#include "tests/support/loop_goldens.h"

#include <algorithm>
#include <limits>

#include "codegen/graph/verify.h"
#include "codegen/trace/function.h"
#include "gnomon/cumulative.h"
#include "gnomon/indexing.h"
#include "gnomon/loops.h"
#include "gnomon/masks.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace gnomon::testing {
namespace {

using Numbers = std::vector<double>;
using Two = std::pair<Array, Array>;

HostArray array(DType dtype, const Shape& shape, const Numbers& values) {
  HostArray h(Aval{dtype, shape});
  for (Dim i = 0; i < h.size(); ++i) h.set_number(i, values.at(static_cast<std::size_t>(i)));
  return h;
}
HostArray i32(const Numbers& v) { return array(DType::i32, Shape(v.size()), v); }
HostArray i32(double x) { return array(DType::i32, {}, {x}); }
HostArray f32(const Numbers& v) { return array(DType::f32, Shape(v.size()), v); }
HostArray f32(double x) { return array(DType::f32, {}, {x}); }

struct List {
  std::vector<LoopGolden> all;

  template <class F, class... H>
  void add(std::string name, F f, std::vector<Numbers> want, const H&... inputs) {
    auto traced = make_graph(f, placeholder(inputs.aval)...);
    verify(traced.graph);
    all.push_back({std::move(name), std::move(traced.graph), {inputs...}, std::move(want)});
  }
};

Array below(const Array& x, const Array& limit, const Array& step) {
  return while_loop([&](const Array& v) { return v < limit; }, [&](Array v) { return v + step; }, x,
                    {.max_steps = unbounded});
}
Array number(int x) { return full({}, x, DType::i32); }

void while_loops(List& list) {
  const auto count = [](const Array& pos, const Array& zero) {
    return while_loop([](const Two& s) { return s.first < 10; },
                      [](Two s) {
                        return Two{s.first + 1, s.second + 1};
                      },
                      Two{pos, zero}, {.max_steps = unbounded});
  };
  list.add("while counts from 2", count, {{10}, {8}}, i32(2), i32(0.0));
  list.add("while counts from 3", count, {{10}, {7}}, i32(3), i32(0.0));
  list.add("while false at once", count, {{12}, {5}}, i32(12), i32(5));
  list.add(
      "while with a constant",
      [](const Array& a, const Array& b) {
        return while_loop([](const Two& s) { return s.second < 10; },
                          [](Two s) {
                            return Two{number(7), s.second + 1};
                          },
                          Two{a, b}, {.max_steps = unbounded});
      },
      {{7}, {10}}, i32(33), i32(4));
  struct Three {
    Array a, b, c;
  };
  list.add(
      "while moves carries",
      [](const Array& a, const Array& b, const Array& c) {
        return while_loop([](const Three& s) { return s.b == 0; },
                          [](Three s) {
                            return Three{zeros({}), ones({}), s.a};
                          },
                          Three{a, b, c}, {.max_steps = unbounded});
      },
      {{0}, {1}, {5}}, f32(5), f32(0.0), f32(3.0));
  const auto nested = [](const Array& num) {
    const Array zero = number(0);
    const Three end =
        while_loop([&](const Three& s) { return s.a < num; },
                   [](Three s) {
                     s = while_loop([](const Three& t) { return t.b <= t.a; },
                                    [](Three t) {
                                      return Three{t.a, t.b + 1, t.c + 1};
                                    },
                                    Three{s.a, number(0), s.c}, {.max_steps = unbounded});
                     return Three{s.a + 1, s.b, s.c};
                   },
                   Three{zero, zero, zero}, {.max_steps = unbounded});
    return Two{end.a, end.c};
  };
  for (const auto& [n, steps] : {std::pair{2, 3}, {3, 6}, {4, 10}})
    list.add("nested while " + std::to_string(n), nested, {{double(n)}, {double(steps)}}, i32(n));

  Numbers full_square, triangle;
  for (int i = 0; i < 25; ++i) {
    full_square.push_back(i + 1);
    triangle.push_back(i % 5 <= i / 5 ? i + 1 : 0);
  }
  list.add(
      "nested while writes a triangle",
      [](const Array& arr) {
        const auto element = [&](Three s) {
          const Array x = dynamic_slice(arr, {s.a, s.b}, {1, 1});
          return Three{s.a, s.b + 1, dynamic_update_slice(s.c, x, {s.a, s.b})};
        };
        const auto row = [&](Three s) {
          s = while_loop([](const Three& t) { return t.b <= t.a; }, element,
                         Three{s.a, number(0), s.c}, {.max_steps = unbounded});
          return Three{s.a + 1, s.b, s.c};
        };
        return while_loop([](const Three& s) { return s.a < 5; }, row,
                          Three{number(0), number(0), zeros_like(arr)}, {.max_steps = unbounded})
            .c;
      },
      {triangle}, array(DType::f32, {5, 5}, full_square));

  list.add(
      "lanes below 3",
      [](const Array& x) {
        return vmap([](const Array& v) { return below(v, number(3), number(2)); })(x);
      },
      {{4, 3, 4, 3}}, i32({0, 1, 2, 3}));
  const auto by_limit = [](const Array& y) {
    return vmap([](const Array& v) { return below(number(0), v, number(2)); })(y);
  };
  list.add("lanes of limits", by_limit, {{2, 4}}, i32({2, 3}));
  list.add("lanes below their number", by_limit, {{0, 2, 2, 4}}, i32({0, 1, 2, 3}));
  list.add(
      "lanes of steps",
      [](const Array& y) {
        return vmap([](const Array& v) { return below(number(0), number(3), v); })(y);
      },
      {{4, 3}}, i32({2, 3}));
  list.add(
      "lanes with a carry that stays",
      [](const Array& x, const Array& y) {
        return vmap([](const Array& a, const Array& b) {
          return while_loop([](const Two& s) { return s.first + s.second < 5; },
                            [](Two s) {
                              return Two{s.first + 1, s.second};
                            },
                            Two{a, b}, {.max_steps = unbounded});
        })(x, y);
      },
      {{4, 3}, {1, 2}}, i32({0, 0}), i32({1, 2}));

  // A comparison with NaN does not hold, nor does the loop go on for the others' sake.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto doubled = [](const Array& x) {
    const auto r = while_loop_counted([](const Array& v) { return v < 100.0f; },
                                      [](Array v) { return v * 2; }, x, {.max_steps = 5});
    return std::pair{r.steps, r.bound_hit};
  };
  list.add("NaN in a condition", doubled, {{0}, {0}}, f32(nan));
  list.add(
      "becoming NaN ends a loop",
      [](const Array& x) {
        const auto r =
            while_loop_counted([](const Two& s) { return s.first < 100.0f; },
                               [](Two s) {
                                 return Two{s.first + s.second * s.second, s.second * 1e15f};
                               },
                               Two{x, x * 0 + 1e15f}, {.max_steps = 50});
        return std::pair{r.steps, r.bound_hit};
      },
      {{1}, {0}}, f32(-1.0));
  list.add(
      "counted lanes", [=](const Array& x) { return vmap(doubled)(x); },
      {{5, 4, 0, 0, 5, 5}, {1, 0, 0, 0, 1, 0}}, f32({1, 8, 200, nan, -1, 3.5}));
  for (const int bound : {0, 1, 2})
    list.add(
        "bound " + std::to_string(bound),
        [=](const Array& x) {
          const auto r = while_loop_counted([](const Array& v) { return v < 2; },
                                            [](Array v) { return v + 1; }, x, {.max_steps = bound});
          return std::tuple{r.state, r.steps, r.bound_hit};
        },
        {{double(bound)}, {double(bound)}, {double(bound < 2)}}, i32(0.0));
}

void fori_loops(List& list) {
  const auto sum = [](const Array& n) {
    return fori_loop(0, n, [](Array i, Array total) { return total + i; }, 0,
                     {.max_steps = unbounded});
  };
  for (const auto& [n, total] : {std::pair{2, 1}, {3, 3}, {4, 6}, {0, 0}, {-1, 0}})
    list.add("fori adds up to " + std::to_string(n), sum, {{double(total)}}, i32(n));
  const auto closure = [](const Array& n) {
    return fori_loop(0, n, [&](Array i, Array total) { return total + i + n; }, 0,
                     {.max_steps = unbounded});
  };
  for (const auto& [n, total] : {std::pair{2, 5}, {3, 12}, {4, 22}})
    list.add("fori with a closure " + std::to_string(n), closure, {{double(total)}}, i32(n));
  list.add(
      "fori in lanes",
      [](const Array& x) {
        return vmap([](const Array& v) {
          return fori_loop(
              0, 10,
              [](Array, Two s) {
                return Two{s.first + 1, s.second + 2};
              },
              Two{v, number(0)});
        })(x);
      },
      {{10, 11}, {20, 20}}, i32({0, 1}));
  for (const int unroll : {1, 2, 0}) {
    const std::string by = " by " + std::to_string(unroll);
    const auto powers = [=](const Array& x) {
      return fori_loop(0, 3, [](Array, Array v) { return v * 2; }, x, {.unroll = unroll});
    };
    list.add(
        "fori doubles" + by, [=](const Array& x) { return jvp(powers, x, ones_like(x)); },
        {{16}, {8}}, f32(2));
    const auto factorial = [=](const Array& x) {
      return fori_loop(0, 3, [](Array i, Array v) { return v * (cast(i, DType::f32) + 1); }, x,
                       {.unroll = unroll});
    };
    list.add(
        "fori multiplies" + by, [=](const Array& x) { return jvp(factorial, x, ones_like(x)); },
        {{12}, {6}}, f32(2));
  }
  const auto prefix = [](const Array& x, const Array& n) {
    return fori_loop(0, minimum(n, 10), [&](Array i, Array total) { return total + x[i]; }, 0.0f,
                     {.max_steps = 10});
  };
  for (const auto& [n, total] : {std::pair{0, 0}, {5, 10}, {10, 45}, {15, 45}})
    list.add("fori over a prefix of " + std::to_string(n), prefix, {{double(total)}},
             f32({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), i32(n));
}

void scans(List& list) {
  const auto add = [](Array c, Array x) { return std::pair{c + x, c + x}; };
  for (const int unroll : {1, 2, 4, 5, 6, 7, 0})
    for (const bool reverse : {false, true})
      list.add(
          "cumulative sum by " + std::to_string(unroll) + (reverse ? " backwards" : ""),
          [=](const Array& xs) {
            return scan(add, 0.0f, xs, {.reverse = reverse, .unroll = unroll});
          },
          {{23}, reverse ? Numbers{23, 20, 19, 15, 14, 9} : Numbers{3, 4, 8, 9, 14, 23}},
          f32({3, 1, 4, 1, 5, 9}));
  Numbers twenty;
  for (int i = 0; i < 20; ++i) twenty.push_back(i);
  list.add(
      "scan of a length",
      [](const Array& x) {
        return scan([](Array c, None) { return std::pair{c + 1, c}; }, x, none, {.length = 20});
      },
      {{20}, twenty}, i32(0.0));
  struct Four {
    Array a, b, c, d;
  };
  list.add(
      "scan shifts its carry",
      [](const Array& a, const Array& b, const Array& c, const Array& d) {
        return scan(
                   [](Four s, None) {
                     return std::pair{Four{s.b, s.c, s.d, 0 * s.d}, none};
                   },
                   Four{broadcast_to(a, {3}), broadcast_to(b, {3}), broadcast_to(c, {3}), d}, none,
                   {.length = 2})
            .first;
      },
      {{2, 2, 2}, {3, 4, 5}, {0, 0, 0}, {0, 0, 0}}, f32(0.0), f32(1), f32(2), f32({3, 4, 5}));

  const auto some = [=](const Array& xs, const Array& n) {
    const auto r = scan(add, 0.0f, xs, {.length = n});
    return std::tuple{r.carry, r.rows, r.count};
  };
  const Numbers sums{3, 4, 8, 9, 14, 23};
  for (const int n : {-3, 0, 1, 4, 6, 100}) {
    const int taken = std::clamp(n, 0, 6);
    Numbers rows(6, 0.0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(taken); ++i) rows[i] = sums[i];
    list.add(
        "scan of the first " + std::to_string(n), some,
        {{taken == 0 ? 0.0 : rows[static_cast<std::size_t>(taken) - 1]}, rows, {double(taken)}},
        f32({3, 1, 4, 1, 5, 9}), i32(n));
  }
  list.add(
      "scan of a length by lane",
      [=](const Array& xs, const Array& n) {
        return vmap(some, {.in_axes = {unmapped, 0}})(xs, n);
      },
      {{3, 0, 23}, {3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 4, 8, 9, 14, 23}, {1, 0, 6}},
      f32({3, 1, 4, 1, 5, 9}), i32({1, 0, 9}));
  list.add(
      "scan of a length without sequences",
      [](const Array& n) {
        const auto r = scan(
            [](Array c, None) {
              return std::pair{c * 2, std::pair{c, broadcast_to(c + 1, {2})}};
            },
            number(1), none, {.length = n, .max_steps = 4});
        return std::tuple{r.carry, r.rows, r.count};
      },
      {{8}, {1, 2, 4, 0}, {2, 2, 3, 3, 5, 5, 0, 0}, {3}}, i32(3));

  const auto squares = [](Dim batch) {
    return [=](const Array& xs) {
      const MapOptions options = batch > 0 ? MapOptions{batch} : MapOptions{};
      return map_each([](const Array& x) { return std::pair{sum(x * x), x + 1}; }, xs, options);
    };
  };
  for (const Dim batch : {0, 1, 2, 3, 5, 9})
    list.add("map by " + std::to_string(batch), squares(batch),
             {{1, 13, 41, 85, 145}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
             array(DType::f32, {5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

void masked(List& list) {
  const auto packed = [](std::optional<Dim> size) {
    return [=](const Array& x, const Array& y) {
      const auto r = compact(Two{x, y}, x > 0, {.size = size, .fill = -1});
      return std::tuple{r.rows, r.count, r.bound_hit};
    };
  };
  const HostArray x = i32({0, 3, 0, 0, 5, 6, 0}),
                  y = array(DType::f32, {7, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
  list.add(
      "compact", packed({}),
      {{3, 5, 6, -1, -1, -1, -1}, {2, 3, 8, 9, 10, 11, -1, -1, -1, -1, -1, -1, -1, -1}, {3}, {0}},
      x, y);
  list.add("compact into 3", packed(3), {{3, 5, 6}, {2, 3, 8, 9, 10, 11}, {3}, {0}}, x, y);
  list.add("compact into 2", packed(2), {{3, 5}, {2, 3, 8, 9}, {2}, {1}}, x, y);
  list.add(
      "valid rows",
      [](const Array& n, const Array& m) {
        return std::pair{first_valid(n, 4), valid_count(m > 0, {1})};
      },
      {{1, 1, 1, 0}, {2, 0}}, i32(3), array(DType::i32, {2, 3}, {1, 0, 5, 0, 0, 0}));
  list.add(
      "no valid rows", [](const Array& n) { return first_valid(n, 3); }, {{0, 0, 0}}, i32(-2));
}

}  // namespace

std::vector<LoopGolden> loop_goldens() {
  List list;
  while_loops(list);
  fori_loops(list);
  scans(list);
  masked(list);
  return std::move(list.all);
}

}  // namespace gnomon::testing
