// hutchinson, expert: 32 signs per invocation from the bits of one hash.
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) writeonly buffer Z { vec4 z[]; };
layout(push_constant) uniform Params { uint seed; };

uint mixed(uint x) {
  x ^= x >> 16; x *= 0x7FEB352Du; x ^= x >> 15; x *= 0x846CA68Bu; x ^= x >> 16;
  return x;
}

void main() {
  uint i = gl_GlobalInvocationID.x, bits = mixed(i * 0x9E3779B9u + seed);
  for (uint k = 0u; k < 8u; k++) {
    uvec4 sign_ = (uvec4(bits) << (uvec4(4u * k) + uvec4(0u, 1u, 2u, 3u))) & 0x80000000u;
    z[8u * i + k] = uintBitsToFloat(sign_ | 0x3F800000u);
  }
}
