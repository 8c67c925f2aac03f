// sum, expert: every lane adds up a contiguous run of texels in four vec4s and leaves one sum.
// Few fat groups, no barrier; the same kernel in one lane adds up what the lanes leave.
#version 450
layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0, rgba32f) uniform readonly imageBuffer a;
layout(std430, set = 0, binding = 1) writeonly buffer Out { float b[]; };
layout(push_constant) uniform Params { uint run; };  // texels per lane, a multiple of 4

void main() {
  int first = int(gl_GlobalInvocationID.x * run), end = first + int(run);
  vec4 s0 = vec4(0.0), s1 = s0, s2 = s0, s3 = s0;
  for (int i = first; i < end; i += 4) {
    s0 += imageLoad(a, i);
    s1 += imageLoad(a, i + 1);
    s2 += imageLoad(a, i + 2);
    s3 += imageLoad(a, i + 3);
  }
  s0 = (s0 + s1) + (s2 + s3);
  b[gl_GlobalInvocationID.x] = (s0.x + s0.y) + (s0.z + s0.w);
}
