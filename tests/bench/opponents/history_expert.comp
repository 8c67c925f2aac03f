// history, expert: one invocation that writes a row per trip, from row `first` on.
#version 450
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) readonly buffer Offsets { vec4 c; };
layout(std430, set = 0, binding = 1) buffer History { vec4 history[]; };
layout(push_constant) uniform Params { uint first; uint end; };

void main() {
  vec4 row = first > 0u ? history[first - 1u] : vec4(0.0);
  for (uint k = first; k < end; k++) {
    row = 0.5 * row + (vec4(float(k)) + c);
    history[k] = row;
  }
}
