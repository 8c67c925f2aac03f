// tests/shaders/spirv_memory_test.cpp -- buffers, texels, masks, arrays and synchronisation.
#include <functional>

#include "shaders/spirv/shared_reads.h"
#include "tests/shaders/spirv_testing.h"

namespace gnomon::spirv {
namespace {

using kernel::Access;
using kernel::Op;
using kernel::Value;

TEST(SpirvMemory, BuffersOfOneWindowShareItsBindingAndAreAliased) {
  Sketch s;
  s.keep(s.b.load(s.input(DType::f32), s.index));
  s.keep(s.b.load(s.input(DType::i32), s.index));
  s.keep(s.b.load(s.input(DType::f64), s.index));
  Features f;
  f.float64 = f.as_specified = true;
  const std::string text = emitted(s.b.take(), with(f));
  EXPECT_EQ(count(text, "Binding 1\n"), 6u);
  EXPECT_EQ(count(text, " Aliased\n"), 6u);
  EXPECT_EQ(count(text, " NonWritable\n"), 3u) << "the three that are only read";
  EXPECT_EQ(count(text, "Binding 0\n"), 1u) << "the parameter block";
}

TEST(SpirvMemory, WindowsChooseTheBinding) {
  Sketch s;
  const std::uint32_t texels = s.texels(DType::u32);
  const std::uint32_t plain = s.input(DType::u32);
  const Value a = s.b.load(texels, s.index, 4), b = s.b.load(plain, s.index, 4);
  s.b.store(s.output(DType::u32), s.index, s.b.add(a, b));
  EmitOptions options;
  options.windows = {3, 1, 2};
  const std::string text = emitted(s.b.take(), options);
  EXPECT_EQ(count(text, "Binding 8\n"), 1u) << "texels of window 3\n" << text;
  EXPECT_EQ(count(text, "Binding 2\n"), 1u);
  EXPECT_EQ(count(text, "Binding 3\n"), 1u);
  options.windows = {4, 0, 0};
  kernel::Kernel k;
  k.buffers.resize(3);
  EXPECT_THAT(message([&] { emit(k, options); }), HasSubstr("window 4"));
  options.windows = {0};
  EXPECT_THAT(message([&] { emit(k, options); }), HasSubstr("3 buffers"));
}

TEST(SpirvMemory, ContiguousAccessesOfFourAreSixteenBytesWide) {
  for (DType t : {DType::f32, DType::u32}) {
    Sketch s;
    const Value x = s.b.load(s.input(t), s.index, 8);
    s.b.store(s.output(t), s.index, x);
    const std::string text = emitted(s.b.take());
    EXPECT_EQ(count(text, "OpAccessChain %_ptr_StorageBuffer_v4"), 4u) << text;
    EXPECT_EQ(count(text, "OpAccessChain %_ptr_StorageBuffer_"), 4u);
    EXPECT_THAT(text, HasSubstr("ArrayStride 16"));
    EXPECT_THAT(text, Not(HasSubstr("ArrayStride 4\n")));
  }
}

TEST(SpirvMemory, PairsAndLargeElementsAreAccessedOneByOne) {
  Sketch s;
  s.b.store(s.output(DType::f32), s.index, s.b.load(s.input(DType::f32), s.index, 2));
  EXPECT_EQ(count(emitted(s.b.take()), "OpAccessChain %_ptr_StorageBuffer_float"), 4u);
  Sketch large;
  large.b.store(large.output(DType::u64), large.index,
                large.b.load(large.input(DType::u64), large.index, 4));
  EXPECT_EQ(count(emitted(large.b.take(), with(everything())), "%_ptr_StorageBuffer_ulong %"), 8u);
}

TEST(SpirvMemory, GathersAndScattersOfEveryType) {
  for (DType t : all_dtypes) {
    for (std::uint8_t width : all_widths) {
      SCOPED_TRACE(kernel::to_string({t, width}));
      Sketch s;
      const Value where = s.b.load(s.input(DType::u32), s.index, width);
      const Value mask = s.b.compare(Op::lt, where, s.b.splat(s.b.u32(100), width));
      const std::uint32_t in = s.input(t), out = s.output(t);
      s.b.store(out, where, s.b.load(in, where, width));
      s.b.store(out, where, s.b.load(in, where, width, mask), mask);
      s.b.store(out, s.index, s.b.load(in, s.index, width, mask), mask);
      s.b.store(out, s.index, s.b.load(in, s.index, width, s.b.any(mask)), s.b.any(mask));
      if (size_of(t) == 4) {
        const std::uint32_t texels = s.texels(t);
        s.keep(s.b.load(texels, where, width));
        s.keep(s.b.load(texels, where, width, mask));
        s.keep(s.b.load(texels, s.index, width));
        s.keep(s.b.load(texels, s.index, width, mask));
      }
      emitted(s.b.take(), with(everything()));
    }
  }
}

// A driver that takes what is said of one variable of a binding for all of them would keep loads of
// what the kernel itself writes.
TEST(SpirvMemory, BindingsThatAreWrittenHoldNothingThatIsNot) {
  Sketch s;
  s.b.store(s.output(DType::f32), s.index, s.b.load(s.input(DType::f32), s.index));
  const kernel::Kernel k = s.b.take();
  const auto read_only = [&](bool as_specified, std::vector<std::uint8_t> windows) {
    EmitOptions options = with(everything());
    options.features.as_specified = as_specified;
    options.windows = std::move(windows);
    options.window_bytes = 1u << 20;
    return count(emitted(k, options), " NonWritable");
  };
  const std::size_t apart = read_only(false, {0, 1}), together = read_only(true, {0, 0});
  EXPECT_EQ(apart, 1u);
  EXPECT_EQ(together, 1u);
  EXPECT_EQ(read_only(false, {0, 0}), 0u);
  EXPECT_EQ(read_only(false, {spanning(0, 2), 1}), 0u);
  EXPECT_EQ(read_only(false, {spanning(0, 2), 2}), 2u);
}

TEST(SpirvMemory, QuadsAreReachedAsPairsWhereThatIsFaster) {
  for (DType t : {DType::f32, DType::u32}) {
    Sketch s;
    s.b.store(s.output(t), s.index, s.b.load(s.input(t), s.index, 8));
    s.b.store(s.output(t), s.b.u32(3), s.b.load(s.input(t), s.index));
    const kernel::Kernel k = s.b.take();
    Features features = everything();
    features.paired_stores = true;
    const std::string pairs = emitted(k, with(features));
    EXPECT_EQ(count(pairs, "OpBitcast %v2ulong"), 2u) << pairs;
    EXPECT_EQ(count(pairs, "OpAccessChain %_ptr_StorageBuffer_v2ulong"), 4u) << pairs;
    features.int64 = false;
    EXPECT_THAT(emitted(k, with(features)), Not(HasSubstr("ulong")));
    EXPECT_THAT(emitted(k, with(everything())), Not(HasSubstr("ulong")));
  }
}

// Between a loop and a pair stands an operation, so that a compiler does not keep what the loop
// carries in registers of a pair's width (emit_memory.cpp).
TEST(SpirvMemory, PairsDoNotHoldWhatALoopCarries) {
  for (DType t : {DType::f32, DType::u32}) {
    for (const bool loops : {false, true}) {
      Sketch s;
      const Value x = s.b.load(s.input(t), s.index, 8);
      const Value y =
          loops ? s.b.count_loop(s.b.parameter(s.b.parameter_word()), 100, kernel::Values{x},
                                 [&](Value, std::span<const Value> c) {
                                   return kernel::Values{s.b.add(c[0], x)};
                                 })[0]
                : s.b.add(x, x);
      s.b.store(s.output(t), s.index, y);
      const kernel::Kernel k = s.b.take();
      Features features = everything();
      EXPECT_EQ(count(emitted(k, with(features)), "OpBitwiseXor"), 0u);
      features.paired_stores = true;
      const std::string pairs = emitted(k, with(features));
      EXPECT_EQ(count(pairs, "OpBitcast %v2ulong"), 2u) << pairs;
      EXPECT_EQ(count(pairs, "OpBitwiseXor"), loops ? 2u : 0u) << pairs;
    }
  }
}

TEST(SpirvMemory, TexelsAreReadFourElementsAtATime) {
  Sketch s;
  s.keep(s.b.load(s.texels(DType::f32), s.index, 16));
  s.keep(s.b.load(s.texels(DType::i32), s.index, 4));
  const std::string text = emitted(s.b.take());
  EXPECT_EQ(count(text, "OpImageRead"), 5u);
  EXPECT_THAT(text, HasSubstr("OpTypeImage %uint Buffer 0 0 0 2 Rgba32ui"));
  EXPECT_THAT(text, HasSubstr("OpCapability ImageBuffer"));
  EXPECT_EQ(count(text, "Binding 5\n"), 1u) << "one variable serves both buffers";
  EXPECT_THAT(text, Not(HasSubstr("OpVectorExtractDynamic")));

  Sketch one;
  one.keep(one.b.load(one.texels(DType::f32), one.index));
  EXPECT_THAT(emitted(one.b.take()), HasSubstr("OpVectorExtractDynamic"));

  kernel::Kernel written;
  written.buffers = {{DType::f32, Access::read_write, false, true, "x"}};
  EXPECT_THAT(message([&] { emit(written, {}); }), HasSubstr("cannot be read as texels"));
  written.buffers = {{DType::f64, Access::read, false, true, "x"}};
  EXPECT_THAT(message([&] { emit(written, {}); }), HasSubstr("`x` of f64"));
}

/// Reads of twelve texels in a row, in every trip of a loop, in a kernel of `group` invocations.
std::string read_alike(std::uint32_t group, const Features& features,
                       const std::function<Value(Sketch&)>& place) {
  Sketch s;
  s.b.kernel().group_size = group;
  const std::uint32_t x = s.texels(DType::f32);
  const Value first = place(s);
  const Value sum =
      s.b.count_loop(s.b.u32(100), 100, kernel::Values{s.b.splat(s.b.f32(0), 4)},
                     [&](Value trip, std::span<const Value> carried) {
                       const Value row = s.b.add(s.b.mul(trip, s.b.u32(64)), first);
                       Value all = carried[0];
                       for (std::uint32_t k = 0; k < 12; ++k)
                         all = s.b.add(all, s.b.load(x, s.b.add(row, s.b.u32(4 * k)), 4));
                       return kernel::Values{all};
                     })[0];
  s.keep(sum);
  return emitted(s.b.take(), with(features));
}

TEST(SpirvMemory, ASubgroupReadsTexelsForOneAnother) {
  const auto alike = [](Sketch& s) { return s.b.u32(16); };
  Features features = everything();
  features.subgroup_basic = true;
  EXPECT_EQ(count(read_alike(64, features, alike), "OpImageRead"), 12u);
  features.reads_together = 8;
  const std::string text = read_alike(64, features, alike);
  EXPECT_EQ(count(text, "OpImageRead"), 2u) << "eight at once, then four\n" << text;
  EXPECT_EQ(count(text, "OpGroupNonUniformShuffle "), 12u);
  EXPECT_EQ(count(text, "UMin"), 1u) << "nobody reads behind the last one";
  EXPECT_EQ(count(read_alike(60, features, alike), "OpImageRead"), 12u)
      << "the last subgroup of a workgroup is not complete";
  EXPECT_EQ(count(read_alike(64, features, [](Sketch& s) { return s.b.mul(s.index, s.b.u32(4)); }),
                  "OpImageRead"),
            12u)
      << "everybody somewhere else";
}

TEST(SpirvMemory, OnlyCompleteSubgroupsReadForOneAnother) {
  Features features = everything();
  features.subgroup_basic = true;
  features.reads_together = 8;
  const auto behind = [&](const std::function<Value(Sketch&)>& predicate) {
    Sketch s;
    const std::uint32_t x = s.texels(DType::f32);
    s.b.if_(
        predicate(s),
        [&] {
          s.keep(s.b.add(s.b.load(x, s.b.u32(0), 4), s.b.load(x, s.b.u32(64), 4)));
          return kernel::Values{};
        },
        [] { return kernel::Values{}; });
    return count(emitted(s.b.take(), with(features)), "OpImageRead");
  };
  const auto below = [&](std::uint32_t end) {
    return behind(
        [=](Sketch& s) { return s.b.compare(Op::lt, s.b.source(Op::invocation), s.b.u32(end)); });
  };
  EXPECT_EQ(below(104), 1u);
  EXPECT_EQ(below(100), 2u) << "four invocations of the last subgroup are not there";
  EXPECT_EQ(behind([](Sketch& s) {
              return s.b.compare(Op::ne, s.b.source(Op::invocation), s.b.u32(104));
            }),
            2u);
}

TEST(SpirvMemory, ReadsTogetherEndAtStores) {
  Features features = everything();
  features.subgroup_basic = true;
  features.reads_together = 8;
  Sketch s;
  const std::uint32_t x = s.texels(DType::f32);
  const Value before = s.b.load(x, s.b.u32(0), 4);
  s.keep(before);
  s.keep(s.b.load(x, s.b.u32(4), 4));
  s.keep(s.b.add(s.b.load(x, s.b.u32(8), 4), s.b.load(x, s.b.u32(80), 4)));
  const std::string text = emitted(s.b.take(), with(features));
  EXPECT_EQ(count(text, "OpImageRead"), 3u);
  EXPECT_EQ(count(text, "OpGroupNonUniformShuffle "), 2u) << "one alone needs nobody";
}

TEST(SpirvMemory, ReadsTogetherCountFromTheFirstOfABlock) {
  Sketch s;
  const std::uint32_t x = s.texels(DType::f32);
  const Value row = s.b.mul(s.b.source(Op::group_index), s.b.u32(1024));
  for (std::uint32_t k = 0; k < 6; ++k) s.b.load(x, s.b.add(row, s.b.u32(400 - 40 * k)), 4);
  s.b.load(x, s.b.add(row, s.b.u32(64)), 16);  // the block ends within it
  const kernel::Kernel k = s.b.take();
  const SharedReads shared(k, 8);
  const auto& last = k.body.body.back();
  ASSERT_EQ(last.op, Op::load);
  const auto before = shared.find(last, 1), behind = shared.find(last, 2);
  ASSERT_TRUE(before && behind);
  EXPECT_EQ(before->position, 7u);
  EXPECT_EQ(behind->position, 0u);
  const auto minus = [](int n) { return static_cast<std::uint32_t>(-n); };
  EXPECT_THAT(shared.distances(before->block),
              testing::ElementsAre(0, minus(10), minus(20), minus(30), minus(40), minus(50),
                                   minus(84), minus(83)));
  EXPECT_THAT(shared.distances(behind->block), testing::ElementsAre(0, 1));
}

TEST(SpirvMemory, AMaskedWideStoreHasAFastPath) {
  Sketch s;
  const Value x = s.b.load(s.input(DType::f32), s.index, 4);
  const Value mask = s.b.compare(Op::lt, x, s.b.splat(s.b.f32(1), 4));
  s.b.store(s.output(DType::f32), s.index, x, mask);
  const std::string text = emitted(s.b.take());
  EXPECT_EQ(count(text, "OpSelectionMerge"), 5u) << "all of them, or one by one\n" << text;
  EXPECT_EQ(count(text, "OpStore"), 5u);
}

TEST(SpirvMemory, BooleansAreBytesInBuffersAndWordsElsewhere) {
  Sketch s;
  s.b.store(s.output(DType::boolean), s.index, s.b.load(s.input(DType::boolean), s.index));
  const kernel::Kernel bytes = s.b.take();
  const std::string text = emitted(bytes, with(everything()));
  EXPECT_THAT(text, HasSubstr("OpINotEqual %bool"));
  EXPECT_THAT(text, HasSubstr("OpSelect %uchar"));
  EXPECT_THAT(message([&] { emit(bytes, {}); }), HasSubstr("u8, which the target does not offer"));

  Sketch local;
  const std::uint32_t array = local.b.private_array({DType::boolean, 10});
  local.b.private_store(array, local.index, local.b.compare(Op::lt, local.index, local.b.u32(9)));
  const Value back = local.b.private_load(array, local.b.u32(3));
  local.keep(local.b.convert(back, DType::u32));
  EXPECT_THAT(emitted(local.b.take()), HasSubstr("OpTypeArray %uint"));
}

TEST(SpirvMemory, PackingAtomicsOrderNothing) {
  Sketch s;
  const std::uint32_t b =
      s.b.buffer({DType::u32, Access::read_write, /*coherent=*/true, false, "packed"});
  s.keep(s.b.atomic(Op::atomic_and, b, s.index, s.b.u32(1)));
  s.keep(s.b.atomic(Op::atomic_or, b, s.index, s.b.u32(2)));
  const std::string text = emitted(s.b.take());
  EXPECT_EQ(count(text, "OpAtomicAnd %uint"), 1u);
  EXPECT_EQ(count(text, "OpAtomicOr %uint"), 1u);
  EXPECT_EQ(count(text, "%uint_1 %uint_0 %uint_"), 2u) << "device scope, no semantics" << text;
}

TEST(SpirvMemory, PrivateArraysAreOneVariablePerComponent) {
  for (DType t : all_dtypes) {
    SCOPED_TRACE(name(t));
    Sketch s;
    const std::uint32_t array = s.b.private_array({t, 10});
    const Value x = s.b.load(s.input(t), s.index, 4);
    s.b.private_store(array, s.index, x);
    s.keep(s.b.private_load(array, s.b.u32(3), 4));
    s.keep(s.b.private_load(array, s.b.load(s.input(DType::u32), s.index, 4), 4));
    const std::string text = emitted(s.b.take(), with(everything()));
    EXPECT_EQ(count(text, "OpVariable %_ptr_Function"), 4u) << text;
    EXPECT_THAT(text, HasSubstr("_uint_10"));
  }
}

Features pairing() {
  Features f = everything();
  f.paired_stores = true;
  return f;
}

TEST(SpirvMemory, ComponentsThatAreAlwaysAtOnePositionShareElements) {
  for (const bool spread : {false, true}) {
    Sketch s;
    const std::uint32_t array = s.b.private_array({DType::f32, 40});
    const Value x = s.b.load(s.input(DType::f32), s.index, 8);
    s.b.private_store(array, s.index, x);
    s.keep(s.b.private_load(array, s.b.u32(3), 8));
    if (spread) s.keep(s.b.private_load(array, s.b.load(s.input(DType::u32), s.index, 8), 8));
    const kernel::Kernel k = s.b.take();
    const std::string text = emitted(k, with(pairing()));
    EXPECT_EQ(count(text, "OpVariable %_ptr_Function__arr_ulong"), spread ? 0u : 4u) << text;
    EXPECT_EQ(count(text, "OpVariable %_ptr_Function__arr_float"), spread ? 8u : 0u) << text;
    EXPECT_EQ(count(emitted(k, with(everything())), "OpVariable %_ptr_Function"), 8u);
  }
}

TEST(SpirvMemory, ArraysThatAreAlwaysStoredToTogetherShareElements) {
  enum class Case { together, other_position, read_between, once_alone };
  for (const Case c :
       {Case::together, Case::other_position, Case::read_between, Case::once_alone}) {
    SCOPED_TRACE(static_cast<int>(c));
    Sketch s;
    const std::uint32_t first = s.b.private_array({DType::f32, 40}),
                        second = s.b.private_array({DType::f32, 40});
    const Value x = s.b.load(s.input(DType::f32), s.index, 4),
                at = s.b.load(s.input(DType::u32), s.index, 4),
                other = s.b.load(s.input(DType::u32), s.b.u32(8), 4);
    s.b.private_store(first, at, x);
    if (c == Case::read_between) s.keep(s.b.private_load(first, at, 4));
    s.b.private_store(second, c == Case::other_position ? other : at, s.b.add(x, x));
    if (c == Case::once_alone) s.b.private_store(second, other, x);
    s.keep(s.b.private_load(first, other, 4));
    s.keep(s.b.private_load(second, other, 4));
    const std::string text = emitted(s.b.take(), with(pairing()));
    const bool shared = c == Case::together;
    EXPECT_EQ(count(text, "OpVariable %_ptr_Function__arr_ulong"), shared ? 4u : 0u) << text;
    EXPECT_EQ(count(text, "OpVariable %_ptr_Function__arr_float"), shared ? 0u : 8u) << text;
    if (shared) {
      EXPECT_EQ(count(text, "OpLoad %ulong"), 4u) << "once for both halves" << text;
    }
  }
}

TEST(SpirvMemory, AMaskedPrivateStoreGoesToASinkInsteadOfABranch) {
  Sketch s;
  const std::uint32_t array = s.b.private_array({DType::f32, 10});
  const Value x = s.b.load(s.input(DType::f32), s.index, 2);
  s.b.private_store(array, s.b.u32(2), x, s.b.compare(Op::lt, x, s.b.splat(s.b.f32(1), 2)));
  const std::string text = emitted(s.b.take());
  EXPECT_THAT(text, Not(HasSubstr("OpSelectionMerge")));
  EXPECT_THAT(text, HasSubstr("OpTypeArray %float %uint_11"));
}

TEST(SpirvMemory, SharedArraysAndBarriers) {
  for (DType t : all_dtypes) {
    SCOPED_TRACE(name(t));
    Sketch s;
    const std::uint32_t array = s.b.shared_array({t, 256});
    const Value x = s.b.load(s.input(t), s.index, 4);
    const Value at = s.b.binary(Op::mul, s.b.source(Op::local_index), s.b.u32(4));
    s.b.shared_store(array, at, x);
    s.b.shared_store(array, at, x, s.b.compare(Op::ne, x, x));
    s.b.barrier();
    s.keep(s.b.shared_load(array, at, 4));
    const std::string text = emitted(s.b.take(), with(everything()));
    EXPECT_EQ(count(text, "OpVariable %_ptr_Workgroup"), 1u);
    EXPECT_THAT(text, HasSubstr("OpControlBarrier %uint_2 %uint_2 %uint_264"));
  }
}

TEST(SpirvMemory, TexelsOfMemoryThatAnotherBufferWritesAreCoherent) {
  Sketch s;
  const std::uint32_t writes =
      s.b.buffer({DType::f32, Access::read_write, /*coherent=*/true, false, "m"});
  const std::uint32_t reads =
      s.b.buffer({DType::f32, Access::read, /*coherent=*/true, /*texel=*/true, "m"});
  s.b.store(writes, s.index, s.b.f32(1));
  s.b.barrier();
  s.keep(s.b.load(reads, s.b.u32(4), 4));
  const std::string text = emitted(s.b.take());
  EXPECT_EQ(count(text, " Coherent\n"), 2u);
  EXPECT_EQ(count(text, "OpImageRead"), 1u);
  // Acquire and release of shared, buffer and image memory.
  EXPECT_THAT(text, HasSubstr("OpControlBarrier %uint_2 %uint_1 %uint_2376"));
}

TEST(SpirvMemory, CoherentBuffersAreSynchronisedByBarriersAndAtomics) {
  Sketch s;
  const std::uint32_t b =
      s.b.buffer({DType::u32, Access::read_write, /*coherent=*/true, false, "flags"});
  s.b.store(b, s.index, s.b.u32(1));
  s.b.barrier();
  s.keep(s.b.atomic_add(b, s.b.u32(0), s.b.u32(1)));
  const std::string text = emitted(s.b.take());
  EXPECT_EQ(count(text, " Coherent\n"), 1u);
  EXPECT_THAT(text, HasSubstr("OpControlBarrier %uint_2 %uint_1 %uint_328"));
  EXPECT_THAT(text, HasSubstr("%uint_72 "));

  Sketch plain;
  const std::uint32_t counts = plain.output(DType::i32);
  const Value where = plain.b.load(plain.input(DType::u32), plain.index, 4);
  plain.keep(plain.b.atomic_add(counts, where, plain.b.splat(plain.b.i32(1), 4)));
  EXPECT_EQ(count(emitted(plain.b.take()), "OpAtomicIAdd"), 4u);
}

}  // namespace
}  // namespace gnomon::spirv
