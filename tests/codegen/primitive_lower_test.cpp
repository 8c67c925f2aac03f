// tests/codegen/primitive_lower_test.cpp -- the element rule of every operation, alone in a kernel,
// against its reference rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "codegen/graph/evaluate.h"
#include "shaders/interpret/interpret.h"
#include "shaders/kernel/builder.h"
#include "tests/codegen/primitive_cases.h"

namespace gnomon {
namespace {

using kernel::Builder;
using kernel::Value;
using test::Case;
using HostArrays = std::vector<HostArray>;

/// Operands are buffers; nothing is fused.
class BufferContext final : public ElementContext {
 public:
  BufferContext(Builder& builder, const std::vector<Aval>& in, const std::vector<Aval>& out)
      : ElementContext(builder) {
    inputs = in;
    outputs = out;
  }
  Value operand(std::size_t i, const Index& index) override {
    EXPECT_EQ(index.shape(), inputs[i].shape);
    return k.load(static_cast<std::uint32_t>(i), index.flat(k));
  }
  bool writes_out(bool, bool, Dim) override { return false; }
};

/// One lane per element of one output.
kernel::Kernel lower(const Case& c, std::size_t output, const std::vector<Aval>& out) {
  Builder b("law");
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    b.buffer({c.inputs[i].dtype, kernel::Access::read, false, false, "in" + std::to_string(i)});
  const std::uint32_t result =
      b.buffer({out[output].dtype, kernel::Access::write, false, false, "out"});
  b.kernel().lanes = static_cast<std::uint32_t>(out[output].shape.size());
  BufferContext context(b, c.inputs, out);
  const Value lane = b.source(kernel::Op::lane);
  b.store(
      result, lane,
      c.primitive->lower.element(context, c.params, output, Index::flat(out[output].shape, lane)));
  return b.take();
}

void expect_same(const HostArray& mine, const HostArray& reference, const std::string& label) {
  for (Dim i = 0; i < mine.size(); ++i) {
    const double x = mine.number(i), y = reference.number(i);
    if (std::isnan(y)) {
      EXPECT_TRUE(std::isnan(x)) << label << " element " << i;
    } else {
      // Elementary functions differ by rounding, and by erf_inv's polynomial; everything else is
      // exact.
      const DType t = mine.aval.dtype;
      const double unit = t == DType::f16 ? 1e-3 : t == DType::bf16 ? 8e-3 : 3e-6;
      EXPECT_NEAR(x, y, is_float(t) ? unit * (1e-3 + std::fabs(y)) : 0)
          << label << " element " << i;
    }
  }
}

TEST(PrimitiveLowering, EveryElementRuleAgreesWithItsReference) {
  std::vector<Case> cases = test::all_cases();
  for (Case& c : test::dtype_cases()) cases.push_back(std::move(c));
  for (const Case& c : cases) {
    if (c.primitive->lower.kind != Lowering::Kind::element) continue;
    const std::vector<Aval> out = test::graph_of(c).output_avals();
    HostArrays x = test::sample(c, 21);
    const HostArrays expected = evaluate(test::graph_of(c), x);
    for (std::size_t o = 0; o < out.size(); ++o) {
      if (out[o].shape.size() == 0) continue;
      kernel::Kernel k;
      try {
        k = lower(c, o, out);
      } catch (const Error& e) {
        EXPECT_THAT(e.what(), ::testing::HasSubstr("f64"))
            << test::label(c);  // functions without an f64 form
        continue;
      }
      HostArray y(out[o]);
      std::vector<std::span<std::byte>> buffers;
      for (HostArray& a : x) buffers.emplace_back(a.bytes);
      buffers.emplace_back(y.bytes);
      std::vector<std::uint32_t> parameters(kernel::parameter_header_words + buffers.size(), 0);
      kernel::interpret(k, 0, parameters, buffers);
      expect_same(y, expected[o], test::label(c));
    }
  }
}

/// The rule at a constant index, where concatenate and constants choose their operand while
/// lowering.
TEST(PrimitiveLowering, ConstantIndicesPickTheSameElements) {
  for (const char* name : {"concatenate", "constant", "pad", "reverse", "slice", "iota"}) {
    for (const Case& c : test::cases_of(*find_primitive(name))) {
      const std::vector<Aval> out = test::graph_of(c).output_avals();
      HostArrays x = test::sample(c, 22);
      const HostArray expected = evaluate(test::graph_of(c), x)[0];
      if (expected.size() == 0) continue;
      Builder b("law");
      for (const Aval& a : c.inputs) b.buffer({a.dtype, kernel::Access::read, false, false, "in"});
      const std::uint32_t result =
          b.buffer({out[0].dtype, kernel::Access::write, false, false, "out"});
      b.kernel().lanes = 1;
      BufferContext context(b, c.inputs, out);
      for (Dim i = 0; i < expected.size(); ++i) {
        const Value at = b.u32(static_cast<std::uint32_t>(i));
        b.store(result, at,
                c.primitive->lower.element(context, c.params, 0, Index::flat(out[0].shape, at)));
      }
      HostArray y(out[0]);
      std::vector<std::span<std::byte>> buffers;
      for (HostArray& a : x) buffers.emplace_back(a.bytes);
      buffers.emplace_back(y.bytes);
      std::vector<std::uint32_t> parameters(kernel::parameter_header_words + buffers.size(), 0);
      kernel::interpret(b.take(), 0, parameters, buffers);
      expect_same(y, expected, test::label(c));
    }
  }
}

}  // namespace
}  // namespace gnomon
