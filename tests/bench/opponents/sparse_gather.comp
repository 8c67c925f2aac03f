// trace_sparse, gather: `count` rows of x for each row of y, added up; an invocation does four
// columns of a row.
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, rgba32f) uniform readonly imageBuffer x;
layout(std430, set = 0, binding = 1) readonly buffer C { uint column[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { vec4 y[]; };
layout(push_constant) uniform Params { uint rows, quads, count; };

void main() {
  uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * 64u +
           gl_LocalInvocationID.x;
  if (i >= rows * quads) return;
  uint first = i / quads * count, quad = i % quads;
  vec4 sum = vec4(0.0);
  for (uint e = first; e < first + count; e++) sum += imageLoad(x, int(column[e] * quads + quad));
  y[i] = sum;
}
