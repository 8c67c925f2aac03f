// chain, expert where texel buffers are too short for the array: vec4 reads of the storage buffer.
#version 450
layout(local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) readonly buffer In { vec4 a[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Out { vec4 b[]; };

void main() {
  uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x +
           gl_LocalInvocationID.x;
  vec4 x = a[i];
  b[i] = sin(x) * exp(-x * x) + 0.5 * x;
}
