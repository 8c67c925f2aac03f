// shaders/passes/refine.cpp -- see refine.h.
#include "shaders/passes/refine.h"

#include "shaders/math/real.h"
#include "shaders/math/twofold.h"
#include "shaders/passes/rewrite.h"

namespace gnomon::kernel {
namespace {

using math::Real;

constexpr int infinity_bits = 0x7f800000, no_number_bits = 0x7fc00000;
constexpr int one_bits = 0x3f800000, significand_mask = 0x007fffff, smallest_normal_bits = 0x800000;

Real magnitude_bits(Real x) { return x.bits(DType::u32) & 0x7fffffff; }

/// A finite number other than zero as significand times 2^exponent; anything for the others.
struct FloatParts {
  Real significand;  // in [1, 2)
  Real exponent;     // i32
};

/// From the bits of a magnitude. Subnormals never meet float arithmetic.
FloatParts parts_of(Real bits) {
  const Real subnormal = bits < smallest_normal_bits;
  const Real normal = select(subnormal, bits.to(DType::f32).bits(DType::u32), bits);
  const Real field = (normal >> 23).bits(DType::i32);
  return {((normal & significand_mask) | one_bits).bits(DType::f32),
          select(subnormal, field - (127 + 149), field - 127)};
}

/// x - q y, where that is a float: q y is next to x.
Real remainder(Real x, Real q, Real y) {
  const auto p = math::product_exact(math::Floating<float>{q.b, q.v}, {y.b, y.v});
  return (x - Real{q.b, p.high.v}) - Real{q.b, p.low.v};
}

/// -1 or 1 as the sign of `remainder` says, where twice that is more than `gap`, else 0: the way to
/// the nearest from a neighbour. Quotients of floats are never half way, but for subnormal ones,
/// which were rounded to even already.
Real step_to_nearest(Real remainder, Real gap) {
  const Real away = magnitude(remainder + remainder) > gap;
  return select(away, select(remainder < 0.0f, remainder.like(-1), remainder.like(1)),
                remainder.like(0));
}

/// The bits of the nearest of x / y below the normal numbers, as a multiple of 2^-149.
/// `q` is x / y within half a unit, times 2^exponent the quotient.
Real subnormal_quotient(Real x, Real y, Real q, Real exponent) {
  const Real shift = exponent + 149;
  const Real scale =
      select(shift < -40, shift.like(-40), select(shift > 23, shift.like(23), shift));
  const Real inverse = power_of_two(-scale);
  const Real count = apply(Op::round_even, q * power_of_two(scale));
  const Real rest = remainder(x, count * inverse, y);
  const Real step = step_to_nearest(rest, inverse * y);
  return (count.to(DType::i32) + step).bits(DType::u32);
}

Real quotient(Real x, Real y) {
  Builder& b = *x.b;
  const Real sign = sign_bit(x) ^ sign_bit(y);
  const Real xs = magnitude_bits(x), ys = magnitude_bits(y);
  const FloatParts p = parts_of(xs), d = parts_of(ys);
  const Real first = p.significand / d.significand;
  const Real near = first + remainder(p.significand, first, d.significand) / d.significand;
  const Real rest = remainder(p.significand, near, d.significand);
  const Real toward = select(rest < 0.0f, rest.like(-1), rest.like(1));
  const Real gap = magnitude((near.bits(DType::i32) + toward).bits(DType::f32) - near);
  const Real q = near.bits(DType::i32) + step_to_nearest(rest, gap * d.significand);

  const Real exponent = p.exponent - d.exponent;
  const Real field = (q >> 23) + exponent;
  const Real zero = (xs == 0) | (ys == infinity_bits), pole = (ys == 0) | (xs == infinity_bits);
  const Real invalid = (xs > infinity_bits) | (ys > infinity_bits) | (zero & pole);
  const Real low = (field < 1) & !(zero | pole | invalid);
  const Real scaled = (q + (exponent << 23)).bits(DType::u32);
  // Rare, and skipped where no element needs it.
  const Real finite{&b, b.if_(
                            b.any(low.v),
                            [&] {
                              const Real bits = subnormal_quotient(p.significand, d.significand,
                                                                   q.bits(DType::f32), exponent);
                              return Values{select(low, bits, scaled).v};
                            },
                            [&] { return Values{scaled.v}; })[0]};
  const Real regular = select(field > 254, xs.like(infinity_bits), finite);
  const Real special = select(zero, xs.like(0), select(pole, xs.like(infinity_bits), regular));
  return select(invalid, xs.like(no_number_bits), special | sign).bits(DType::f32);
}

Real root(Real x) {
  const Real bits = x.bits(DType::u32), size = magnitude_bits(x);
  const FloatParts p = parts_of(size);
  // The exponent made even.
  const Real odd = (p.exponent & 1) != 0;
  const Real m = select(odd, p.significand + p.significand, p.significand);
  const Real first = square_root(m);
  const Real near = first + remainder(m, first, first) / (first + first);
  // Half way to the next float, u away, squares to near^2 + near u + u^2 / 4; the remainder and
  // near u are multiples of a number above the last term, so that it only decides when they meet.
  const Real rest = remainder(m, near, near), unit = near * 0x1p-23f;
  const Real step = select(rest > unit, m.like(1), select(rest <= -unit, m.like(-1), m.like(0)));
  const Real nearest = near.bits(DType::i32) + step;
  const Real regular = (nearest + ((p.exponent >> 1) << 23)).bits(DType::u32);
  const Real itself = (size == 0) | (bits == infinity_bits);
  const Real invalid = bits > infinity_bits;  // negative, or not a number
  return select(itself, bits, select(invalid, bits.like(no_number_bits), regular)).bits(DType::f32);
}

class Refiner : public Rewriter {
 public:
  Refiner(const Kernel& source, Builder& out, RefineOptions options)
      : Rewriter(source, out), options_(options) {}

 private:
  void visit(const Instruction& i) override {
    const bool divides = i.op == Op::div && options_.division;
    const bool roots = i.op == Op::sqrt && options_.root;
    if (!(divides || roots) || source_.type(i.results[0]).scalar != DType::f32) return copy(i);
    const Builder::Exactly exactly(out_);
    if (i.line != 0) {
      const SourceLine& line = source_.lines[i.line - 1];
      out_.at_line(line.file, line.line);
    }
    const Real x{&out_, mapped(i.operands[0])};
    map(i.results[0], (divides ? quotient(x, {&out_, mapped(i.operands[1])}) : root(x)).v);
  }

  RefineOptions options_;
};

}  // namespace

Kernel refine(Kernel kernel, RefineOptions options) {
  if (!options.any()) return kernel;
  Builder out(kernel.name);
  copy_header(kernel, out);
  Refiner(kernel, out, options).copy(kernel.body);
  return out.take();
}

}  // namespace gnomon::kernel
