// lanes, expert: invocations that stay. Each holds four systems, so that independent chains hide
// each other's latency; a system that has done its steps is written, and the next one that nobody
// took sits in its place. They look for that every few steps; until then a system that has done
// its steps goes on with steps of length 0.
#version 450
layout(local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) readonly buffer Rho { float rho[]; };
layout(std430, set = 0, binding = 1) readonly buffer Steps { float wanted[]; };
layout(std430, set = 0, binding = 2) buffer Next { uint next; };
layout(std430, set = 0, binding = 3) writeonly buffer State { float state[]; };
layout(push_constant) uniform Params { uint n; float dt; uint burst; };

struct S { vec4 x, y, z; };

S f(S s, vec4 r) {
  return S(10.0 * (s.y - s.x), s.x * (r - s.z) - s.y, s.x * s.y - (8.0 / 3.0) * s.z);
}

S axpy(vec4 a, S k, S s) { return S(s.x + a * k.x, s.y + a * k.y, s.z + a * k.z); }

void main() {
  uvec4 system = uvec4(n);
  vec4 r = vec4(0.0), most = vec4(0.0), done = vec4(0.0);
  S s = S(vec4(0.0), vec4(0.0), vec4(0.0));
  bool more = true;
  for (;;) {
    for (int c = 0; c < 4; c++)
      if (done[c] >= most[c]) {
        if (system[c] < n) {
          state[system[c]] = s.x[c];
          state[n + system[c]] = s.y[c];
          state[2u * n + system[c]] = s.z[c];
          state[3u * n + system[c]] = done[c];
          system[c] = n;
        }
        if (more) {
          uint i = atomicAdd(next, 1u);
          more = i < n;
          if (more) {
            system[c] = i;
            r[c] = rho[i];
            most[c] = wanted[i];
            done[c] = 0.0;
            s.x[c] = 1.0;
            s.y[c] = 0.0;
            s.z[c] = 0.0;
          }
        }
      }
    if (all(equal(system, uvec4(n)))) break;
    for (uint k = 0u; k < burst; k++) {
      bvec4 going = lessThan(done, most);
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
  }
}
