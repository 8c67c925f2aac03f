// softmax, textbook: one group of 64 per row; maximum and sum by trees in shared memory.
#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer In { float a[]; };
layout(std430, set = 0, binding = 1) buffer Out { float b[]; };
layout(push_constant) uniform Params { uint columns; };
shared float part[64];

void main() {
  uint lane = gl_LocalInvocationID.x, row = gl_WorkGroupID.x * columns;
  float top = a[row + lane];
  for (uint i = lane + 64u; i < columns; i += 64u) top = max(top, a[row + i]);
  part[lane] = top;
  barrier();
  for (uint h = 32u; h > 0u; h /= 2u) {
    if (lane < h) part[lane] = max(part[lane], part[lane + h]);
    barrier();
  }
  top = part[0];
  barrier();
  float total = 0.0;
  for (uint i = lane; i < columns; i += 64u) {
    float e = exp(a[row + i] - top);
    b[row + i] = e;
    total += e;
  }
  part[lane] = total;
  barrier();
  for (uint h = 32u; h > 0u; h /= 2u) {
    if (lane < h) part[lane] += part[lane + h];
    barrier();
  }
  float scale = 1.0 / part[0];
  for (uint i = lane; i < columns; i += 64u) b[row + i] *= scale;
}
