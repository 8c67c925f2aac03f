// copy, textbook: one element per invocation. Groups are folded into two axes (65,535 per axis).
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer In { float a[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Out { float b[]; };
layout(push_constant) uniform Params { uint n; };

void main() {
  uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  uint i = group * 64u + gl_LocalInvocationID.x;
  if (i >= n) return;
  float x = a[i];
  b[i] = 2.0 * x;
}
