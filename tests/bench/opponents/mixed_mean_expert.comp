// mixed part 2, expert: one group of 8, each lane sums a contiguous run of texels and leaves one
// partial sum per component. No barrier: the next kernel adds the 8.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0, rgba32f) uniform readonly imageBuffer state;
layout(std430, set = 0, binding = 1) writeonly buffer Partial { float partial[]; };
layout(push_constant) uniform Params { uint n; };

float run_sum(uint first, uint count) {
  vec4 even = vec4(0.0), odd = vec4(0.0);
  for (uint k = 0u; k < count; k += 2u) {
    even += imageLoad(state, int(first + k));
    odd += imageLoad(state, int(first + k + 1u));
  }
  even += odd;
  return (even.x + even.y) + (even.z + even.w);
}

void main() {
  uint lane = gl_LocalInvocationID.x, texels = n / 4u, run = texels / 8u;
  for (uint c = 0u; c < 3u; c++) partial[8u * c + lane] = run_sum(c * texels + lane * run, run);
}
