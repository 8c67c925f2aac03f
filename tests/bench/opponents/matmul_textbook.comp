// matmul, textbook: the 16 x 16 shared-memory tile of the tutorials; y runs over the rows of all
// batches.
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(std430, set = 0, binding = 0) readonly buffer A { float a[]; };
layout(std430, set = 0, binding = 1) readonly buffer B { float b[]; };
layout(std430, set = 0, binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform Params { uint rows, depth, columns; };
shared float left[16][16];
shared float right[16][16];

void main() {
  uint column = gl_GlobalInvocationID.x, row = gl_GlobalInvocationID.y;
  uint tx = gl_LocalInvocationID.x, ty = gl_LocalInvocationID.y;
  uint matrix = row / rows * depth;
  float sum = 0.0;
  for (uint tile = 0u; tile < depth; tile += 16u) {
    left[ty][tx] = a[row * depth + tile + tx];
    right[ty][tx] = b[(matrix + tile + ty) * columns + column];
    barrier();
    for (uint k = 0u; k < 16u; k++) sum += left[ty][k] * right[k][tx];
    barrier();
  }
  c[row * columns + column] = sum;
}
