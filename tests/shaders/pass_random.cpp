// tests/shaders/pass_random.cpp -- the generator behind the property tests of the kernel passes.
#include "tests/shaders/pass_random.h"

#include <algorithm>
#include <bit>
#include <random>

#include "shaders/kernel/builder.h"

namespace gnomon::kernel {
namespace {

constexpr std::uint32_t table_length = 37;
constexpr std::uint32_t elements_per_lane = 3;
constexpr std::uint32_t private_length = 5;

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed), out_("random") {}

  Kernel run() {
    const std::uint32_t choices[] = {1, 2, 3, 4, 7, 8, 16, 17, 21, 32, 33, 40};
    lanes_ = choices[below(std::size(choices))];
    out_.buffer({DType::f32, Access::read, false, false, "table"});
    out_.buffer({DType::u32, Access::read, false, false, "counts"});
    out_.buffer({DType::f32, Access::read, false, false, "mine"});
    out_.buffer({DType::f32, Access::write, false, false, "out"});
    out_.buffer({DType::f32, Access::read_write, false, false, "state"});
    out_.buffer({DType::u32, Access::read_write, false, false, "words"});
    out_.private_array({DType::f32, private_length});
    out_.private_array({DType::u32, private_length});
    lane_ = out_.source(Op::lane);
    words_ = {lane_,
              out_.u32(below(9)),
              out_.u32(3),
              out_.mul(lane_, out_.u32(3)),
              out_.load(1, out_.u32(below(table_length))),
              out_.load(1, lane_)};
    reals_ = {out_.f32(0.5f), out_.f32(-2), out_.load(0, out_.u32(1)), out_.load(2, lane_)};
    truths_ = {out_.compare(Op::lt, word(), word())};
    for (std::uint32_t k = 0; k < private_length; ++k) {
      out_.private_store(0, out_.u32(k), real());
      out_.private_store(1, out_.u32(k), word());
    }
    statements(3, 8 + below(12));
    for (int k = 0; k < 3; ++k) {
      out_.store(3, own_element(), real());
      out_.store(5, own_element(), word());
    }
    out_.kernel().lanes = lanes_;
    return out_.take();
  }

 private:
  std::uint32_t below(std::size_t n) { return static_cast<std::uint32_t>(random_() % n); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

  Value pick(const Values& from) {
    // Recent values twice as often, so that chains grow.
    const std::size_t n = from.size();
    return one_in(2) ? from[below(n)] : from[n - 1 - below((n + 1) / 2)];
  }
  Value word() { return pick(words_); }
  Value real() { return pick(reals_); }
  Value truth() { return pick(truths_); }

  /// An element that belongs to this lane alone, rows or columns first.
  Value own_element() {
    const Value j = one_in(3) ? out_.rem(word(), out_.u32(elements_per_lane))
                              : out_.u32(below(elements_per_lane));
    return one_in(2) ? out_.add(out_.mul(lane_, out_.u32(elements_per_lane)), j) : own_column(j);
  }
  /// The second half of the buffer lies the other way round.
  Value own_column(Value j) {
    const Value row = out_.add(j, out_.u32(elements_per_lane));
    return out_.add(out_.mul(row, out_.u32(lanes_)), lane_);
  }

  Value within(Value index, std::uint32_t length) { return out_.rem(index, out_.u32(length)); }

  void arithmetic_on_words() {
    const Op ops[] = {Op::add,     Op::sub,     Op::mul, Op::band, Op::bxor,
                      Op::minimum, Op::maximum, Op::div, Op::rem};
    const Value small = out_.u32(1 + below(20));
    switch (below(5)) {
      case 0:
        words_.push_back(out_.binary(Op::shl, word(), out_.u32(below(4))));
        return;
      case 1:
        words_.push_back(out_.binary(Op::shr, word(), out_.u32(below(5))));
        return;
      case 2:
        words_.push_back(out_.binary(one_in(2) ? Op::div : Op::rem, word(), small));
        return;
      case 3:
        words_.push_back(out_.select(truth(), word(), word()));
        return;
      default:
        words_.push_back(
            out_.binary(ops[below(std::size(ops))], word(), one_in(2) ? small : word()));
    }
  }

  void arithmetic_on_reals() {
    const Op ops[] = {Op::add, Op::sub, Op::mul};
    switch (below(6)) {
      case 0:
        reals_.push_back(out_.select(truth(), real(), real()));
        return;
      case 1:
        reals_.push_back(out_.convert(within(word(), 1000), DType::f32));
        return;
      case 2: {
        const Builder::Exactly exactly(out_);
        reals_.push_back(out_.mul(real(), real()));
        return;
      }
      case 3:
        reals_.push_back(out_.unary(Op::floor, real()));
        return;
      default:
        reals_.push_back(out_.binary(ops[below(std::size(ops))], real(), real()));
    }
  }

  void comparison() {
    const Op ops[] = {Op::lt, Op::le, Op::eq, Op::ne, Op::gt};
    const Op op = ops[below(std::size(ops))];
    switch (below(4)) {
      case 0:
        truths_.push_back(out_.compare(op, real(), real()));
        return;
      case 1:
        truths_.push_back(out_.compare(op, word(), out_.u32(below(30))));
        return;
      case 2:
        truths_.push_back(out_.land(truth(), truth()));
        return;
      default:
        truths_.push_back(out_.compare(op, word(), word()));
    }
  }

  void load() {
    switch (below(7)) {
      case 0:
        reals_.push_back(out_.load(0, within(word(), table_length)));
        return;
      case 1:
        words_.push_back(out_.load(1, within(word(), table_length)));
        return;
      case 2:
        reals_.push_back(out_.load(2, own_element()));
        return;
      case 3:
        reals_.push_back(out_.load(4, own_element()));
        return;
      case 4:
        words_.push_back(out_.load(5, own_element()));
        return;
      case 5:
        reals_.push_back(out_.private_load(0, within(word(), private_length)));
        return;
      default:
        words_.push_back(out_.private_load(1, within(word(), private_length)));
    }
  }

  void store() {
    switch (below(6)) {
      case 0:
        out_.store(3, own_element(), real());
        return;
      case 1:
        out_.store(4, own_element(), real());
        return;
      case 2:
        out_.store(5, own_element(), word());
        return;
      case 3:
        out_.private_store(0, within(word(), private_length), real());
        return;
      case 4:
        out_.private_store(1, within(word(), private_length), word(), truth());
        return;
      default:
        out_.store(4, own_element(), real(), truth());
    }
  }

  /// Runs `f` for a nested region: what it defines is gone afterwards.
  template <class F>
  auto nested(F f) {
    const Values words = words_, reals = reals_, truths = truths_;
    auto result = f();
    words_ = words;
    reals_ = reals;
    truths_ = truths;
    return result;
  }

  /// An index that is in bounds only where the branch is taken.
  void guarded_access() {
    const Value index = word();
    const bool to_private = one_in(3);
    const std::uint32_t length = to_private ? private_length : table_length;
    Value inside = out_.compare(Op::lt, index, out_.u32(length));
    if (one_in(2)) inside = out_.land(truth(), inside);
    const Values results = out_.if_(
        inside,
        [&] {
          return nested([&] {
            if (one_in(3)) statements(0, 2);
            const Value x = to_private ? out_.private_load(0, index) : out_.load(0, index);
            if (one_in(4)) out_.store(3, own_element(), x);
            return Values{x};
          });
        },
        [&] { return Values{real()}; });
    reals_.push_back(results[0]);
  }

  void branch(int depth) {
    const auto side = [&] {
      return nested([&] {
        statements(depth - 1, 1 + below(5));
        return Values{real(), word(), truth()};
      });
    };
    const Values results = out_.if_(truth(), side, side);
    reals_.push_back(results[0]);
    words_.push_back(results[1]);
    truths_.push_back(results[2]);
  }

  void loop(int depth) {
    const Value count = within(word(), 6);
    const bool early = one_in(3);  // leaves before `count` as well
    const Values init{out_.u32(0), real(), word(), truth(), real(), word()};
    const Values results = out_.loop(
        init, 6,
        [&](std::span<const Value> c) {
          return nested([&] {
            words_.insert(words_.end(), {c[0], c[2]});
            reals_.push_back(c[1]);
            if (one_in(4)) statements(0, 2);
            const Value more = out_.compare(Op::lt, c[0], count);
            return early ? out_.land(more, out_.compare(Op::le, c[1], real())) : more;
          });
        },
        [&](std::span<const Value> c) {
          return nested([&] {
            words_.insert(words_.end(), {c[0], c[2], c[5]});
            reals_.insert(reals_.end(), {c[1], c[4]});
            truths_.push_back(c[3]);
            statements(depth - 1, 2 + below(5));
            return Values{out_.add(c[0], out_.u32(1)),
                          real(),
                          one_in(2) ? word() : out_.add(c[2], out_.u32(4)),
                          truth(),
                          one_in(2) ? c[4] : real(),
                          one_in(2) ? c[5] : word()};
          });
        });
    words_.insert(words_.end(), {results[0], results[2], results[5]});
    reals_.insert(reals_.end(), {results[1], results[4]});
    truths_.push_back(results[3]);
  }

  void statements(int depth, std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) {
      switch (below(depth > 0 ? 12 : 9)) {
        case 0:
        case 1:
          arithmetic_on_words();
          break;
        case 2:
        case 3:
          arithmetic_on_reals();
          break;
        case 4:
          comparison();
          break;
        case 5:
        case 6:
          load();
          break;
        case 7:
          store();
          break;
        case 8:
          guarded_access();
          break;
        case 9:
          branch(depth);
          break;
        default:
          loop(depth);
          break;
      }
    }
  }

  std::mt19937 random_;
  Builder out_;
  std::uint32_t lanes_ = 0;
  Value lane_;
  Values words_, reals_, truths_;
};

}  // namespace

Kernel random_kernel(std::uint32_t seed) { return Generator(seed).run(); }

std::vector<std::uint32_t> random_buffer(const Kernel& kernel, std::size_t buffer,
                                         std::uint32_t lanes, std::uint32_t seed) {
  std::mt19937 random(seed * 31 + static_cast<std::uint32_t>(buffer));
  const std::size_t length = buffer < 2 ? std::max<std::size_t>(table_length, lanes)
                                        : std::size_t{lanes} * elements_per_lane * 2;
  std::vector<std::uint32_t> bits(length);
  for (std::uint32_t& b : bits) {
    const auto draw = static_cast<std::uint32_t>(random());
    b = kernel.buffers[buffer].dtype == DType::f32
            ? std::bit_cast<std::uint32_t>(static_cast<float>(draw % 64) / 16 - 2)
            : draw % 50;
  }
  return bits;
}

}  // namespace gnomon::kernel
