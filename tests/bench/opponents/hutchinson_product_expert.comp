// hutchinson, expert: 8 rows of A Z by one vec4 of probes per lane, multiplied by Z and added up
// over the 8 rows before anything is written.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0, rgba32f) uniform readonly imageBuffer a;
layout(set = 0, binding = 1, rgba32f) uniform readonly imageBuffer z;
layout(std430, set = 0, binding = 2) writeonly buffer Q { vec4 q[]; };
layout(push_constant) uniform Params { uint n, probes; };

#define ROW(r) { \
    vec4 t = imageLoad(a, (row + r) * k4 + k); \
    c##r += t.x * b0; c##r += t.y * b1; c##r += t.z * b2; c##r += t.w * b3; }
#define FORM(r) (c##r * imageLoad(z, (row + r) * n4 + column))

void main() {
  int k4 = int(n / 4u), n4 = int(probes / 4u);
  int row = int(gl_WorkGroupID.x) * 8;
  int column = int(gl_WorkGroupID.y * 8u + gl_LocalInvocationID.x), right = column;
  vec4 c0 = vec4(0.0), c1 = c0, c2 = c0, c3 = c0, c4 = c0, c5 = c0, c6 = c0, c7 = c0;
  for (int k = 0; k < k4; k++, right += 4 * n4) {
    vec4 b0 = imageLoad(z, right);
    vec4 b1 = imageLoad(z, right + n4);
    vec4 b2 = imageLoad(z, right + 2 * n4);
    vec4 b3 = imageLoad(z, right + 3 * n4);
    ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)
  }
  q[int(gl_WorkGroupID.x) * n4 + column] = ((FORM(0) + FORM(1)) + (FORM(2) + FORM(3))) +
                                           ((FORM(4) + FORM(5)) + (FORM(6) + FORM(7)));
}
