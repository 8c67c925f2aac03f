// lorenz_rk4, expert: four systems per invocation, so that four independent chains of arithmetic
// hide each other's latency and memory is read and written as vec4.
#version 450
layout(local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) readonly buffer Rho { vec4 rho[]; };
layout(std430, set = 0, binding = 1) writeonly buffer State { vec4 state[]; };
layout(push_constant) uniform Params { uint n; uint steps; float dt; };

struct S { vec4 x, y, z; };

S f(S s, vec4 r) {
  return S(10.0 * (s.y - s.x), s.x * (r - s.z) - s.y, s.x * s.y - (8.0 / 3.0) * s.z);
}

S axpy(float a, S k, S s) { return S(s.x + a * k.x, s.y + a * k.y, s.z + a * k.z); }

void main() {
  uint i = gl_GlobalInvocationID.x, m = n / 4u;
  if (i >= m) return;
  vec4 r = rho[i];
  S s = S(vec4(1.0), vec4(0.0), vec4(0.0));
  float half_dt = 0.5 * dt, third = dt / 3.0, sixth = dt / 6.0;
  for (uint k = 0u; k < steps; k++) {
    S d = f(s, r);
    S next = axpy(sixth, d, s);
    d = f(axpy(half_dt, d, s), r);
    next = axpy(third, d, next);
    d = f(axpy(half_dt, d, s), r);
    next = axpy(third, d, next);
    d = f(axpy(dt, d, s), r);
    s = axpy(sixth, d, next);
  }
  state[i] = s.x;
  state[m + i] = s.y;
  state[2u * m + i] = s.z;
}
