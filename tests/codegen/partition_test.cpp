// tests/codegen/partition_test.cpp -- trees taken apart by leaf and put together again.
#include "gnomon/partition.h"

#include "gnomon/detail/signature.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

struct Layer {
  Array weight, bias;
};
struct Net {
  std::vector<Layer> layers;
  Array count;
  std::optional<Array> scale;
  int width = 2;
};

Net example() {
  const Array w = placeholder({DType::f32, {2}}), b = placeholder({DType::f64, {}});
  return {{{w, b}, {w, b}}, placeholder({DType::i32, {}}), w, 5};
}
/// "x" where an array is, "-" where a hole is.
template <class T>
std::string picture(const T& tree) {
  std::string r;
  for (const Array& a : tree::slots(tree)) r += a.is_hole() ? '-' : 'x';
  return r;
}

TEST(Partition, ByWhatAnArrayIs) {
  const auto [floats, rest] = tree::separate(example(), tree::is_float);
  EXPECT_EQ(picture(floats), "xxxx-x");
  EXPECT_EQ(picture(rest), "----x-");
  EXPECT_EQ(floats.width, 5);
  EXPECT_EQ(tree::leaves(floats).size(), 5u);
  EXPECT_EQ(picture(tree::filter(example(), [](const Array& a) { return a.rank() == 0; })),
            "-x-xx-");
}

TEST(Partition, ByWhereItIs) {
  const auto bias = [](const Array&, const std::string& path) {
    return path.find(".bias") != path.npos;
  };
  EXPECT_EQ(picture(tree::filter(example(), bias)), "-x-x--");
}

TEST(Partition, ByNamingParts) {
  EXPECT_EQ(picture(tree::filter(
                example(), [](Net & n) -> auto& { return n.layers[1]; })),
            "--xx--");
  EXPECT_EQ(
      picture(tree::filter(example(), [](Net& n) { return std::tie(n.layers[0].bias, n.count); })),
      "-x--x-");
  const auto copies = [](Net& n) { return std::tuple{n.count}; };
  EXPECT_THROW(tree::filter(example(), copies), UsageError);
}

TEST(Partition, CombineIsTheTreeAgain) {
  const Net net = example();
  const auto [first, rest] = tree::separate(net, tree::is_float);
  const auto [second, third] = tree::separate(rest, [](const Array&) { return true; });
  EXPECT_EQ(picture(third), "------");
  const Net back = tree::combine(third, first, second);
  EXPECT_EQ(picture(back), "xxxxxx");
  EXPECT_EQ(tree::leaves(back)[1].dtype(), DType::f64);
  EXPECT_EQ(signature_of(back), signature_of(net));
}

TEST(Partition, CombineRefusesTwoOfOneAndOtherStructures) {
  const auto message = [](const Net& a, const Net& b) -> std::string {
    try {
      tree::combine(a, b);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(message(tree::filter(example(), tree::is_float), example()),
              HasSubstr("gnomon::tree::combine: `.layers[0].weight` is in tree 0 and in tree 1"));
  Net longer = tree::filter(example(), tree::is_integer);
  longer.layers.push_back(longer.layers[0]);
  EXPECT_THAT(message(tree::filter(example(), tree::is_float), longer),
              HasSubstr("tree 1 has another number of arrays"));
}

TEST(Holes, ArePartOfASignatureAndNoLeaves) {
  const Net net = example();
  const Net floats = tree::filter(net, tree::is_float);
  EXPECT_NE(signature_of(net), signature_of(floats));
  EXPECT_THAT(explain(describe_signature(net), describe_signature(floats)),
              HasSubstr("argument 0 `.count` was i32[], is a hole"));
  EXPECT_NE(signature_of(Layer{placeholder({}), Array::hole()}),
            signature_of(Layer{Array::hole(), placeholder({})}));
  EXPECT_THROW(floats.count.aval(), UsageError);
  EXPECT_FALSE(floats.count.empty());
}

TEST(Holes, MapAndAddGoByPlace) {
  const auto f = [](const Array& a, const Array& b) {
    const Layer left{a, Array::hole()}, both{a, b};
    const Layer sum = tree::add(left, both);
    const Layer twice = tree::map([](const Array& x, const Array& y) { return x * y; }, left, both);
    EXPECT_TRUE(twice.bias.is_hole());
    return std::tuple{sum.weight, sum.bias, twice.weight};
  };
  EXPECT_EQ(run_all(f, f32(3), f32(5)), (std::vector<Numbers>{{6}, {5}, {9}}));
}

}  // namespace
}  // namespace gnomon::test
