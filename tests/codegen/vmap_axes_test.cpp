// tests/codegen/vmap_axes_test.cpp -- vmap with an axis for each array of an argument or result.
#include <tuple>
#include <utility>

#include "gnomon/partition.h"
#include "gnomon/random.h"
#include "gnomon/transform.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

struct Dense {
  Array weight, bias;
  int width = 3;
};
struct Network {
  std::vector<Dense> layers;
  Array scale;
};

struct LayerAxes {
  Axis weight = 0, bias = unmapped;
};
struct ModelAxes {
  std::vector<LayerAxes> layers;
  None scale;
};

Array affine(const Dense& l, const Array& x) { return l.weight * x + l.bias; }

TEST(VmapAxes, AreGivenByAStructOfAxes) {
  const auto f = [](const Array& w, const Array& b, const Array& x) {
    return vmap(affine, {.in_axes = {LayerAxes{}, unmapped}})(Dense{w, b}, x);
  };
  EXPECT_EQ(run(f, f32({1, 2, 3}), f32(10), f32(2)), (Numbers{12, 14, 16}));
}

TEST(VmapAxes, MayCountFromTheEndAndDifferByArray) {
  const auto f = [](const Array& w, const Array& b, const Array& x) {
    const LayerAxes axes{-1, 0};
    return vmap([](const Dense& l, const Array& v) { return sum(l.weight * v) + l.bias; },
                {.in_axes = {axes, unmapped}})(Dense{w, b}, x);
  };
  EXPECT_EQ(run(f, f32({2, 3}, {1, 2, 3, 4, 5, 6}), f32({100, 200, 300}), f32({1, 10})),
            (Numbers{141, 252, 363}));
}

TEST(VmapAxes, MayBeATreePrefix) {
  const auto model = [](const Network& m, const Array& x) {
    return (affine(m.layers[0], x) + affine(m.layers[1], x)) * m.scale;
  };
  const auto f = [&](const Array& w, const Array& b, const Array& s, const Array& x) {
    const Network m{{Dense{w, b}, Dense{w, w}}, s};
    struct Prefix {
      std::tuple<LayerAxes, int> layers;  // the second layer is mapped as a whole
      None scale;
    };
    const ModelAxes all{{{0, unmapped}, {0, 0}}, none};
    return std::pair{vmap(model, {.in_axes = {Prefix{{LayerAxes{}, 0}, none}, unmapped}})(m, x),
                     vmap(model, {.in_axes = {all, unmapped}})(m, x)};
  };
  const auto out = run_all(f, f32({1, 2}), f32(10), f32(3), f32(2));
  EXPECT_EQ(out[0], (Numbers{(2 + 10 + 2 + 1) * 3, (4 + 10 + 4 + 2) * 3}));
  EXPECT_EQ(out[1], out[0]);
}

TEST(VmapAxes, HolesAreNotMapped) {
  const auto f = [](const Array& w, const Array& b, const Array& x) {
    const Dense layer{w, b};
    const auto mapped = tree::filter(
        layer, [](Dense & l) -> auto& { return l.weight; });
    return vmap(affine, {.in_axes = {mapped, unmapped}})(layer, x);
  };
  EXPECT_EQ(run(f, f32({1, 2, 3}), f32(10), f32(2)), (Numbers{12, 14, 16}));
}

TEST(VmapAxes, OfResultsAreGivenByArrayToo) {
  const auto f = [](const Array& x) {
    const auto each = [](const Array& a) { return Dense{a * ones({2}), full({}, 7.0f)}; };
    const Dense whole = vmap(each, {.out_axes = {LayerAxes{1, unmapped}}})(x);
    const auto pair = vmap(
        [&](const Array& a) {
          return std::pair{a, each(a)};
        },
        {.out_axes = {0, LayerAxes{1, unmapped}}})(x);
    return std::tuple{whole.weight, whole.bias, pair.first, pair.second.weight, pair.second.bias};
  };
  EXPECT_EQ(run_all(f, f32({1, 2, 3})),
            (std::vector<Numbers>{{1, 2, 3, 1, 2, 3}, {7}, {1, 2, 3}, {1, 2, 3, 1, 2, 3}, {7}}));
}

TEST(VmapAxes, OfKeysInAPairStandBesideWhatIsShared) {
  const auto f = [](const Array& x) {
    const auto draw = [](std::pair<Key, Array> p) {
      return random::uniform(std::move(p.first), {}) * p.second;
    };
    std::pair<Keys, Array> in{random::split(random::key(3), 4), x};
    return vmap(draw, {.in_axes = {std::pair{0, unmapped}}})(in);
  };
  const Numbers got = run(f, f32(2));
  const Numbers want = run(
      [](const Array& x) {
        const Keys keys = random::split(random::key(3), 4);
        std::vector<Array> rows;
        for (Dim i = 0; i < 4; ++i) rows.push_back(random::uniform(keys[i], {}) * x);
        return stack(rows);
      },
      f32(2));
  EXPECT_EQ(got, want);
}

TEST(VmapAxes, SayWhichArrayTheyForgot) {
  struct OnlyWeight {
    int weight = 0;
  };
  const auto f = [](const Array& w, const Array& b) {
    return vmap([](const Dense& l) { return l.weight * l.bias; },
                {.in_axes = {OnlyWeight{}}})(Dense{w, b});
  };
  EXPECT_THAT(usage_error_of(f, f32({1, 2}), f32({1, 2})),
              HasSubstr("gnomon::vmap: in_axes says nothing of argument 0 `.bias`; it speaks of "
                        "`.weight` (vmap_axes_test.cpp:"));
  const auto g = [](const Array& w) {
    return vmap([](const Array& a) { return Dense{a, a}; }, {.out_axes = {OnlyWeight{}}})(w);
  };
  EXPECT_THAT(usage_error_of(g, f32({1, 2})),
              HasSubstr("out_axes says nothing of `.bias` of the result; it speaks of `.weight`"));
}

}  // namespace
}  // namespace gnomon::test
