// floor: nothing at all, one invocation.
#version 450
layout(local_size_x = 1) in;

void main() {}
