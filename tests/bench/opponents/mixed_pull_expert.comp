// mixed parts 3 and 4, expert: four lanes per invocation; they write 64 contiguous elements of A.
#version 450
layout(local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) readonly buffer Rho { vec4 rho[]; };
layout(std430, set = 0, binding = 1) readonly buffer State { vec4 state[]; };
layout(std430, set = 0, binding = 2) readonly buffer Partial { vec4 partial[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Matrix { vec4 a[]; };
layout(push_constant) uniform Params { uint n; uint steps; float dt; };

float mean(uint c) {
  vec4 sum = partial[2u * c] + partial[2u * c + 1u];
  return ((sum.x + sum.y) + (sum.z + sum.w)) / float(n);
}

void main() {
  uint i = gl_GlobalInvocationID.x, m = n / 4u;
  if (i >= m) return;
  vec4 r = rho[i], x = state[i], y = state[m + i], z = state[2u * m + i];
  float mx = mean(0u), my = mean(1u), mz = mean(2u);
  for (uint k = 0u; k < steps; k++) {
    vec4 dx = 10.0 * (y - x) + (mx - x);
    vec4 dy = x * (r - z) - y + (my - y);
    vec4 dz = x * y - (8.0 / 3.0) * z + (mz - z);
    x += dt * dx;
    y += dt * dy;
    z += dt * dz;
  }
  const vec4 ramp = vec4(0.0, 1.0, 2.0, 3.0) / 16.0;
  for (uint lane = 0u; lane < 4u; lane++) {
    for (uint j = 0u; j < 4u; j++)
      a[16u * i + 4u * lane + j] = x[lane] + y[lane] * (ramp + float(j) / 4.0);
  }
}
