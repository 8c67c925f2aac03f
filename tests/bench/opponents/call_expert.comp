// call, expert: x + 1 on 16 elements with four vec4 lanes.
#version 450
layout(local_size_x = 4) in;
layout(std430, set = 0, binding = 0) readonly buffer In { vec4 a[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Out { vec4 b[]; };

void main() {
  uint i = gl_LocalInvocationID.x;
  b[i] = a[i] + 1.0;
}
