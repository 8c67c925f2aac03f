// tests/compile_fail/strict/uses.cpp -- what applications instantiate, under warnings that theirs
// may make errors of. The public headers stand in front of it; see strict.cmake.
namespace gn = gnomon;
using gn::Array;

namespace strict {

struct Net {
  gn::nn::Conv2d conv;
  gn::nn::MaxPool2d pool;
  gn::nn::Linear out;
};

struct State {
  Array position, speed;
};

void jitted(gn::Runtime& rt) {
  const auto nothing = gn::jit(rt, [] { return gn::ones({3}); });
  const auto one = gn::jit(rt, gn::grad([](const Array& x) { return gn::sum(gn::sin(x)); }));
  const auto two = gn::jit(rt, [](State s, const Array& dt) {
    s.position += dt * s.speed;
    return s;
  });
  const Array x = nothing();
  const Array y = rt.run([&] { return x + 1 - one(x); });
  const State s = two(State{x, y}, rt.from_host({0.5f, 1.0f, 2.0f}));
  gn::block_until_ready(s);
}

void transformed(const Array& x, const State& s) {
  const auto norm = [](const State& of) { return gn::tree::norm(of); };
  const auto [value, gradient] = gn::value_and_grad(norm)(s);
  const std::pair<Array, Array> out = gn::jvp([](const Array& of) { return gn::exp(of); }, x, x);
  const Array h = gn::hvp([](const Array& of) { return gn::sum(gn::tanh(of)); }, x, x);
  const Array rows = gn::vmap([](const Array& row) { return gn::cumsum(row); })(x);
  const State end = gn::while_loop([](const State& at) { return gn::all(at.position < 1); },
                                   [](State at) {
                                     at.position += at.speed;
                                     return at;
                                   },
                                   gradient, {.max_steps = 10, .kind = gn::LoopKind::checkpointed});
  const auto [last, all] = gn::scan(
      [](const Array& c, const Array& v) { return std::pair(c + v, c * v); }, out.first, rows);
  const Array either = gn::cond(
      gn::any(value > 0), [&] { return h; }, [&] { return out.second; });
  (void)gn::tree::map([](const Array& a) { return a + 1; }, end);
  (void)(last + all + either);
}

}  // namespace strict
