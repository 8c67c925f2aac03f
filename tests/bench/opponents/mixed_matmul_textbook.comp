// mixed part 4, textbook: C = A A by the 16 x 16 shared-memory tile of the tutorials.
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(std430, set = 0, binding = 0) readonly buffer A { float a[]; };
layout(std430, set = 0, binding = 1) writeonly buffer C { float c[]; };
layout(push_constant) uniform Params { uint n; };
shared float left[16][16];
shared float right[16][16];

void main() {
  uint column = gl_GlobalInvocationID.x, row = gl_GlobalInvocationID.y;
  uint tx = gl_LocalInvocationID.x, ty = gl_LocalInvocationID.y;
  float sum = 0.0;
  for (uint tile = 0u; tile < n / 16u; tile++) {
    left[ty][tx] = a[row * n + tile * 16u + tx];
    right[ty][tx] = a[(tile * 16u + ty) * n + column];
    barrier();
    for (uint k = 0u; k < 16u; k++) sum += left[ty][k] * right[k][tx];
    barrier();
  }
  c[row * n + column] = sum;
}
