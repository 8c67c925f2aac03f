// mixed part 2, textbook: one group per component, a strided sum, then the tree in shared memory.
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer State { float state[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Mean { float mean[]; };
layout(push_constant) uniform Params { uint n; };
shared float partial[64];

void main() {
  uint lane = gl_LocalInvocationID.x, first = gl_WorkGroupID.x * n;
  float sum = 0.0;
  for (uint i = lane; i < n; i += 64u) sum += state[first + i];
  partial[lane] = sum;
  barrier();
  for (uint half_size = 32u; half_size > 0u; half_size /= 2u) {
    if (lane < half_size) partial[lane] += partial[lane + half_size];
    barrier();
  }
  if (lane == 0u) mean[gl_WorkGroupID.x] = partial[0] / float(n);
}
