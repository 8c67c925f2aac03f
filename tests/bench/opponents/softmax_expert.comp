// softmax, expert: one row per lane, read three times as texels; the exponential is computed twice,
// which costs less than writing it and reading it back through the storage buffer.
// Stores are of two 64-bit words: lavapipe stores component by component and lane by lane.
#version 450
#extension GL_ARB_gpu_shader_int64 : require
layout(local_size_x = 8) in;
layout(set = 0, binding = 0, rgba32f) uniform readonly imageBuffer a;
layout(std430, set = 0, binding = 1) writeonly buffer Out { u64vec2 b[]; };
layout(push_constant) uniform Params { uint columns; };

u64vec2 pairs(vec4 y) {
  return u64vec2(packUint2x32(floatBitsToUint(y.xy)), packUint2x32(floatBitsToUint(y.zw)));
}

void main() {
  int n = int(columns / 4u), row = int(gl_GlobalInvocationID.x) * n;
  vec4 m0 = imageLoad(a, row), m1 = m0;
  for (int k = 0; k < n; k += 2) {
    m0 = max(m0, imageLoad(a, row + k));
    m1 = max(m1, imageLoad(a, row + k + 1));
  }
  m0 = max(m0, m1);
  float top = max(max(m0.x, m0.y), max(m0.z, m0.w));
  vec4 s0 = vec4(0.0), s1 = s0;
  for (int k = 0; k < n; k += 2) {
    s0 += exp(imageLoad(a, row + k) - top);
    s1 += exp(imageLoad(a, row + k + 1) - top);
  }
  s0 += s1;
  float scale = 1.0 / ((s0.x + s0.y) + (s0.z + s0.w));
  for (int k = 0; k < n; k++) b[row + k] = pairs(exp(imageLoad(a, row + k) - top) * scale);
}
