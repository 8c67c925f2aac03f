// engine/runtime/half.cpp -- 16-bit floats on the host, by the rounding that everything here uses.
#include "gnomon/half.h"

#include "shaders/support/half.h"

namespace gnomon {

float16::float16(double x) : bits(f16_bits(x)) {}
float16::operator float() const { return f16_value(bits); }

bfloat16::bfloat16(double x) : bits(bf16_bits(x)) {}
bfloat16::operator float() const { return bf16_value(bits); }

}  // namespace gnomon
