// hutchinson, textbook: one invocation per probe adds up z times A z over the rows.
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer Z { float z[]; };
layout(std430, set = 0, binding = 1) readonly buffer P { float p[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Q { float q[]; };
layout(push_constant) uniform Params { uint n, probes; };

void main() {
  uint m = gl_GlobalInvocationID.x;
  if (m >= probes) return;
  float sum = 0.0;
  for (uint i = 0u; i < n; i++) sum += z[i * probes + m] * p[i * probes + m];
  q[m] = sum;
}
