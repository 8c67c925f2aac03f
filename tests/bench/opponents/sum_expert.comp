// sum, expert: every group of eight lanes (a SIMD group) reads one stream of texels side by side, each
// lane into four vec4s, and every lane leaves one sum. Few fat groups, no barrier.
#version 450
layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0, rgba32f) uniform readonly imageBuffer a;
layout(std430, set = 0, binding = 1) writeonly buffer Out { float b[]; };
layout(push_constant) uniform Params { uint run; };  // texels per lane, a multiple of 4

void main() {
  int i = int((gl_GlobalInvocationID.x >> 3) * 8u * run + (gl_GlobalInvocationID.x & 7u));
  int end = i + 8 * int(run);
  vec4 s0 = vec4(0.0), s1 = s0, s2 = s0, s3 = s0;
  for (; i < end; i += 32) {
    s0 += imageLoad(a, i);
    s1 += imageLoad(a, i + 8);
    s2 += imageLoad(a, i + 16);
    s3 += imageLoad(a, i + 24);
  }
  s0 = (s0 + s1) + (s2 + s3);
  b[gl_GlobalInvocationID.x] = (s0.x + s0.y) + (s0.z + s0.w);
}
