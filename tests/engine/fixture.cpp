// tests/engine/fixture.cpp -- the checks of every device test, and small programs.
#include "tests/engine/fixture.h"

#include "shaders/kernel/builder.h"

namespace gnomon::testing {
namespace {

using kernel::Access;
using kernel::Builder;
using kernel::Op;
using kernel::Value;
using kernel::Values;

// Runs `body(i)` in every invocation i < n, where n is the first parameter word.
template <class F>
void guarded(Builder& b, F body) {
  const Value n = b.parameter(b.parameter_word());
  const Value i = b.source(Op::invocation);
  b.if_(
      b.compare(Op::lt, i, n),
      [&]() -> Values {
        body(i);
        return {};
      },
      []() -> Values { return {}; });
}

}  // namespace

void expect_clean(Runtime& rt) {
  for (const std::string& message : rt.validation_messages()) ADD_FAILURE() << message;
  rt.wait();
  EXPECT_EQ(rt.memory().live_ranges, 0u) << rt.memory().live_bytes << " bytes are still in use";
}

std::vector<Array> DeviceTest::run(const Program& program, std::vector<Array> inputs,
                                   const ExecutableOptions& options) {
  ExecutableOptions all = options;
  all.validate_modules = true;
  Executable executable(context(), program, all);
  std::vector<Array> outputs;
  executable.run(inputs, outputs);
  return outputs;
}

kernel::Kernel add_kernel(std::uint32_t group_size) {
  Builder b("add");
  b.kernel().group_size = group_size;
  const auto x = b.buffer({DType::f32, Access::read, false, false, "x"});
  const auto y = b.buffer({DType::f32, Access::read, false, false, "y"});
  const auto out = b.buffer({DType::f32, Access::write, false, false, "out"});
  guarded(b, [&](Value i) { b.store(out, i, b.add(b.load(x, i), b.load(y, i))); });
  return b.take();
}

kernel::Kernel double_kernel(bool texel) {
  Builder b(texel ? "double_texel" : "double");
  const auto in = b.buffer({DType::f32, Access::read, false, texel, "in"});
  const auto out = b.buffer({DType::f32, Access::write, false, false, "out"});
  guarded(b, [&](Value i) {
    const Value x = b.load(in, i);
    b.store(out, i, b.add(x, x));
  });
  return b.take();
}

kernel::Kernel sum_kernel(std::uint32_t count) {
  Builder b("sum");
  for (std::uint32_t k = 0; k < count; ++k) {
    b.buffer({DType::f32, Access::read, false, false, "in" + std::to_string(k)});
  }
  const auto out = b.buffer({DType::f32, Access::write, false, false, "out"});
  guarded(b, [&](Value i) {
    Value total = b.load(0, i);
    for (std::uint32_t k = 1; k < count; ++k) total = b.add(total, b.load(k, i));
    b.store(out, i, total);
  });
  return b.take();
}

Place input(std::uint32_t index, std::uint64_t offset) {
  return {Place::Kind::input, index, offset};
}
Place output(std::uint32_t index, std::uint64_t offset) {
  return {Place::Kind::output, index, offset};
}
Place arena(std::uint64_t offset) { return {Place::Kind::arena, 0, offset}; }

Step dispatch(const Program& program, std::uint32_t kernel, std::uint32_t n,
              std::vector<Place> operands, bool barrier) {
  Step step;
  step.kernel = kernel;
  const std::uint32_t size = program.kernels[kernel].group_size;
  step.groups = (n + size - 1) / size;
  step.operands = std::move(operands);
  step.parameters = {n};
  step.barrier_before = barrier;
  step.label = program.kernels[kernel].name;
  return step;
}

Aval f32(Dim n) { return {DType::f32, Shape(n)}; }

}  // namespace gnomon::testing
