// lorenz_adaptive, textbook: one system per invocation, each with its own loop.
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer Rho { float rho[]; };
layout(std430, set = 0, binding = 1) writeonly buffer State { float state[]; };
layout(push_constant) uniform Params { uint n; uint max_steps; float end; float tol; float h0; };

vec3 f(vec3 s, float r) {
  return vec3(10.0 * (s.y - s.x), s.x * (r - s.z) - s.y, s.x * s.y - (8.0 / 3.0) * s.z);
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= n) return;
  float r = rho[i];
  vec3 s = vec3(1.0, 0.0, 0.0);
  float t = 0.0, h = h0;
  vec3 k1 = f(s, r);
  uint tried = 0u;
  while (t < end && tried < max_steps) {
    h = min(h, end - t);
    vec3 k2 = f(s + h * (1.0 / 5.0 * k1), r);
    vec3 k3 = f(s + h * (3.0 / 40.0 * k1 + 9.0 / 40.0 * k2), r);
    vec3 k4 = f(s + h * (44.0 / 45.0 * k1 - 56.0 / 15.0 * k2 + 32.0 / 9.0 * k3), r);
    vec3 k5 = f(s + h * (19372.0 / 6561.0 * k1 - 25360.0 / 2187.0 * k2 + 64448.0 / 6561.0 * k3 -
                         212.0 / 729.0 * k4), r);
    vec3 k6 = f(s + h * (9017.0 / 3168.0 * k1 - 355.0 / 33.0 * k2 + 46732.0 / 5247.0 * k3 +
                         49.0 / 176.0 * k4 - 5103.0 / 18656.0 * k5), r);
    vec3 next = s + h * (35.0 / 384.0 * k1 + 500.0 / 1113.0 * k3 + 125.0 / 192.0 * k4 -
                         2187.0 / 6784.0 * k5 + 11.0 / 84.0 * k6);
    vec3 k7 = f(next, r);
    vec3 e = h * (71.0 / 57600.0 * k1 - 71.0 / 16695.0 * k3 + 71.0 / 1920.0 * k4 -
                  17253.0 / 339200.0 * k5 + 22.0 / 525.0 * k6 - 1.0 / 40.0 * k7);
    e /= tol + tol * max(abs(s), abs(next));
    float err = sqrt(dot(e, e) / 3.0);
    if (err <= 1.0) {
      t += h;
      s = next;
      k1 = k7;
    }
    h *= clamp(0.9 * pow(max(err, 1e-8), -0.2), 0.2, 10.0);
    tried++;
  }
  state[i] = s.x;
  state[n + i] = s.y;
  state[2u * n + i] = s.z;
  state[3u * n + i] = float(tried);
}
