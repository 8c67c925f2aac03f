// lanes, expert where all systems take equally many steps: four per invocation, which step until
// all four have done theirs.
#version 450
layout(local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) readonly buffer Rho { vec4 rho[]; };
layout(std430, set = 0, binding = 1) readonly buffer Steps { vec4 wanted[]; };
layout(std430, set = 0, binding = 2) writeonly buffer State { vec4 state[]; };
layout(push_constant) uniform Params { uint n; float dt; };

struct S { vec4 x, y, z; };

S f(S s, vec4 r) {
  return S(10.0 * (s.y - s.x), s.x * (r - s.z) - s.y, s.x * s.y - (8.0 / 3.0) * s.z);
}

S axpy(vec4 a, S k, S s) { return S(s.x + a * k.x, s.y + a * k.y, s.z + a * k.z); }

void main() {
  uint i = gl_GlobalInvocationID.x, m = n / 4u;
  if (i >= m) return;
  vec4 r = rho[i], most = wanted[i], done = vec4(0.0);
  S s = S(vec4(1.0), vec4(0.0), vec4(0.0));
  for (;;) {
    bvec4 going = lessThan(done, most);
    if (!any(going)) break;
    // A system that has done its steps goes on with steps of length 0.
    vec4 h = mix(vec4(0.0), vec4(dt), going), half_h = 0.5 * h, sixth = h * (1.0 / 6.0);
    S k1 = f(s, r);
    S k2 = f(axpy(half_h, k1, s), r);
    S k3 = f(axpy(half_h, k2, s), r);
    S k4 = f(axpy(h, k3, s), r);
    s.x += sixth * (k1.x + 2.0 * (k2.x + k3.x) + k4.x);
    s.y += sixth * (k1.y + 2.0 * (k2.y + k3.y) + k4.y);
    s.z += sixth * (k1.z + 2.0 * (k2.z + k3.z) + k4.z);
    done += vec4(going);
  }
  state[i] = s.x;
  state[m + i] = s.y;
  state[2u * m + i] = s.z;
  state[3u * m + i] = done;
}
