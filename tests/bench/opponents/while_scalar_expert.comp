// while_scalar, expert: one invocation that starts where the dispatch before it stopped.
#version 450
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) readonly buffer Before { float before[]; };
layout(std430, set = 0, binding = 1) writeonly buffer After { float after[]; };
layout(push_constant) uniform Params { uint limit; float rate; };

void main() {
  uint i = uint(before[0]);
  float x = before[1];
  while (i < limit && x > 0.0) {
    x = rate * x * (1.0 - x);
    i++;
  }
  after[0] = float(i);
  after[1] = x;
}
