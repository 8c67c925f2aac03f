// triad, expert: texel reads of 16 bytes, stores of two 64-bit words (lavapipe stores component by
// component and lane by lane), four of each per invocation; n a multiple of what a group covers.
#version 450
#extension GL_ARB_gpu_shader_int64 : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, rgba32f) uniform readonly imageBuffer a;
layout(set = 0, binding = 1, rgba32f) uniform readonly imageBuffer b;
layout(std430, set = 0, binding = 2) writeonly buffer C { u64vec2 c[]; };

u64vec2 pairs(vec4 y) {
  return u64vec2(packUint2x32(floatBitsToUint(y.xy)), packUint2x32(floatBitsToUint(y.zw)));
}

void main() {
  int first = int(gl_GlobalInvocationID.x) * 4;
  for (int i = first; i < first + 4; i++) c[i] = pairs(imageLoad(a, i) + 0.5 * imageLoad(b, i));
}
