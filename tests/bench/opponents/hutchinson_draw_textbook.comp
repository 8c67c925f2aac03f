// hutchinson, textbook: one sign per invocation from a hash of its number.
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) writeonly buffer Z { float z[]; };
layout(push_constant) uniform Params { uint n, seed; };

uint mixed(uint x) {
  x ^= x >> 16; x *= 0x7FEB352Du; x ^= x >> 15; x *= 0x846CA68Bu; x ^= x >> 16;
  return x;
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < n) z[i] = (mixed(i * 0x9E3779B9u + seed) & 1u) == 0u ? 1.0 : -1.0;
}
