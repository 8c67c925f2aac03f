// lanes, textbook: one system per invocation, which steps as often as its system wants.
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer Rho { float rho[]; };
layout(std430, set = 0, binding = 1) readonly buffer Steps { float wanted[]; };
layout(std430, set = 0, binding = 2) writeonly buffer State { float state[]; };
layout(push_constant) uniform Params { uint n; float dt; };

vec3 f(vec3 s, float r) {
  return vec3(10.0 * (s.y - s.x), s.x * (r - s.z) - s.y, s.x * s.y - (8.0 / 3.0) * s.z);
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= n) return;
  float r = rho[i];
  uint most = uint(wanted[i]), k = 0u;
  vec3 s = vec3(1.0, 0.0, 0.0);
  for (; k < most; k++) {
    vec3 k1 = f(s, r);
    vec3 k2 = f(s + 0.5 * dt * k1, r);
    vec3 k3 = f(s + 0.5 * dt * k2, r);
    vec3 k4 = f(s + dt * k3, r);
    s += dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
  }
  state[i] = s.x;
  state[n + i] = s.y;
  state[2u * n + i] = s.z;
  state[3u * n + i] = float(k);
}
