// hutchinson, expert: one lane per vec4 of probes adds up the partial sums of the row blocks.
#version 450
layout(local_size_x = 16) in;
layout(set = 0, binding = 0, rgba32f) uniform readonly imageBuffer p;
layout(std430, set = 0, binding = 1) writeonly buffer Q { vec4 q[]; };
layout(push_constant) uniform Params { uint blocks, probes; };

void main() {
  int n4 = int(probes / 4u), m = int(gl_GlobalInvocationID.x);
  vec4 even = vec4(0.0), odd = even;
  for (int i = 0; i < int(blocks); i += 2) {
    even += imageLoad(p, i * n4 + m);
    odd += imageLoad(p, (i + 1) * n4 + m);
  }
  q[m] = even + odd;
}
