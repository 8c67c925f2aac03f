// codegen/primitives/elementwise/random_bits.cpp -- Threefry-2x32 with 20 rounds.
//
// Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011. Pure u32
// arithmetic, so host and devices agree bit for bit.
#include <bit>

#include "codegen/primitives/families.h"

namespace gnomon {
using namespace rules;
using kernel::Builder;
using kernel::Op;
using kernel::Value;

namespace {

/// The cipher over any kind of word: `add`, `exclusive_or`, `rotate` and `literal` say how words
/// compute.
template <class Word, class Machine>
std::pair<Word, Word> threefry(const Machine& m, Word k0, Word k1, Word x0, Word x1) {
  constexpr std::uint32_t rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const Word key[3] = {k0, k1, m.exclusive_or(m.exclusive_or(k0, k1), m.literal(0x1BD11BDA))};
  x0 = m.add(x0, k0);
  x1 = m.add(x1, k1);
  for (std::uint32_t i = 0; i < 5; ++i) {
    for (std::uint32_t distance : rotations[i % 2]) {
      x0 = m.add(x0, x1);
      x1 = m.exclusive_or(m.rotate(x1, distance), x0);
    }
    x0 = m.add(x0, key[(i + 1) % 3]);
    x1 = m.add(m.add(x1, key[(i + 2) % 3]), m.literal(i + 1));
  }
  return {x0, x1};
}

struct HostMachine {
  std::uint32_t add(std::uint32_t a, std::uint32_t b) const { return a + b; }
  std::uint32_t exclusive_or(std::uint32_t a, std::uint32_t b) const { return a ^ b; }
  std::uint32_t rotate(std::uint32_t a, std::uint32_t n) const {
    return std::rotl(a, static_cast<int>(n));
  }
  std::uint32_t literal(std::uint32_t x) const { return x; }
};

struct KernelMachine {
  Builder& k;
  Value add(Value a, Value b) const { return k.add(a, b); }
  Value exclusive_or(Value a, Value b) const { return k.binary(Op::bxor, a, b); }
  Value rotate(Value a, std::uint32_t n) const {
    return k.lor(k.binary(Op::shl, a, k.u32(n)), k.binary(Op::shr, a, k.u32(32 - n)));
  }
  Value literal(std::uint32_t x) const { return k.u32(x); }
};

}  // namespace

/// (key0, key1, counter0, counter1) -> two words, element by element.
const Primitive threefry2x32_p{
    .name = "threefry2x32",
    .parse = no_params,
    .shape =
        [](const Params&, std::span<const Aval> in, Loc loc) {
          const Aval a = elementwise_aval("threefry2x32", in, 4, Accepts::integers, loc);
          if (a.dtype != DType::u32)
            usage_error("threefry2x32", "takes u32, got " + to_string(a), loc);
          return std::vector<Aval>{a, a};
        },
    .jvp = zero_tangents,
    .transpose = not_linear<threefry2x32_p>,
    .batch = batch_elementwise<threefry2x32_p>,
    .lower = Lowering::per_element(
        [](ElementContext& c, const Params&, std::size_t output, const Index& i) {
          Value word[4];
          for (std::size_t n = 0; n < 4; ++n) word[n] = c.operand(n, i);
          const auto [x0, x1] = threefry(KernelMachine{c.k}, word[0], word[1], word[2], word[3]);
          return output == 0 ? x0 : x1;
        },
        Cost::heavy),
    .reference =
        [](const Params&, std::span<const Aval> out, std::span<const HostArray> in) {
          HostArray r0(out[0]), r1(out[1]);
          const auto word = [&](std::size_t n, Dim i) {
            return host::get<std::uint32_t>(in[n], i);
          };
          for (Dim i = 0; i < r0.size(); ++i) {
            const auto [x0, x1] =
                threefry(HostMachine{}, word(0, i), word(1, i), word(2, i), word(3, i));
            host::put(r0, i, x0);
            host::put(r1, i, x1);
          }
          return std::vector<HostArray>{std::move(r0), std::move(r1)};
        },
};

}  // namespace gnomon
