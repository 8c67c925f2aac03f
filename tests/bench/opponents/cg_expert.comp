// cg, expert: one group of 8 lanes, each with 64 elements of every vector in registers. A is read as
// texels, row by row since it is symmetric; p goes through shared memory, sums through the
// subgroup: right where subgroups hold 8 lanes or more.
#version 450
#extension GL_EXT_control_flow_attributes : enable
#extension GL_KHR_shader_subgroup_arithmetic : enable
layout(local_size_x = 8) in;
layout(set = 0, binding = 0, rgba32f) uniform readonly imageBuffer A;
layout(std430, set = 0, binding = 1) writeonly buffer Result { float result[]; };
layout(push_constant) uniform Params { uint max_steps; float tolerance; };

const uint lanes = 8u, mine = 16u, quads = lanes * mine;  // vec4 of each lane, and of all
shared vec4 shared_p[quads];

float total(float v) { return subgroupAdd(v); }

void main() {
  uint lane = gl_LocalInvocationID.x;
  vec4 x[mine], r[mine], p[mine], q[mine];
  float rr = 0.0;
  [[unroll]] for (uint u = 0u; u < mine; u++) {
    x[u] = vec4(0.0);
    r[u] = vec4(1.0);
    p[u] = r[u];
    rr += dot(r[u], r[u]);
  }
  rr = total(rr);
  float enough = tolerance * rr;
  uint steps = 0u;
  while (rr > enough && steps < max_steps) {
    [[unroll]] for (uint u = 0u; u < mine; u++) {
      shared_p[u * lanes + lane] = p[u];
      q[u] = vec4(0.0);
    }
    barrier();
    for (uint k = 0u; k < quads; k++) {
      vec4 v = shared_p[k];
      int row = int(k * 4u * quads + lane);
      [[unroll]] for (uint u = 0u; u < mine; u++) {
        int at = row + int(u * lanes);
        q[u] += v.x * imageLoad(A, at) + v.y * imageLoad(A, at + int(quads)) +
                v.z * imageLoad(A, at + 2 * int(quads)) + v.w * imageLoad(A, at + 3 * int(quads));
      }
    }
    barrier();
    float pq = 0.0;
    [[unroll]] for (uint u = 0u; u < mine; u++) pq += dot(p[u], q[u]);
    float alpha = rr / total(pq), next = 0.0;
    [[unroll]] for (uint u = 0u; u < mine; u++) {
      x[u] += alpha * p[u];
      r[u] -= alpha * q[u];
      next += dot(r[u], r[u]);
    }
    next = total(next);
    float beta = next / rr;
    rr = next;
    [[unroll]] for (uint u = 0u; u < mine; u++) p[u] = r[u] + beta * p[u];
    steps++;
  }
  [[unroll]] for (uint u = 0u; u < mine; u++) {
    uint at = 4u * (u * lanes + lane);
    result[at] = x[u].x;
    result[at + 1u] = x[u].y;
    result[at + 2u] = x[u].z;
    result[at + 3u] = x[u].w;
  }
  if (lane == 0u) result[4u * quads] = float(steps);
}
