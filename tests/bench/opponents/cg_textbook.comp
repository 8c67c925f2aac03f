// cg, textbook: one group of 128, a barrier behind every step, sums by halves in shared memory. Four
// neighbouring rows of A per invocation.
#version 450
layout(local_size_x = 128) in;
layout(std430, set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Result { float result[]; };
layout(push_constant) uniform Params { uint max_steps; float tolerance; };

const uint lanes = 128u;
shared vec4 shared_p[lanes];
shared float parts[lanes];

float total(float v) {
  uint lane = gl_LocalInvocationID.x;
  parts[lane] = v;
  barrier();
  for (uint half_of = lanes / 2u; half_of > 0u; half_of /= 2u) {
    if (lane < half_of) parts[lane] += parts[lane + half_of];
    barrier();
  }
  float sum = parts[0];
  barrier();
  return sum;
}

void main() {
  uint lane = gl_LocalInvocationID.x;
  vec4 x = vec4(0.0), r = vec4(1.0), p = r;
  float rr = total(dot(r, r)), enough = tolerance * rr;
  uint steps = 0u;
  while (rr > enough && steps < max_steps) {
    shared_p[lane] = p;
    barrier();
    vec4 q = vec4(0.0);
    uint row = 4u * lane * lanes;
    for (uint k = 0u; k < lanes; k++) {
      vec4 v = shared_p[k];
      q += vec4(dot(a[row + k], v), dot(a[row + lanes + k], v), dot(a[row + 2u * lanes + k], v),
                dot(a[row + 3u * lanes + k], v));
    }
    float alpha = rr / total(dot(p, q));
    x += alpha * p;
    r -= alpha * q;
    float next = total(dot(r, r));
    p = r + next / rr * p;
    rr = next;
    steps++;
  }
  for (uint c = 0u; c < 4u; c++) result[4u * lane + c] = x[c];
  if (lane == 0u) result[4u * lanes] = float(steps);
}
