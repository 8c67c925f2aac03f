// trace_sparse, gather through a storage buffer: `count` rows of x for each row of y, added up; an
// invocation does one column of a row.
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer C { uint column[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Params { uint rows, width, count; };

void main() {
  uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * 64u +
           gl_LocalInvocationID.x;
  if (i >= rows * width) return;
  uint first = i / width * count, k = i % width;
  float sum = 0.0;
  for (uint e = first; e < first + count; e++) sum += x[column[e] * width + k];
  y[i] = sum;
}
