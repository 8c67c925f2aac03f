// tests/engine/model_tree_test.cpp -- models as trees: inference, tied weights, surgery by path,
// files and tables; what is static in a model and what is not.
#include <filesystem>
#include <fstream>

#include "gnomon/io.h"
#include "gnomon/jit.h"
#include "gnomon/nn.h"
#include "gnomon/partition.h"
#include "gnomon/state.h"
#include "gnomon/tree_ops.h"
#include "tests/codegen/graph_host.h"
#include "tests/engine/fixture.h"
#include "tests/support/temporary_folder.h"

namespace gnomon::testing {
namespace {

using test::f32;
using test::Numbers;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Layer {
  Array weight;
  std::optional<Array> bias;
  bool inference = false;
};
struct Model {
  std::vector<Layer> layers;
  nn::Dropout dropout;
  bool residual = false;  // no field of that name
  Array head = Array::hole();
};
Model model() { return {{{ones({2}), zeros({3})}, {full({2}, 2.0f), std::nullopt}}, {0.25}}; }

TEST(ModelTree, InferenceSetsEveryFieldOfThatName) {
  const Model before = model(), after = nn::inference(before);
  EXPECT_TRUE(after.layers[0].inference && after.layers[1].inference && after.dropout.inference);
  EXPECT_FALSE(after.residual);
  EXPECT_FALSE(before.layers[0].inference || before.dropout.inference);
  EXPECT_EQ(after.dropout.p, 0.25);
  const Model back = nn::inference(after, false);
  EXPECT_EQ(signature_of(back), signature_of(before));
  EXPECT_EQ(nn::parameter_count(before), 7);
  // Of const trees values can be read only; those of one type are met.
  std::vector<std::string> flags;
  tree::for_each_value<bool>(before,
                             [&](const bool&, const std::string& path) { flags.push_back(path); });
  EXPECT_THAT(flags, ElementsAre(".layers[0].inference", ".layers[1].inference",
                                 ".dropout.inference", ".residual"));
}

struct Words {
  Array embed, head;  // [words, size], [size, words]
  Array operator()(const Array& x) const { return matmul(head, matmul(x, embed)); }
};

TEST(ModelTree, SharedWeightsAreHeldOnceAndLearnedByBothUses) {
  const auto gradient = [](const Array& w) {
    const auto tied = nn::share(
        Words{w, zeros({2, 2})}, [](auto& m) -> auto& { return m.head; },
        [](const auto& m) { return transpose(m.embed); });
    EXPECT_EQ(tree::leaf_count(tied), 1u);
    EXPECT_EQ(nn::parameter_count(tied), 4);
    const auto loss = [&](const auto& t) { return sum(t()(stack({ones({}), ones({})}))); };
    return stack({reshape(grad(loss)(tied).model.embed, {-1}),
                  reshape(grad([&](const Array& e) {
                            return sum(matmul(transpose(e), matmul(ones({2}), e)));
                          })(w),
                          {-1})});
  };
  const Numbers both = test::run(gradient, f32({2, 2}, {1, 2, 3, 4}));
  // sum over k, j of e[k][i] (e[0][k] + e[1][k]) by hand: s = column sums (4, 6), r = row sums.
  EXPECT_EQ(Numbers(both.begin(), both.begin() + 4), Numbers(both.begin() + 4, both.end()));
}

TEST(ModelTree, PartsAreReplacedByPath) {
  const auto all = [](const Array& x) {
    Model m = tree::at("layers[1].weight", model(), x);
    m = tree::at({".layers[0]", "layers[1].weight"}, m, [](const Array& a) { return a + 1.0f; });
    m = tree::at({"head", "layers[0].weight"}, m, std::vector<Array>{x * 10, m.layers[0].weight});
    m = tree::at(
        [](auto& k) -> auto& { return k.layers[1].bias; }, m, x * 3);
    return concatenate(
        {m.layers[0].weight, *m.layers[0].bias, m.layers[1].weight, *m.layers[1].bias, m.head});
  };
  EXPECT_EQ(test::run(all, f32({5, 6})), (Numbers{2, 2, 1, 1, 1, 6, 7, 15, 18, 50, 60}));
  struct Case {
    const char* want;
    Model (*f)(const Array&);
  };
  const Case cases[] = {
      {"tree::at: no array is at `.layers[2]`; the tree has `.layers[0].weight`, `.layers[0].bias`",
       [](const Array& x) { return tree::at("layers[2]", model(), x); }},
      {"tree::at: `.layers[0].weight` is named twice; parts that are replaced must not overlap",
       [](const Array& x) {
         return tree::at({"layers[0].weight", "layers[0]"}, model(), std::vector<Array>{x, x});
       }},
      {"tree::at: `layers[0]` is 2 arrays; name one, or give a function of an Array",
       [](const Array& x) { return tree::at("layers[0]", model(), x); }},
      {"tree::at: 2 places are named and 1 arrays given; give one for each",
       [](const Array& x) {
         return tree::at({"head", "layers[0].bias"}, model(), x);
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.want);
    const auto f = [&](const Array& x) { return c.f(x).layers[0].weight; };
    EXPECT_THAT(test::usage_error_of(f, f32(0)), HasSubstr(c.want));
  }
}

TEST(ModelTree, TablesStopAtADepth) {
  EXPECT_EQ(tree::to_string(model(), {.depth = 1}),
            ".layers  3 arrays  7  28 bytes\n"
            "3 arrays, 7 elements, 28 bytes\n");
  EXPECT_EQ(tree::to_string(model(), {.depth = 2}),
            ".layers[0]  2 arrays  5  20 bytes\n"
            ".layers[1]  1 array   2   8 bytes\n"
            "3 arrays, 7 elements, 28 bytes\n");
}

// Golden T9: derivatives of what moves; integers have none.
TEST(ModelTree, JvpLeavesOutWhatDoesNotMove) {
  struct Five {
    Array x0, x1, x2, x3, x4;
  };
  const auto g = [](const Five& v) {
    return Five{1 + v.x0 * v.x0, 2 + 3 * v.x1, 3 + 4 * v.x2, 4 + 5 * v.x3, 5 + 6 * v.x4};
  };
  const auto all = [&](const Array& one) {
    const Array whole = ones({}, DType::i32), none = Array::hole();
    const Five at{one, whole, one, whole, one};
    const auto [y, dy] = jvp(g, at, Five{5 * one, none, none, none, none});
    const auto [same, both] = jvp(g, at, Five{5 * one, none, 3 * one, none, none});
    EXPECT_TRUE(dy.x1.is_hole() && dy.x3.is_hole() && both.x1.is_hole());
    const auto real = [](const Array& a) { return cast(a, DType::f32); };
    const auto [value, slope] = jvp([](const Array& x) { return x + 1; }, one, one);
    return stack({y.x0, real(y.x1), y.x2, real(y.x3), y.x4, dy.x0, dy.x2, dy.x4, both.x0, both.x2,
                  both.x4, value, slope});
  };
  EXPECT_EQ(test::run(all, f32(1)), (Numbers{2, 5, 7, 9, 11, 10, 0, 0, 10, 12, 0, 2, 1}));
}

// Golden T10.
TEST(ModelTree, VmapOfAConstantHasTheAxesItIsTold) {
  const auto constant = [](None) { return ones({}); };
  const auto all = [&](const Array& x) {
    const Array scalar =
        vmap(constant, {.in_axes = {unmapped}, .out_axes = {unmapped}, .axis_size = 5})(none);
    const Array row = vmap(constant, {.in_axes = {unmapped}, .axis_size = 5})(none);
    EXPECT_EQ(scalar.shape(), Shape());
    return concatenate({reshape(scalar, {1}), row, reshape(x, {1})});
  };
  EXPECT_EQ(test::run(all, f32(7)), (Numbers{1, 1, 1, 1, 1, 1, 7}));
}

template <class I>
struct Adder {
  I increment;
  Array operator()(const Array& x) const { return x + increment; }
};

class ModelTreeDevice : public DeviceTest {};

// Golden T8: cumulative numbers of traces.
TEST_F(ModelTreeDevice, IsTracedOnceForAllItsArrays) {
  const Array two = rt.from_host({0.0f, 0.0f}), three = rt.from_host({0.0f, 0.0f, 0.0f});
  auto f = jit(rt, [](const auto& x) { return tree::leaves(x)[0]; });
  const auto traces = [](const auto& j) { return j.cache_info().traces; };
  f(two), f(two);
  EXPECT_EQ(traces(f), 1u);
  f(three), f(three);
  EXPECT_EQ(traces(f), 2u);
  f(std::vector{two}), f(std::vector{two, three}), f(std::pair{two, true});
  EXPECT_EQ(traces(f), 5u);

  auto g = jit(rt, [](const Array& x, bool) { return x; });
  g(two, true), g(two, false);
  EXPECT_EQ(traces(g), 2u);

  struct Pair {
    int a, b;
  };
  auto h = jit(rt, [](bool, Pair, const auto&, const auto&) { return zeros({}); });
  h(true, Pair{1, 1}, true, true), h(false, Pair{1, 1}, true, true);
  h(true, Pair{1, 0}, true, true), h(true, Pair{1, 1}, true, 2), h(true, Pair{1, 1}, 5, true);
  EXPECT_EQ(traces(h), 5u);
  h(true, Pair{1, 1}, true, true);
  EXPECT_EQ(traces(h), 5u);
  h(true, Pair{2, 1}, true, true);
  EXPECT_EQ(traces(h), 6u);

  auto m = jit(rt, [](const auto& module, const Array& x) { return module(x); });
  const Array one = rt.from_host({1.0f}, {});
  const auto gives = [&](const auto& module) { return rt.item<float>(m(module, one)); };
  EXPECT_EQ(gives(Adder<int>{1}) + gives(Adder<int>{1}), 4);
  EXPECT_EQ(traces(m), 1u);
  EXPECT_EQ(gives(Adder<int>{2}) + gives(Adder<int>{2}), 6);
  EXPECT_EQ(traces(m), 2u);
  EXPECT_EQ(gives(Adder<Array>{one}), 2);
  EXPECT_EQ(gives(Adder<Array>{rt.from_host({2.0f}, {})}), 3);
  EXPECT_EQ(traces(m), 3u);
}

TEST_F(ModelTreeDevice, PartsOfFilesGoIntoPartsOfModels) {
  const TemporaryFolder folder;
  const std::string path = (folder / "model.safetensors").string();
  const auto of = [&](const std::vector<float>& v) { return rt.from_host(v, Shape(v.size())); };
  const Model saved{{{of({1, 2}), of({3})}, {of({4}), std::nullopt}}, {}, false, of({5})};
  io::save_tree(rt, path, saved);
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  const auto first = [&](const Array& a) { return rt.to_host<float>(a)[0]; };

  // One layer out of the file of a model.
  const Layer layer = io::load_tree(rt, path, Layer{of({0, 0}), of({0})}, {.prefix = "layers.0"});
  EXPECT_EQ(first(layer.weight), 1);
  EXPECT_EQ(first(*layer.bias), 3);
  // A larger model keeps what the file lacks; a smaller one leaves out what it has no place for.
  Model larger{{saved.layers[0], {of({0}), of({9})}}, {}, false, of({0})};
  larger = io::load_tree(rt, path, larger, {.keep_missing = true});
  EXPECT_EQ(first(*larger.layers[1].bias), 9);
  EXPECT_EQ(first(larger.head), 5);
  Model smaller{{saved.layers[0]}, {}, false, of({0})};
  smaller = io::load_tree(rt, path, smaller, {.ignore_others = true});
  EXPECT_EQ(first(smaller.head), 5);

  const auto error = [&](const auto& like, io::LoadOptions options) -> std::string {
    try {
      io::load_tree(rt, path, like, options);
    } catch (const FileError& e) {
      return e.what();
    }
    return "no FileError";
  };
  const Model renamed{{saved.layers[0], {of({0}), of({9})}, {of({0}), of({9})}}, {}};
  EXPECT_THAT(error(renamed, {}),
              AllOf(HasSubstr("gnomon::load_tree: " + path +
                              " has no `layers.1.bias`, "
                              "`layers.2.weight`, `layers.2.bias`, which the tree has; it has "
                              "`head`, which the tree does not have (model_tree_test.cpp:")));
  EXPECT_THAT(error(Layer{of({0}), of({0})}, {.prefix = "layers.0"}),
              HasSubstr("has `layers.0.weight` of type f32[2], which is f32[1] in the tree"));

  // A State is a tree of its places.
  auto made = make_with_state(
      std::pair{StateIndex(of({1})), std::vector{StateIndex(std::pair{of({2}), of({3})})}});
  const std::string states = (folder / "state.npz").string();
  io::save_tree(rt, states, made.state);
  EXPECT_EQ(io::load_npz(rt, states)[2].first, "entries.1.0.values.1");
  const State back = io::load_tree(rt, states, made.state);
  EXPECT_EQ(first(back.get(made.model.second[0]).second), 3);
}

TEST_F(ModelTreeDevice, AFileThatCannotBeReplacedStaysAsItWas) {
  const TemporaryFolder folder;
  const std::string path = (folder / "model.npz").string();
  const auto of = [&](float x) { return Adder<Array>{rt.from_host({x})}; };
  io::save_tree(rt, path, of(1));
  io::save_tree(rt, path, of(2));
  // Where it is to be written aside there is a folder.
  std::filesystem::create_directory(path + ".part");
  EXPECT_THROW(io::save_tree(rt, path, of(3)), FileError);
  EXPECT_EQ(rt.to_host<float>(io::load_tree(rt, path, of(0)).increment)[0], 2);
}

}  // namespace
}  // namespace gnomon::testing
