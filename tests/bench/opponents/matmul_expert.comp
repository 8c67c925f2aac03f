// matmul, expert: 8 rows by one vec4 of columns per lane in registers, both operands read as
// texels, no shared memory. x runs over the row blocks of all batches, so that the panel of 32
// columns that a group reads of B stays in the cache while A streams.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0, rgba32f) uniform readonly imageBuffer a;
layout(set = 0, binding = 1, rgba32f) uniform readonly imageBuffer b;
layout(std430, set = 0, binding = 2) writeonly buffer C { vec4 c[]; };
layout(push_constant) uniform Params { uint rows, depth, columns; };

#define ROW(r) { \
    vec4 t = imageLoad(a, (row + r) * k4 + k); \
    c##r += t.x * b0; c##r += t.y * b1; c##r += t.z * b2; c##r += t.w * b3; }

void main() {
  int k4 = int(depth / 4u), n4 = int(columns / 4u);
  int row = int(gl_WorkGroupID.x) * 8;
  int column = int(gl_WorkGroupID.y * 8u + gl_LocalInvocationID.x);
  int right = int(gl_WorkGroupID.x * 8u / rows * depth) * n4 + column;
  vec4 c0 = vec4(0.0), c1 = c0, c2 = c0, c3 = c0, c4 = c0, c5 = c0, c6 = c0, c7 = c0;
  for (int k = 0; k < k4; k++, right += 4 * n4) {
    vec4 b0 = imageLoad(b, right);
    vec4 b1 = imageLoad(b, right + n4);
    vec4 b2 = imageLoad(b, right + 2 * n4);
    vec4 b3 = imageLoad(b, right + 3 * n4);
    ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)
  }
  int at = row * n4 + column;
  c[at] = c0; c[at + n4] = c1; c[at + 2 * n4] = c2; c[at + 3 * n4] = c3;
  c[at + 4 * n4] = c4; c[at + 5 * n4] = c5; c[at + 6 * n4] = c6; c[at + 7 * n4] = c7;
}
