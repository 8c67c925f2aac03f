// sum, textbook: neighbouring invocations read neighbouring elements in strides of the whole
// dispatch, a tree in shared memory adds up the group, and each group leaves one partial sum.
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer In { float a[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Out { float b[]; };
layout(push_constant) uniform Params { uint n; };
shared float part[64];

void main() {
  uint lane = gl_LocalInvocationID.x;
  float total = 0.0;
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * 64u) total += a[i];
  part[lane] = total;
  barrier();
  for (uint half_ = 32u; half_ > 0u; half_ /= 2u) {
    if (lane < half_) part[lane] += part[lane + half_];
    barrier();
  }
  if (lane == 0u) b[gl_WorkGroupID.x] = part[0];
}
