// triad, expert: texel reads of 16 bytes, vec4 stores, four of each per invocation; n a multiple of
// what a group covers.
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, rgba32f) uniform readonly imageBuffer a;
layout(set = 0, binding = 1, rgba32f) uniform readonly imageBuffer b;
layout(std430, set = 0, binding = 2) writeonly buffer C { vec4 c[]; };

void main() {
  int first = int(gl_GlobalInvocationID.x) * 4;
  for (int i = first; i < first + 4; i++) c[i] = imageLoad(a, i) + 0.5 * imageLoad(b, i);
}
