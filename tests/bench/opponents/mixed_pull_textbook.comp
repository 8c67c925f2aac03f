// mixed parts 3 and 4, textbook: one lane per invocation; each writes its 16 elements of A.
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer Rho { float rho[]; };
layout(std430, set = 0, binding = 1) readonly buffer State { float state[]; };
layout(std430, set = 0, binding = 2) readonly buffer Mean { float mean[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Matrix { float a[]; };
layout(push_constant) uniform Params { uint n; uint steps; float dt; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= n) return;
  float r = rho[i];
  vec3 m = vec3(mean[0], mean[1], mean[2]);
  vec3 s = vec3(state[i], state[n + i], state[2u * n + i]);
  for (uint k = 0u; k < steps; k++) {
    vec3 d = vec3(10.0 * (s.y - s.x), s.x * (r - s.z) - s.y, s.x * s.y - (8.0 / 3.0) * s.z);
    s += dt * (d + m - s);
  }
  for (uint j = 0u; j < 16u; j++) a[16u * i + j] = s.x + s.y * (float(j) / 16.0);
}
