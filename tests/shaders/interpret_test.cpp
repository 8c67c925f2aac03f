// tests/shaders/interpret_test.cpp -- kernels run on the host as kernel.h says.
#include "shaders/interpret/interpret.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "shaders/kernel/text.h"
#include "shaders/support/check.h"
#include "shaders/support/half.h"

namespace gnomon::kernel {
namespace {

/// The arrays of one run, as raw bytes with typed access.
class Execution {
 public:
  template <class T>
  Execution& with(const std::vector<T>& x) {
    std::vector<std::byte> bytes(x.size() * sizeof(T));
    std::memcpy(bytes.data(), x.data(), bytes.size());
    arrays_.push_back(std::move(bytes));
    return *this;
  }

  Execution& kernel(const std::string& text, std::uint32_t groups = 1,
                    std::vector<std::uint32_t> user = {}, std::uint32_t base_group = 0) {
    std::vector<std::uint32_t> parameters{base_group, 1, 0, 0};
    for (std::size_t b = 0; b < arrays_.size(); ++b) parameters.push_back(bases_[b]);
    parameters.insert(parameters.end(), user.begin(), user.end());
    std::vector<std::span<std::byte>> views(arrays_.begin(), arrays_.end());
    interpret(parse_kernel(text), groups, parameters, views);
    return *this;
  }

  Execution& base(std::size_t buffer, std::uint32_t element) {
    bases_[buffer] = element;
    return *this;
  }

  template <class T>
  std::vector<T> array(std::size_t b) const {
    std::vector<T> x(arrays_[b].size() / sizeof(T));
    std::memcpy(x.data(), arrays_[b].data(), arrays_[b].size());
    return x;
  }

 private:
  std::vector<std::vector<std::byte>> arrays_;
  std::uint32_t bases_[8] = {};
};

using Floats = std::vector<float>;
using Words = std::vector<std::uint32_t>;

template <class F>
std::string complaint(F f) {
  try {
    f();
  } catch (const InternalError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(Interpret, AnEmptyKernelChangesNothing) {
  const Floats x{1, 2, 3};
  EXPECT_EQ(Execution()
                .with(x)
                .kernel(R"(kernel "k" group=4 { buffer 0 "x": f32 read_write })")
                .array<float>(0),
            x);
}

TEST(Interpret, RunsEveryLane) {
  const auto y = Execution()
                     .with(Floats{1, 2, 3, 4})
                     .with(Floats(4))
                     .kernel(R"(
    kernel "k" lanes=4 group=64 parameters=1 {
      buffer 0 "x": f32 read
      buffer 1 "y": f32 write
      %i: u32 = lane
      %p: u32 = parameter 0
      %s: f32 = convert %p
      %x: f32 = load 0 %i
      %y: f32 = mul %x %s
      store 1 %i %y
    })",
                             0, {10});
  EXPECT_EQ(y.array<float>(1), (Floats{10, 20, 30, 40}));
}

TEST(Interpret, NumbersInvocationsFromTheBaseGroupAndElementsFromTheBase) {
  const auto y = Execution()
                     .with(Words(8, 99))
                     .base(0, 2)
                     .kernel(R"(
    kernel "k" group=2 {
      buffer 0 "y": u32 write
      %i: u32 = invocation
      %l: u32 = local_index
      %g: u32 = group_index
      %four: u32 = constant 4
      %ten: u32 = constant 10
      %at: u32 = sub %i %four
      %a: u32 = mul %g %ten
      %b: u32 = add %a %l
      store 0 %at %b
    })",
                             2, {}, 2);
  EXPECT_EQ(y.array<std::uint32_t>(0), (Words{99, 99, 20, 21, 30, 31, 99, 99}));
}

TEST(Interpret, LoopsCarryValuesAndBranchesChoose) {
  // Collatz steps of each lane's number.
  const auto y = Execution().with(Words{1, 6, 7, 27}).with(Words(4)).kernel(R"(
    kernel "collatz" lanes=4 group=64 {
      buffer 0 "x": u32 read
      buffer 1 "y": u32 write
      %i: u32 = lane
      %zero: u32 = constant 0
      %one: u32 = constant 1
      %three: u32 = constant 3
      %x: u32 = load 0 %i
      %last: u32, %steps: u32 = loop (%n: u32 = %x, %k: u32 = %zero) max=200 {
        %go: bool = ne %n %one
        yield %go
      } do (%m: u32, %j: u32) {
        %bit: u32 = band %m %one
        %odd: bool = eq %bit %one
        %next: u32 = if %odd {
          %t: u32 = mul %m %three
          %u: u32 = add %t %one
          yield %u
        } else {
          %h: u32 = shr %m %one
          yield %h
        }
        %j1: u32 = add %j %one
        yield %next %j1
      }
      store 1 %i %steps
    })");
  EXPECT_EQ(y.array<std::uint32_t>(1), (Words{0, 8, 16, 111}));
}

TEST(Interpret, CarriedValuesSwapAtOnce) {
  const auto y = Execution().with(Words(2)).kernel(R"(
    kernel "k" lanes=1 group=1 {
      buffer 0 "y": u32 write
      %0: u32 = constant 0
      %1: u32 = constant 1
      %3: u32 = constant 3
      %a: u32, %b: u32, %n: u32 = loop (%p: u32 = %0, %q: u32 = %1, %k: u32 = %0) {
        %go: bool = lt %k %3
        yield %go
      } do (%r: u32, %s: u32, %l: u32) {
        %next: u32 = add %l %1
        yield %s %r %next
      }
      store 0 %0 %a
      store 0 %1 %b
    })");
  EXPECT_EQ(y.array<std::uint32_t>(0), (Words{1, 0}));
}

TEST(Interpret, WideAccessesAreConsecutiveOrGathered) {
  const auto y = Execution().with(Words{10, 11, 12, 13, 14, 15, 16, 17}).with(Words(8)).kernel(R"(
    kernel "k" group=1 {
      buffer 0 "x": u32 read
      buffer 1 "y": u32 write
      %0: u32 = constant 0
      %1: u32 = constant 1
      %3: u32 = constant 3
      %4: u32 = constant 4
      %7: u32 = constant 7
      %row: u32x4 = load 0 %1
      store 1 %0 %row
      %at: u32x4 = construct %7 %0 %3 %1
      %picked: u32x4 = load 0 %at
      %where: u32x4 = construct %4 %7 %1 %1
      %t: bool = constant true
      %f: bool = constant false
      %m: boolx4 = construct %t %t %f %f
      store 1 %where %picked %m
    })");
  EXPECT_EQ(y.array<std::uint32_t>(1), (Words{11, 12, 13, 14, 17, 0, 0, 10}));
}

TEST(Interpret, AMaskedAccessTouchesNothing) {
  const auto y = Execution().with(Words{5}).with(Words(2, 9)).kernel(R"(
    kernel "k" group=1 {
      buffer 0 "x": u32 read
      buffer 1 "y": u32 write
      %0: u32 = constant 0
      %far: u32 = constant 4000000000
      %f: bool = constant false
      %x: u32 = load 0 %far %f
      store 1 %far %x %f
      store 1 %0 %x
    })");
  EXPECT_EQ(y.array<std::uint32_t>(1), (Words{0, 9}));
}

TEST(Interpret, SharedMemoryIsSeenAfterABarrier) {
  // A tree sum of a workgroup's invocation numbers.
  const auto y = Execution().with(Words(2)).kernel(R"(
    kernel "sum" group=8 {
      buffer 0 "y": u32 write
      shared 0: u32[8]
      %i: u32 = invocation
      %l: u32 = local_index
      %g: u32 = group_index
      %0: u32 = constant 0
      %1: u32 = constant 1
      %4: u32 = constant 4
      shared_store 0 %l %i
      %end: u32 = loop (%a: u32 = %4) max=3 {
        %go: bool = gt %a %0
        yield %go
      } do (%d: u32) {
        barrier
        %in: bool = lt %l %d
        if %in {
          %at: u32 = add %l %d
          %x: u32 = shared_load 0 %l
          %y: u32 = shared_load 0 %at
          %z: u32 = add %x %y
          shared_store 0 %l %z
        }
        %half: u32 = shr %d %1
        yield %half
      }
      barrier
      %first: bool = eq %l %0
      %sum: u32 = shared_load 0 %0
      store 0 %g %sum %first
    })",
                                                   2);
  EXPECT_EQ(y.array<std::uint32_t>(0), (Words{28, 92}));
}

TEST(Interpret, AtomicsReturnTheOldValue) {
  const auto y = Execution().with(Words{100}).with(Words(4)).kernel(R"(
    kernel "k" group=4 {
      buffer 0 "n": u32 read_write
      buffer 1 "y": u32 write
      %i: u32 = invocation
      %0: u32 = constant 0
      %2: u32 = constant 2
      %old: u32 = atomic_add 0 %0 %2
      store 1 %i %old
    })");
  EXPECT_EQ(y.array<std::uint32_t>(0), Words{108});
  EXPECT_EQ(y.array<std::uint32_t>(1), (Words{100, 102, 104, 106}));
}

TEST(Interpret, AWidePrivateArrayIsOnePerComponent) {
  const auto y = Execution().with(Words(4)).kernel(R"(
    kernel "k" group=1 {
      buffer 0 "y": u32 write
      private 0: u32[2]
      %0: u32 = constant 0
      %1: u32 = constant 1
      %2: u32 = constant 2
      %a: u32x2 = construct %0 %1
      %b: u32x2 = splat %2
      private_store 0 %0 %b
      private_store 0 %1 %a
      %x: u32x2 = private_load 0 %1
      store 0 %0 %x
      %at: u32x2 = construct %1 %0
      %y: u32x2 = private_load 0 %at
      store 0 %2 %y
    })");
  EXPECT_EQ(y.array<std::uint32_t>(0), (Words{0, 1, 0, 2}));
}

TEST(Interpret, EveryTypeIsStoredInItsLayout) {
  const auto y = Execution()
                     .with(std::vector<std::int8_t>{-3})
                     .with(std::vector<std::uint16_t>{f16_bits(1.5)})
                     .with(std::vector<std::uint16_t>{bf16_bits(-2)})
                     .with(std::vector<double>{0.25})
                     .with(std::vector<std::int64_t>(2))
                     .with(Words{7})
                     .kernel(R"(
    kernel "k" group=1 {
      buffer 0 "a": i8 read_write
      buffer 1 "b": f16 read_write
      buffer 2 "c": bf16 read_write
      buffer 3 "d": f64 read_write
      buffer 4 "e": i64 write
      buffer 5 "f": bool read_write
      %0: u32 = constant 0
      %1: u32 = constant 1
      %a: i8 = load 0 %0
      %a2: i8 = mul %a %a
      %b: f16 = load 1 %0
      %b2: f16 = mul %b %b
      %c: bf16 = load 2 %0
      %c2: bf16 = add %c %c
      %d: f64 = load 3 %0
      %d2: f64 = sqrt %d
      %e: i64 = convert %a
      %e2: i64 = bitcast %d
      %f: bool = load 5 %0
      %f2: bool = bnot %f
      store 0 %0 %a2
      store 1 %0 %b2
      store 2 %0 %c2
      store 3 %0 %d2
      store 4 %0 %e
      store 4 %1 %e2
      store 5 %0 %f2
    })");
  EXPECT_EQ(y.array<std::int8_t>(0)[0], 9);
  EXPECT_EQ(y.array<std::uint16_t>(1)[0], f16_bits(2.25));
  EXPECT_EQ(y.array<std::uint16_t>(2)[0], bf16_bits(-4));
  EXPECT_EQ(y.array<double>(3)[0], 0.5);
  EXPECT_EQ(y.array<std::int64_t>(4),
            (std::vector<std::int64_t>{-3, std::bit_cast<std::int64_t>(0.25)}));
  EXPECT_EQ(y.array<std::uint32_t>(5)[0], 0u);
}

TEST(Interpret, BitcastSplitsAndJoinsWords) {
  const auto y =
      Execution().with(std::vector<std::uint64_t>{0x1122334455667788u}).with(Words(2)).kernel(R"(
    kernel "k" group=1 {
      buffer 0 "x": u64 read_write
      buffer 1 "y": u32 write
      %0: u32 = constant 0
      %x: u64 = load 0 %0
      %w: u32x2 = bitcast %x
      store 1 %0 %w
      %lo: u32 = extract 0 %w
      %hi: u32 = extract 1 %w
      %s: u32x2 = construct %hi %lo
      %z: u64 = bitcast %s
      store 0 %0 %z
    })");
  EXPECT_EQ(y.array<std::uint32_t>(1), (Words{0x55667788u, 0x11223344u}));
  EXPECT_EQ(y.array<std::uint64_t>(0)[0], 0x5566778811223344u);
}

TEST(Interpret, WordsOfDoublesComeApartAndTogether) {
  const auto y = Execution().with(std::vector<double>{-2.5, 0}).with(Words(2)).kernel(R"(
    kernel "k" group=1 {
      buffer 0 "x": f64 read_write
      buffer 1 "y": u32 write
      %0: u32 = constant 0
      %1: u32 = constant 1
      %5: u32 = constant 5
      %x: f64 = load 0 %0
      %low: u32 = low_word %x
      %high: u32 = high_word %x
      store 1 %0 %low
      store 1 %1 %high
      %z: f64 = from_words %5 %high
      store 0 %1 %z
    })");
  EXPECT_EQ(y.array<std::uint32_t>(1), (Words{0, 0xc0040000u}));
  EXPECT_EQ(y.array<double>(0)[1], std::bit_cast<double>(0xc004000000000005u));
}

TEST(Interpret, AnIndexOutOfBoundsNamesArrayIndexAndSize) {
  const char* const text = R"(
    kernel "k" lanes=4 group=1 {
      buffer 0 "x": f32 read
      %i: u32 = lane
      %x: f32 = load 0 %i
    })";
  const std::string all = complaint([&] { Execution().with(Floats(3)).kernel(text); });
  EXPECT_NE(
      all.find("index 3 is out of bounds: buffer \"x\" has 3 elements, in: %1: f32 = load 0 %0"),
      std::string::npos)
      << all;
  const std::string tail = complaint([&] { Execution().with(Floats(6)).base(0, 4).kernel(text); });
  EXPECT_NE(tail.find("index 2 is out of bounds: buffer \"x\" from element 4 on has 2 elements"),
            std::string::npos)
      << tail;
  const std::string local = complaint([] {
    Execution().kernel(
        "kernel \"k\" group=1 { private 0: f32[2] %0: u32 = constant 2 %1: f32 = private_load 0 %0 "
        "}");
  });
  EXPECT_NE(local.find("private array 0 has 2 elements"), std::string::npos) << local;
}

TEST(Interpret, ALoopStaysWithinItsStatedTrips) {
  const auto loop = [](const char* max) {
    return std::string(R"(
      kernel "k" group=1 {
        %0: u32 = constant 0
        %1: u32 = constant 1
        %5: u32 = constant 5
        %n: u32 = loop (%a: u32 = %0) max=)") +
           max + R"( {
          %go: bool = lt %a %5
          yield %go
        } do (%b: u32) {
          %c: u32 = add %b %1
          yield %c
        }
      })";
  };
  Execution().kernel(loop("5"));
  EXPECT_NE(complaint([&] { Execution().kernel(loop("4")); }).find("more trips than it states"),
            std::string::npos);
}

TEST(Interpret, ChecksItsArguments) {
  const Kernel k = parse_kernel(R"(kernel "k" group=1 { buffer 0 "x": f32 read })");
  const std::uint32_t parameters[] = {0, 1, 0, 0};
  std::vector<std::span<std::byte>> none;
  EXPECT_NE(complaint([&] { interpret(k, 1, parameters, none); }).find("has 4 words, not 5"),
            std::string::npos);
  const std::uint32_t enough[] = {0, 1, 0, 0, 0};
  EXPECT_NE(complaint([&] { interpret(k, 1, enough, none); }).find("0 buffers are given for 1"),
            std::string::npos);
  EXPECT_NE(complaint([] {
              Execution().kernel("kernel \"k\" group=1 { %0: u32 = lane }");
            }).find("invocation form has a lane"),
            std::string::npos);
}

}  // namespace
}  // namespace gnomon::kernel
