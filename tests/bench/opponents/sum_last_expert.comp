// sum, expert: one lane adds up what the lanes of the first kernel leave.
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0, rgba32f) uniform readonly imageBuffer a;
layout(std430, set = 0, binding = 1) writeonly buffer Out { float b[]; };
layout(push_constant) uniform Params { uint texels; };

void main() {
  vec4 s = vec4(0.0);
  for (int i = 0; i < int(texels); i++) s += imageLoad(a, i);
  b[0] = (s.x + s.y) + (s.z + s.w);
}
