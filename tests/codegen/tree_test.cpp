// tests/codegen/tree_test.cpp -- leaves, paths, static keys, rebuilding, and signatures.
#include "gnomon/tree.h"

#include "gnomon/detail/signature.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Array some(const Shape& shape) { return placeholder({DType::f32, shape}); }

enum class Activation { relu, tanh };

struct Linear {
  Array weight, bias;
  bool use_bias = true;
  Activation activation = Activation::tanh;
};
struct Mlp {
  std::vector<Linear> layers;
  std::optional<Array> scale;
  std::pair<Array, int> pair;
  std::array<Array, 2> both;
  std::tuple<int, Array> tuple;
  std::string name = "mlp";
  float rate = 0.5f;
  double (*function)(double) = nullptr;
};
struct Node {
  Array value;
  std::vector<Node> children;
};
class Ticket {  // move-only for its users
 public:
  explicit Ticket(Array bits) : bits_(std::move(bits)) {}
  Ticket(Ticket&&) = default;
  Ticket& operator=(Ticket&&) = default;

 private:
  friend struct gnomon::TreeAccess;
  Ticket(const Ticket&) = default;
  static auto fields(Ticket& t) { return std::tie(t.bits_); }
  Array bits_;
};
struct HoldsTickets {
  Ticket ticket;
  std::vector<Ticket> more;
  std::optional<Ticket> maybe;
  std::pair<Ticket, int> pair;
};
struct Pointer {
  int* p;
  Array a;
};
struct Callable {
  Array operator()(Array x) const { return x; }
};
struct Layer {
  Callable callable;
  decltype([](int x) { return x; }) lambda;
  Array w;
};

Mlp mlp() {
  const Array a = some({2});
  return {{{a, a}, {a, a, false}}, a, {a, 1}, {a, a}, {2, a}};
}

template <class T>
std::vector<std::string> paths(const T& tree) {
  std::vector<std::string> result;
  tree::for_each_leaf(tree, [&](const Array&, const std::string& path) { result.push_back(path); });
  return result;
}
template <class T>
std::string key(const T& tree) {
  std::string bytes;
  tree::append_static_key(tree, bytes);
  return bytes;
}

static_assert(tree::Tree<Mlp> && tree::Tree<Node> && tree::Tree<HoldsTickets> && tree::Tree<Layer>);
static_assert(tree::Tree<Array> && tree::Tree<float> && tree::Tree<std::vector<bool>>);
static_assert(!tree::Tree<Pointer> && !tree::Tree<std::vector<Pointer>> && !tree::Tree<int[3]>);
static_assert(!std::is_copy_constructible_v<Ticket>);

TEST(Tree, NamesEveryLeafByItsPath) {
  EXPECT_THAT(paths(some({})), ElementsAre(""));
  EXPECT_THAT(paths(mlp()), ElementsAre(".layers[0].weight", ".layers[0].bias", ".layers[1].weight",
                                        ".layers[1].bias", ".scale", ".pair[0]", ".both[0]",
                                        ".both[1]", ".tuple[1]"));
  EXPECT_THAT(paths(Node{some({}), {{some({}), {}}, {some({}), {{some({}), {}}}}}}),
              ElementsAre(".value", ".children[0].value", ".children[1].value",
                          ".children[1].children[0].value"));
}

TEST(Tree, ListsStaticValuesWithTheirText) {
  std::vector<std::string> lines;
  Mlp m = mlp();
  m.scale.reset();
  tree::for_each_static(m, [&](const std::string& path, const std::string& text) {
    lines.push_back(path + "=" + text);
  });
  EXPECT_THAT(lines,
              ElementsAre(".layers=2 elements", ".layers[0].use_bias=true",
                          ".layers[0].activation=1", ".layers[1].use_bias=false",
                          ".layers[1].activation=1", ".scale=absent", ".pair[1]=1", ".tuple[0]=2",
                          ".name=\"mlp\"", ".rate=0.5", ".function=a function"));
}

TEST(Tree, KeysAreEqualForEqualStatics) {
  Mlp other = mlp();
  other.both[0] = some({7, 7});  // shapes are no part of it
  EXPECT_EQ(key(mlp()), key(other));
}

TEST(Tree, KeysDifferInEveryStaticValue) {
  std::vector<Mlp> changed(7, mlp());
  changed[0].layers[1].use_bias = true;
  changed[1].layers[0].activation = Activation::relu;
  changed[2].layers.pop_back();
  changed[3].scale.reset();
  changed[4].name = "mlq";
  changed[5].rate = -0.5f;
  changed[6].function = static_cast<double (*)(double)>(std::sin);
  for (std::size_t i = 0; i < changed.size(); ++i) EXPECT_NE(key(mlp()), key(changed[i])) << i;
}

TEST(Tree, KeysTellTypesWithEqualFieldsApart) {
  struct A {
    int n = 1;
  };
  struct B {
    int n = 1;
  };
  EXPECT_NE(key(A{}), key(B{}));
}

TEST(Tree, RebuildsWithOtherLeaves) {
  const Mlp m = mlp();
  EXPECT_EQ(paths(tree::with_leaves(m, tree::leaves(m))), paths(m));
  std::vector<Array> replaced(tree::leaves(m).size(), some({5}));
  const Mlp r = tree::with_leaves(m, replaced);
  EXPECT_EQ(r.layers[1].bias.shape(), Shape(5));
  EXPECT_FALSE(r.layers[1].use_bias);
}

TEST(Tree, RebuildsMoveOnlyMembers) {
  HoldsTickets h{Ticket(some({2})), {}, Ticket(some({2})), {Ticket(some({2})), 3}};
  h.more.push_back(Ticket(some({2})));
  const HoldsTickets r = tree::with_leaves(h, std::vector<Array>(4, some({3})));
  EXPECT_THAT(paths(r), ElementsAre(".ticket[0]", ".more[0][0]", ".maybe[0]", ".pair[0][0]"));
  for (const Array& a : tree::leaves(r)) EXPECT_EQ(a.shape(), Shape(3));
  EXPECT_EQ(r.pair.second, 3);
}

TEST(Tree, MapsSeveralTreesTogether) {
  const auto f = [](const Array& x, const Array& y) {
    struct Two {
      Array a, b;
    };
    const Two first{x, y}, second{y, y};
    const Two sum = tree::add(tree::scale(2.0f, first), second);
    const Two zero = tree::zeros_like(first);
    return tree::map([](const Array& a, const Array& b, const Array& c) { return a * b + c; }, sum,
                     second, zero);
  };
  EXPECT_EQ(run_all(f, f32({1, 2}), f32({10, 20})),
            (std::vector<Numbers>{{120, 480}, {300, 1200}}));
}

TEST(Tree, AddNamesBothTypes) {
  const auto f = [](const Array& x, const Array& y) { return tree::add(x, y); };
  const std::string message = usage_error_of(f, f32({1, 2}), i32(1));
  EXPECT_THAT(message, HasSubstr("gnomon::tree::add: array 0 is f32[2] in one tree and i32[]"));
  EXPECT_THAT(message, HasSubstr("(tree_test.cpp:"));
}

TEST(Tree, MapRefusesTreesOfDifferentSize) {
  const std::vector<Array> two(2, some({})), three(3, some({}));
  try {
    tree::map([](const Array& a, const Array&) { return a; }, two, three);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("gnomon::tree::map: the trees have 2 and 3 arrays"));
  }
}

// ---- signatures

template <class T, class U>
std::string explained(const T& before, const U& now) {
  return explain(describe_signature(before), describe_signature(now));
}

TEST(Signature, IsEqualForEqualTypesAndStatics) {
  EXPECT_EQ(signature_of(mlp(), 3), signature_of(mlp(), 3));
  EXPECT_EQ(signature_of(mlp(), 3).hash(), signature_of(mlp(), 3).hash());
  EXPECT_FALSE(signature_of(mlp(), 3) == signature_of(mlp(), 4));
  EXPECT_FALSE(signature_of(some({2})) == signature_of(some({3})));
  EXPECT_FALSE(signature_of(some({2, 1})) == signature_of(some({2}), some({1})));
}

TEST(Signature, ExplainsAChangedShape) {
  Mlp now = mlp();
  now.layers[0].weight = some({784, 256});
  EXPECT_EQ(explained(mlp(), now), "argument 0 `.layers[0].weight` was f32[2], is f32[784,256]");
}

TEST(Signature, ExplainsAChangedStaticValue) {
  Mlp now = mlp();
  now.layers[1].use_bias = true;
  EXPECT_EQ(explained(mlp(), now), "argument 0 `.layers[1].use_bias` was false, is true");
}

TEST(Signature, ExplainsALongerList) {
  Mlp now = mlp();
  now.layers.push_back(now.layers[0]);
  EXPECT_EQ(explained(mlp(), now), "argument 0 `.layers` was 2 elements, is 3 elements");
}

TEST(Signature, ExplainsAnOptionalThatAppears) {
  Mlp before = mlp();
  before.scale.reset();
  EXPECT_EQ(explained(before, mlp()), "argument 0 `.scale` was absent, is f32[2]");
  EXPECT_EQ(explained(mlp(), before), "argument 0 `.scale` was f32[2], is absent");
}

}  // namespace
}  // namespace gnomon::test
