// chain, expert: texel reads of 16 bytes, stores of two 64-bit words (lavapipe stores component by
// component and lane by lane), four of each per invocation; n a multiple of what a group covers.
#version 450
#extension GL_ARB_gpu_shader_int64 : require
layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0, rgba32f) uniform readonly imageBuffer a;
layout(std430, set = 0, binding = 1) writeonly buffer Out { u64vec2 b[]; };

u64vec2 pairs(vec4 y) {
  return u64vec2(packUint2x32(floatBitsToUint(y.xy)), packUint2x32(floatBitsToUint(y.zw)));
}

void main() {
  uint first = gl_GlobalInvocationID.x * 4u;
  for (int k = 0; k < 4; k++) {
    uint i = first + uint(k);
    vec4 x = imageLoad(a, int(i));
    b[i] = pairs(sin(x) * exp(-x * x) + 0.5 * x);
  }
}
