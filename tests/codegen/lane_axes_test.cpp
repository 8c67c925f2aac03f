// tests/codegen/lane_axes_test.cpp -- axes along which graphs keep elements apart, found again by
// changing one element; and which loops are written out for that.
#include "codegen/analysis/lane_axes.h"

#include <set>

#include "codegen/operations/table.h"
#include "codegen/transforms/vmap.h"
#include "gnomon/arrange.h"
#include "gnomon/indexing.h"
#include "tests/codegen/graph_host.h"
#include "tests/codegen/primitive_cases.h"
#include "tests/support/lowering.h"

namespace gnomon::test {
namespace {

constexpr Dim elements = 3;

/// `a` with what `b` has for one of the elements along axis 0.
HostArray changed(HostArray a, const HostArray& b, Dim element) {
  const std::size_t row = a.bytes.size() / static_cast<std::size_t>(a.aval.shape[0]);
  const auto from = static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(element));
  std::copy_n(b.bytes.begin() + from, row, a.bytes.begin() + from);
  return a;
}

/// Nothing but element i along `axis` of an output changes with element i of the flagged inputs.
void expect_apart(const Graph& g, const std::vector<bool>& varies, const std::vector<int>& axes,
                  const std::string& label) {
  std::vector<HostArray> x;
  for (std::size_t i = 0; i < g.inputs.size(); ++i)
    x.push_back(testing::random_array(g.avals[g.inputs[i]], static_cast<std::uint32_t>(i + 1)));
  const auto before = evaluate(g, x);
  for (Dim element = 0; element < elements; ++element) {
    auto other = x;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (varies[i])
        other[i] = changed(
            x[i], testing::random_array(x[i].aval, static_cast<std::uint32_t>(i + 100)), element);
    const auto after = evaluate(g, other);
    for (std::size_t o = 0; o < before.size(); ++o) {
      const Shape& s = before[o].aval.shape;
      const int axis = axes[o];
      if (s.size() == 0) continue;
      if (axis >= 0) {
        ASSERT_EQ(s[axis], elements) << label;
      }
      const Dim inner = axis < 0 ? 1 : s.part(axis + 1, s.rank()).size();
      const std::size_t size = before[o].bytes.size() / static_cast<std::size_t>(s.size());
      for (Dim i = 0; i < s.size(); ++i) {
        if (axis >= 0 && i / inner % elements == element) continue;
        const auto at = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * size);
        ASSERT_TRUE(std::equal(before[o].bytes.begin() + at,
                               before[o].bytes.begin() + at + static_cast<std::ptrdiff_t>(size),
                               after[o].bytes.begin() + at))
            << label << ": output " << o << " at " << i << " for element " << element;
      }
    }
  }
}

TEST(LaneAxes, AreThoseAlongWhichAnElementIsChanged) {
  std::set<std::string_view> known;
  for (const Case& c : all_cases()) {
    const Graph one = graph_of(c);
    const std::size_t n = c.inputs.size();
    for (std::size_t alone = 0; alone <= n && n > 0; ++alone) {
      std::vector<bool> varies(n, alone == n);
      if (alone < n) varies[alone] = true;
      BatchAxes axes;
      for (const bool v : varies) axes.push_back(v ? std::optional<int>(0) : std::nullopt);
      const Graph all = vmap(one, axes, elements);
      const auto found = lane_axes(all, varies);
      if (!found) continue;
      known.insert(c.primitive->name);
      expect_apart(all, varies, *found, label(c));
    }
  }
  for (const Primitive* p :
       {&add_p,           &select_p,  &exp_p,           &integer_pow_p, &convert_p,
        &broadcast_p,     &reshape_p, &permute_p,       &slice_p,       &reverse_p,
        &concatenate_p,   &pad_p,     &sum_p,           &reduce_max_p,  &dot_general_p,
        &stop_gradient_p, &gather_p,  &dynamic_slice_p, &while_p,       &scan_p,
        &cond_p})
    EXPECT_TRUE(known.contains(p->name)) << p->name;
}

TEST(LaneAxes, FollowElementsAmongWhatTheyShare) {
  const auto check = [](auto f, int axis, const auto&... inputs) {
    const Graph g = graph_of(f, inputs...);
    std::vector<bool> varies(sizeof...(inputs), false);
    varies[0] = true;
    const auto found = lane_axes(g, varies);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ((*found)[0], axis);
    expect_apart(g, varies, *found, "");
  };
  const HostArray line = f32({1, 2, 3}), square_of = counting({3, 3});
  check([](const Array& x, const Array& y) { return x * roll(y, 1, 0); }, 0, line, line);
  check([](const Array& x, const Array& y) { return matmul(x, y) + x; }, 0, square_of, square_of);
  check([](const Array& x, const Array& y) { return matmul(y, transpose(x)); }, 1, square_of,
        square_of);
  check([](const Array& x) { return transpose(x) * 2; }, 1, square_of);
  check([](const Array& x) { return roll(x, 1, 1) + sum(x, {1}, {.keepdims = true}); }, 0,
        square_of);
  check([](const Array&, const Array& y) { return sum(y); }, -1, line, line);
  // Carried values that begin without the axis get it in a step; so do those of lanes that stop
  // apart.
  check(
      [](const Array& x) {
        return fori_loop(
            0, 3, [&](const Array&, const Array& y) { return y + x; }, zeros({3}));
      },
      0, line);
  check(
      [](const Array& x, const Array& y) {
        return scan(
                   [&](const Array& c, const Array& row) {
                     return std::pair{c + row, c * row};
                   },
                   zeros({3}), swapaxes(x, 0, 1) * y)
            .second;
      },
      1, square_of, line);
  check(
      [](const Array& x, const Array& y) {
        return vmap([](const Array& a, const Array& b) {
          return while_loop([&](const Array& c) { return c < 9; },
                            [&](const Array& c) { return c + a; }, b, {.max_steps = 9});
        })(x, y);
      },
      0, line, line);
  // How often a lane takes a step is its own, whatever else it carries.
  check(
      [](const Array& x) {
        return vmap([](const Array& a) {
                 return while_loop([](const std::pair<Array, Array>& c) { return c.first < 9; },
                                   [](std::pair<Array, Array> c) {
                                     return std::pair{c.first + 1, c.second + 2};
                                   },
                                   std::pair{a, zeros({})}, {.max_steps = 9});
               })(x)
            .second;
      },
      0, line);
  check(
      [](const Array& x, const Array& y) {
        return cond(
            sum(y) > 2, [](const Array& a) { return a * 2; },
            [](const Array&) { return zeros({3}); }, x);
      },
      0, line, line);
}

TEST(LaneAxes, AreNoneWhereElementsMeet) {
  const auto meet = [](auto f, const HostArray& x) {
    return !lane_axes(graph_of(f, x), {true}).has_value();
  };
  const HostArray line = f32({1, 2, 3}), square_of = counting({3, 3});
  EXPECT_TRUE(meet([](const Array& x) { return x + sum(x); }, line));
  EXPECT_TRUE(meet([](const Array& x) { return flip(x, 0); }, line));
  EXPECT_TRUE(meet([](const Array& x) { return roll(x, 1, 0); }, line));
  EXPECT_TRUE(meet([](const Array& x) { return x[0] + ones({3}); }, line));
  EXPECT_TRUE(meet([](const Array& x) { return x[array({2, 1, 0})]; }, line));
  EXPECT_TRUE(meet([](const Array& x) { return matmul(x, x); }, square_of));
  EXPECT_TRUE(meet([](const Array& x) { return matmul(ones({3, 3}), x); }, square_of));
  EXPECT_TRUE(meet([](const Array& x) { return x + transpose(x); }, square_of));
  const auto three_times = [](auto step) {
    return [step](const Array& x) {
      return fori_loop(
          0, 3, [&](const Array&, const Array& y) { return step(y); }, x);
    };
  };
  EXPECT_TRUE(meet(three_times([](const Array& y) { return roll(y, 1, 0); }), line));
  EXPECT_TRUE(meet(three_times([](const Array& y) { return transpose(y); }), square_of));
  EXPECT_TRUE(meet(
      [](const Array& x) {
        return scan(
                   [](const Array& c, const Array& row) {
                     return std::pair{c + row, c};
                   },
                   zeros({3}), x)
            .first;
      },
      square_of));
  EXPECT_TRUE(meet(
      [](const Array& x) {
        return while_loop([](const Array& c) { return sum(c) < 9; },
                          [](const Array& c) { return c + 1; }, x, {.max_steps = 9});
      },
      line));
  EXPECT_TRUE(meet(
      [](const Array& x) {
        return cond(
            x[0] > 2, [](const Array& a) { return a; }, [](const Array& a) { return a * 2; }, x);
      },
      line));
}

std::size_t equations(const Graph& g) {
  std::size_t n = g.equations.size();
  for (const Equation& e : g.equations)
    for (const GraphPtr& sub : e.params.graphs()) n += equations(*sub);
  return n;
}

TEST(LoopKinds, StepsAreWrittenOutWhereElementsStayApart) {
  // A step of so many elements is short for each, and long for all of them together.
  const HostArray x = counting({400});
  const auto gradient = [&](auto step, LoopKind kind) {
    return equations(graph_of(
        [&](const Array& v) {
          return grad([&](const Array& u) {
            return sum(fori_loop(0, 40, [&](const Array&, const Array& y) { return step(y); }, u,
                                 {.kind = kind}));
          })(v);
        },
        x));
  };
  const auto apart = [](const Array& v) { return v - 0.1f * v * v; };
  const auto meeting = [](const Array& v) { return v + 0.1f * v * (roll(v, 1, 0) - v); };
  EXPECT_GT(gradient(apart, LoopKind::automatic), 3 * gradient(apart, LoopKind::stored));
  EXPECT_EQ(gradient(meeting, LoopKind::automatic), gradient(meeting, LoopKind::stored));
  // A condition over all elements has them go through the loop together.
  const auto until = [&](LoopKind kind) {
    return equations(graph_of(
        [&](const Array& v) {
          return grad([&](const Array& u) {
            return sum(while_loop([](const Array& y) { return sum(y) > 1; },
                                  [&](const Array& y) { return apart(y); }, u,
                                  {.max_steps = 40, .kind = kind}));
          })(v);
        },
        x));
  };
  EXPECT_EQ(until(LoopKind::automatic), until(LoopKind::stored));
}

}  // namespace
}  // namespace gnomon::test
