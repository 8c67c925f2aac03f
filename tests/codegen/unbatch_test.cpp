// tests/codegen/unbatch_test.cpp -- vmap undone gives what there was before it, or nothing.
#include "codegen/transforms/unbatch.h"

#include <set>

#include "codegen/operations/table.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/vmap.h"
#include "gnomon/indexing.h"
#include "gnomon/loops.h"
#include "tests/codegen/graph_host.h"
#include "tests/codegen/primitive_cases.h"

namespace gnomon::test {
namespace {

constexpr Dim elements = 3;

std::optional<Graph> undone(const Graph& one, const std::vector<bool>& varies) {
  BatchAxes axes;
  for (const bool v : varies) axes.push_back(v ? std::optional<int>(0) : std::nullopt);
  return unbatch(vmap(one, axes, elements), varies, elements);
}

void expect_same(const Graph& got, const Graph& want, const std::vector<HostArray>& x,
                 const std::string& label) {
  verify(got);
  const auto a = evaluate(got, x), b = evaluate(want, x);
  ASSERT_EQ(a.size(), b.size()) << label;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].aval, b[i].aval) << label;
    EXPECT_EQ(a[i].bytes, b[i].bytes) << label << " output " << i;
  }
}

TEST(Unbatch, IsVmapUndoneForWhateverItKnows) {
  std::set<std::string_view> known;
  for (const Case& c : all_cases()) {
    const Graph one = graph_of(c);
    const std::size_t n = c.inputs.size();
    // All operands vary, and each alone.
    for (std::size_t alone = 0; alone <= n; ++alone) {
      if (n == 0) break;
      std::vector<bool> varies(n, alone == n);
      if (alone < n) varies[alone] = true;
      const auto back = undone(one, varies);
      if (!back) continue;
      known.insert(c.primitive->name);
      expect_same(*back, one, sample(c, 1), label(c));
    }
  }
  for (const Primitive* p : {&add_p, &select_p, &exp_p, &integer_pow_p, &convert_p, &broadcast_p,
                             &reshape_p, &permute_p, &slice_p, &reverse_p, &concatenate_p, &pad_p,
                             &sum_p, &reduce_max_p, &dot_general_p, &stop_gradient_p, &gather_p})
    EXPECT_TRUE(known.contains(p->name)) << p->name;
}

TEST(Unbatch, KnowsWhatIsLookedUpInASharedTable) {
  const auto row =
      graph_of([](const Array& t, const Array& i) { return t[i]; }, counting({4, 3}), i32(2));
  const auto rows = graph_of([](const Array& t, const Array& i) { return take(t, i, 1); },
                             counting({4, 3}), i32({2, -1}));
  const auto slice = graph_of(
      [](const Array& t, const Array& i) {
        return dynamic_slice(t, {i, 1}, {2, 2});
      },
      counting({4, 3}), i32(2));
  for (const Graph* one : {&row, &rows, &slice}) {
    const auto back = undone(*one, {false, true});
    ASSERT_TRUE(back.has_value());
    const Aval& ids = one->avals[one->inputs[1]];
    expect_same(*back, *one, {counting({4, 3}), ids.shape.rank() == 0 ? i32(2) : i32({2, -1})}, "");
  }
}

/// The graph of `f` under vmap over all arguments, taken apart again, does what `f` does.
template <class F, class... H>
void expect_undone(const F& f, const H&... inputs) {
  const Graph one = graph_of(f, inputs...);
  const auto back = undone(one, std::vector<bool>(sizeof...(H), true));
  ASSERT_TRUE(back.has_value());
  expect_same(*back, one, {inputs...}, "loop");
}

TEST(Unbatch, LoopsBecomeTheLoopsOfOneLane) {
  const auto f = [](const Array& x, const Array& limit) {
    const auto once = [&](const Array& v) {
      return scan(
                 [&](Array c, const Array& s) {
                   return std::pair{sin(c) + s * limit, c};
                 },
                 v, concatenate({x, x * v}))
          .first;
    };
    return while_loop([&](const Array& v) { return v < limit; },
                      [&](Array v) { return v + 0.5f + square(once(v)) * sum(x); }, x[0],
                      {.max_steps = 20});
  };
  expect_undone(f, f32({0.25, 0.5}), f32(3.0));
}

TEST(Unbatch, BranchesBecomeTheBranchesOfOneLane) {
  const auto f = [](const Array& x, const Array& limit) {
    return cond(
        x[0] < limit,
        [&] {
          return std::pair{sin(x) * limit, stop_gradient(x)};
        },
        [&] {
          return std::pair{square(x), take(x, arange(2) - 1)};
        });
  };
  expect_undone(f, f32({0.25, 0.5}), f32(3.0));
  expect_undone(f, f32({4, 0.5}), f32(3.0));
}

TEST(Unbatch, NothingWhereElementsMeet) {
  const auto refused = [](auto f, const HostArray& x) {
    return !unbatch(graph_of(f, x), {true}, elements).has_value();
  };
  const HostArray line = f32({1, 2, 3}), square_of = counting({3, 3});
  EXPECT_TRUE(refused([](const Array& x) { return x + sum(x); }, line));
  EXPECT_TRUE(refused([](const Array& x) { return flip(x, 0); }, line));
  EXPECT_TRUE(refused([](const Array& x) { return matmul(x, x); }, square_of));
  EXPECT_TRUE(refused([](const Array& x) { return transpose(x); }, square_of));
  EXPECT_TRUE(refused([](const Array& x) { return x + transpose(x); }, square_of));
  // What they share is not the same for all.
  EXPECT_TRUE(refused([](const Array& x) { return x + cast(arange(elements), DType::f32); }, line));
  EXPECT_FALSE(refused([](const Array& x) { return x + ones({elements}); }, line));
  EXPECT_FALSE(refused([](const Array& x) { return matmul(x, ones({3, 3})); }, square_of));
}

}  // namespace
}  // namespace gnomon::test
