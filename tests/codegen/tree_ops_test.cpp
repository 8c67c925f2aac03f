// tests/codegen/tree_ops_test.cpp -- parts of trees replaced, numbers of whole trees, trees as
// vectors and as text.
#include "gnomon/tree_ops.h"

#include <cmath>
#include <optional>
#include <tuple>

#include "gnomon/jacobian.h"
#include "gnomon/partition.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

struct OpsLayer {
  Array weight, bias;
  int width = 3;
};
struct Model {
  std::vector<OpsLayer> layers;
  Array scale;
  std::string name = "net";
  std::optional<OpsLayer> head = {};
};

Array f32_array(const Shape& shape) { return abstract_array(DType::f32, shape); }
Model sample() {
  return {{{f32_array({2, 3}), f32_array({2})}, {f32_array({4, 2}), Array::hole()}}, f32_array({})};
}
std::string type_of(const Array& a) { return a.is_hole() ? "hole" : to_string(a.aval()); }

// ---- at

TEST(TreeAt, ReplacesTheNamedPartOnly) {
  const Model before = sample();
  const Model after = tree::at(
      [](auto& m) -> auto& { return m.layers[0].weight; }, before, f32_array({5}));
  EXPECT_EQ(type_of(after.layers[0].weight), "f32[5]");
  EXPECT_EQ(type_of(after.layers[0].bias), "f32[2]");
  EXPECT_EQ(type_of(after.layers[1].weight), "f32[4,2]");
  EXPECT_EQ(type_of(before.layers[0].weight), "f32[2,3]");
  EXPECT_EQ(after.name, "net");
}

TEST(TreeAt, ReplacesSeveralPartsSubtreesHolesAndStaticValues) {
  const Model m = tree::at(
      [](auto& t) { return std::tie(t.layers[0], t.layers[1].bias, t.layers[1].width, t.head); },
      sample(),
      std::tuple{OpsLayer{f32_array({7}), f32_array({8}), 9}, f32_array({4}), 11,
                 std::optional<OpsLayer>(OpsLayer{f32_array({}), f32_array({})})});
  EXPECT_EQ(type_of(m.layers[0].weight) + type_of(m.layers[0].bias), "f32[7]f32[8]");
  EXPECT_EQ(m.layers[0].width, 9);
  EXPECT_EQ(type_of(m.layers[1].bias), "f32[4]");
  EXPECT_EQ(m.layers[1].width, 11);
  EXPECT_TRUE(m.head.has_value());
}

TEST(TreeAt, TakesAFunctionOfThePart) {
  const auto f = [](const Array& w, const Array& b) {
    const OpsLayer l = tree::at(
        [](auto& t) -> auto& { return t.weight; }, OpsLayer{w, b},
        [](const Array& old) { return 10 * old; });
    return tree::at([](auto& t) { return std::tie(t.weight, t.bias); }, l,
                    std::tuple{[](const Array& x) { return x + 1; }, b * b});
  };
  EXPECT_EQ(run_all(f, f32({1, 2}), f32(3)), (std::vector<Numbers>{{11, 21}, {9}}));
}

TEST(TreeAt, SaysWhatIsNotInTheTreeOrNamedTwice) {
  OpsLayer other{f32_array({}), f32_array({})};
  const auto message = [](const auto& run) -> std::string {
    try {
      run();
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(message([&] {
                tree::at(
                    [&](auto&) -> auto& { return other.weight; }, other, f32_array({}));
              }),
              HasSubstr("array 0 of what the selector gives is not in the tree"));
  EXPECT_THAT(message([&] {
                tree::at([](auto& l) { return std::tie(l.weight, l.weight); }, other,
                         std::tuple{f32_array({}), f32_array({})});
              }),
              HasSubstr("the selector names one array twice"));
}

// ---- reduce, dot, norm

TEST(TreeReduce, GoesOverArraysInOrder) {
  const std::string shapes =
      tree::reduce([](std::string s, const Array& a) { return s + to_string(a.aval()) + ";"; },
                   sample(), std::string());
  EXPECT_EQ(shapes, "f32[2,3];f32[2];f32[4,2];f32[];");
  EXPECT_EQ(tree::reduce([](Dim n, const Array& a) { return n + a.size(); }, sample(), Dim{0}), 17);
}

TEST(TreeReduce, MakesAnArrayOfANumber) {
  const auto f = [](const Array& w, const Array& b) {
    const auto add = [](const auto& total, const Array& a) { return total + sum(a); };
    return tree::reduce(add, OpsLayer{w, b}, 0.5f);
  };
  EXPECT_EQ(run(f, f32({1, 2}), f32(3)), Numbers{6.5});
}

TEST(TreeDot, SumsAllProductsAndSkipsHoles) {
  const auto f = [](const Array& w, const Array& b) {
    const OpsLayer one{w, b}, hole{2 * w, Array::hole()};
    return std::tuple{tree::dot(one, one), tree::dot(one, hole), tree::dot(None{}, None{})};
  };
  EXPECT_EQ(run_all(f, f32({1, 2}), f32(3)), (std::vector<Numbers>{{14}, {10}, {0}}));
}

TEST(TreeDot, NamesShapesThatDiffer) {
  const auto f = [](const Array& w, const Array& b) {
    return tree::dot(OpsLayer{w, b}, OpsLayer{w, w});
  };
  EXPECT_THAT(usage_error_of(f, f32({1, 2}), f32(3)),
              HasSubstr("gnomon::tree::dot: array 1 is f32[] in one tree and f32[2] in the other"));
}

TEST(TreeNorm, IsTheNormOfAllElementsWithADerivativeEverywhere) {
  const auto f = [](const Array& w, const Array& b) {
    const auto norm = [](const OpsLayer& l) { return tree::norm(l); };
    const OpsLayer at{w, b}, zero{0 * w, 0 * b};
    const OpsLayer slope = grad(norm)(at), flat = grad(norm)(zero);
    return std::tuple{norm(at), norm(zero), slope.weight, slope.bias, flat.weight, flat.bias};
  };
  const auto out = run_all(f, f32({2, 3}), f32(6));
  EXPECT_EQ(out[0], Numbers{7});
  EXPECT_EQ(out[1], Numbers{0});
  expect_near(out[2], {2.0 / 7, 3.0 / 7});
  expect_near(out[3], {6.0 / 7});
  EXPECT_EQ(out[4], (Numbers{0, 0}));
  EXPECT_EQ(out[5], Numbers{0});
  const auto nan = [](const Array& x) { return tree::norm(x); };
  EXPECT_TRUE(std::isnan(run(nan, f32({1, NAN}))[0]));
}

TEST(TreeNorm, CountsBoolsAsNumbers) {
  const auto f = [](const Array& w, const Array& b) {
    const OpsLayer tree{w, b > 0};
    return std::tuple{tree::norm(tree), tree::dot(tree, tree), tree::norm(b > 0),
                      tree::dot(b > 0, b > 1)};
  };
  EXPECT_EQ(run_all(f, f32({1, 2}), f32({-1, 1, 3, 7, 9})),
            (std::vector<Numbers>{{3}, {9}, {2}, {3}}));
}

TEST(TreeAdd, NamesTheBool) {
  const auto sum = [](const Array& w) { return tree::add(OpsLayer{w, w > 0}, OpsLayer{w, w > 1}); };
  EXPECT_THAT(usage_error_of(sum, f32({1, 2})),
              HasSubstr("gnomon::tree::add: array 1 is bool[2], which is no number"));
  const auto twice = [](const Array& w) { return tree::scale(2, OpsLayer{w, w > 0}); };
  EXPECT_THAT(usage_error_of(twice, f32({1, 2})),
              HasSubstr("gnomon::tree::scale: array 1 is bool[2], which is no number"));
}

// ---- ravel

TEST(TreeRavel, IsUndoneByUnravel) {
  const auto f = [](const Array& w, const Array& b, const Array& n) {
    const Model m{{{w, Array::hole()}, {n, b}}, b};
    const auto r = tree::ravel(m);
    EXPECT_EQ(r.flat.aval(), (Aval{DType::f32, {7}}));
    EXPECT_EQ(r.unravel.size(), 7);
    const Model twice = r.unravel(2 * r.flat);
    EXPECT_EQ(twice.layers[1].weight.dtype(), DType::i32);
    EXPECT_TRUE(twice.layers[0].bias.is_hole());
    EXPECT_EQ(twice.name, "net");
    return std::tuple{r.flat, twice.layers[0].weight, twice.layers[1].weight, twice.scale};
  };
  const auto out = run_all(f, f32({2, 2}, {1, 2, 3, 4}), f32(5), i32(6));
  EXPECT_EQ(out, (std::vector<Numbers>{{1, 2, 3, 4, 6, 5, 5}, {2, 4, 6, 8}, {12}, {10}}));
}

TEST(TreeRavel, MakesOneMatrixOfAJacobian) {
  const auto f = [](const Array& w, const Array& b) {
    const auto y = [](const OpsLayer& l) { return OpsLayer{l.weight * l.bias, sum(l.weight)}; };
    const auto r = tree::ravel(OpsLayer{w, b});
    return jacfwd([&](const Array& v) { return tree::ravel(y(r.unravel(v))).flat; })(r.flat);
  };
  EXPECT_EQ(run(f, f32({1, 2}), f32(3)), (Numbers{3, 0, 1, 0, 3, 2, 1, 1, 0}));
}

TEST(TreeRavel, OfNothingIsEmptyAndOtherSizesAreRefused) {
  const auto f = [](const Array& x) {
    const auto none_at_all = tree::ravel(None{});
    EXPECT_EQ(none_at_all.flat.aval(), (Aval{DType::f32, {0}}));
    return tree::ravel(OpsLayer{x, x}).unravel(ones({3})).weight;
  };
  EXPECT_THAT(usage_error_of(f, f32({1, 2})),
              HasSubstr("gnomon::tree::unravel: the vector is f32[3] and the tree has 4 elements"));
}

// ---- text

TEST(TreeText, HasPlacesTypesSizesAndSums) {
  EXPECT_EQ(tree::to_string(sample()),
            ".layers[0].weight  f32[2,3]  6  24 bytes\n"
            ".layers[0].bias    f32[2]    2  8 bytes\n"
            ".layers[0].width   3\n"
            ".layers[1].weight  f32[4,2]  8  32 bytes\n"
            ".layers[1].bias    hole\n"
            ".layers[1].width   3\n"
            ".scale             f32[]     1  4 bytes\n"
            ".name              \"net\"\n"
            ".head              absent\n"
            "4 arrays, 17 elements, 68 bytes\n");
  EXPECT_EQ(tree::to_string(f32_array({1024, 1024})),
            "f32[1024,1024]  1048576  4.0 MiB\n1 array, 1048576 elements, 4.0 MiB\n");
}

}  // namespace
}  // namespace gnomon::test
