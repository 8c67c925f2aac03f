// lanes: sets the number of the next system to take to 0.
#version 450
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) writeonly buffer Next { uint next; };

void main() { next = 0u; }
