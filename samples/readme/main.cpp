// samples/readme/main.cpp -- the program of README.md, which a test compares with this file.
#include <gnomon/gnomon.h>

#include <cstdio>

namespace gn = gnomon;
using gn::Array;

struct Pendulum {
  Array angle, speed;
};

// One pendulum, released at rest: steps until it first passes the bottom.
Array quarter_period(const Array& angle) {
  const Pendulum end = gn::while_loop([](const Pendulum& p) { return p.angle > 0; },
                                      [](Pendulum p) {
                                        p.speed -= 1e-3f * gn::sin(p.angle);
                                        p.angle += 1e-3f * p.speed;
                                        return p;
                                      },
                                      Pendulum{angle, gn::zeros({})}, {.max_steps = 10000});
  return -end.speed;
}

int main() {
  gn::Runtime rt;
  auto speeds = gn::jit(rt, gn::vmap(quarter_period), {.name = "pendulums"});
  const Array angles = rt.from_host({0.1f, 0.5f, 1.0f, 2.0f, 3.0f}, {5});
  std::printf("speed at the bottom: %s\n", gn::to_string(rt, speeds(angles)).c_str());

  auto slopes = gn::jit(rt, gn::vmap(gn::grad(quarter_period)), {.name = "slopes"});
  std::printf("and its derivative:  %s\n", gn::to_string(rt, slopes(angles)).c_str());
}
