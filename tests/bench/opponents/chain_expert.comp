// chain, expert: texel reads of 16 bytes, vec4 stores, four of each per invocation; n a multiple of
// what a group covers.
#version 450
layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0, rgba32f) uniform readonly imageBuffer a;
layout(std430, set = 0, binding = 1) writeonly buffer Out { vec4 b[]; };

void main() {
  uint first = gl_GlobalInvocationID.x * 4u;
  for (int k = 0; k < 4; k++) {
    uint i = first + uint(k);
    vec4 x = imageLoad(a, int(i));
    b[i] = sin(x) * exp(-x * x) + 0.5 * x;
  }
}
