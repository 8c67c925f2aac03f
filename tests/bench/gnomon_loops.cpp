// tests/bench/gnomon_loops.cpp -- the workloads that are loops as a user of the library writes
// them.
#include <chrono>
#include <limits>

#include "gnomon_compiled.h"
#include "gnomon_jitted.h"
#include "problems.h"

namespace bench {
namespace {

// ---- while_scalar

struct Counted {
  Array steps, x;
};

Counted logistic(const Array& start, const Array& limit) {
  const Counted end =
      gn::while_loop([&](const Counted& s) { return s.steps < limit && s.x > 0.0f; },
                     [](Counted s) {
                       return Counted{s.steps + 1, WhileScalar::rate * s.x * (1.0f - s.x)};
                     },
                     Counted{gn::zeros({}, gn::DType::i32), start}, {.max_steps = 1u << 30});
  return {gn::cast(end.steps, gn::DType::f32), end.x};
}

// ---- cg

struct Conjugate {
  Array x, r, p, rr, steps;
};

Conjugate cg_start() {
  const Array b = gn::ones({Cg::n});
  return {gn::zeros({Cg::n}), b, b, gn::sum(b * b), gn::zeros({})};
}

Conjugate cg_step(const Array& a, const Conjugate& s) {
  const Array q = gn::matmul(a, s.p);
  const Array alpha = s.rr / gn::sum(s.p * q);
  const Array r = s.r - alpha * q, rr = gn::sum(r * r);
  return {s.x + alpha * s.p, r, r + rr / s.rr * s.p, rr, s.steps + 1.0f};
}

struct Solution {
  Array x, steps;
};

Solution cg(const Array& a) {
  const Conjugate start = cg_start(),
                  end = gn::while_loop(
                      [&](const Conjugate&s) { return s.rr > Cg::tolerance * start.rr; },
                      [&](Conjugate s) { return cg_step(a, s); }, start,
                      {.max_steps = Cg::max_steps});
  return {end.x, end.steps};
}

Solution cg_ungated(const Array& a) {
  const Conjugate end = gn::fori_loop(
      0, Cg::steps, [&](const Array&, Conjugate s) { return cg_step(a, s); }, cg_start());
  return {end.x, end.steps};
}

// ---- lanes

struct Lane {
  Array x, y, z, steps;
};

Lane field(const Lane& s, const Array& rho) {
  return {lorenz_sigma * (s.y - s.x), s.x * (rho - s.z) - s.y, s.x * s.y - lorenz_beta * s.z,
          gn::zeros({})};
}
Lane along(const Lane& s, float h, const Lane& k) {
  return {s.x + h * k.x, s.y + h * k.y, s.z + h * k.z, s.steps};
}

Lane rk4_step(const Lane& s, const Array& rho) {
  constexpr float h = Lanes::step;
  const Lane k1 = field(s, rho), k2 = field(along(s, h / 2, k1), rho),
             k3 = field(along(s, h / 2, k2), rho), k4 = field(along(s, h, k3), rho);
  const auto next = [](const Array& from, const Array& a, const Array& b, const Array& c,
                       const Array& d) { return from + h / 6 * (a + 2.0f * (b + c) + d); };
  return {next(s.x, k1.x, k2.x, k3.x, k4.x), next(s.y, k1.y, k2.y, k3.y, k4.y),
          next(s.z, k1.z, k2.z, k3.z, k4.z), s.steps + 1.0f};
}

Lane lane(const Array& rho, const Array& steps) {
  return gn::while_loop([&](const Lane& s) { return s.steps < steps; },
                        [&](Lane s) { return rk4_step(s, rho); },
                        Lane{gn::ones({}), gn::zeros({}), gn::zeros({}), gn::zeros({})},
                        {.max_steps = Lanes::max_steps});
}

Lane all_lanes(const Array& rho, const Array& steps) { return gn::vmap(lane)(rho, steps); }

/// One loop over all systems: those that have done their steps wait for the slowest.
Lane frozen(const Array& rho, const Array& steps) {
  const Array zero = gn::zeros({Lanes::systems});
  return gn::while_loop(
      [&](const Lane& s) { return gn::any(s.steps < steps); },
      [&](Lane s) {
        const Lane next = rk4_step(s, rho);
        const Array going = s.steps < steps;
        return Lane{gn::where(going, next.x, s.x), gn::where(going, next.y, s.y),
                    gn::where(going, next.z, s.z), gn::where(going, next.steps, s.steps)};
      },
      Lane{gn::ones({Lanes::systems}), zero, zero, zero}, {.max_steps = Lanes::max_steps});
}

/// The quickest of 1, 2, 4 and 8 systems per invocation, tried in `prepare`.
Variant plain(const std::shared_ptr<gn::Runtime>& rt, const Array& rho, const Array& steps) {
  std::vector<Variant> tried;
  for (const std::uint32_t width : {1u, 2u, 4u, 8u}) {
    gn::Target target = rt->target();
    target.loop_coarsening = width;
    tried.push_back(compiled(rt, "plain", target, {.name = "plain"}, all_lanes, rho, steps));
    tried.back().extras = [=] { return Extras{{"coarsening", width}}; };
  }
  auto best = std::make_shared<Variant>();
  Variant v;
  v.name = "plain";
  v.prepare = [=] {
    double least = std::numeric_limits<double>::infinity();
    for (const Variant& each : tried) {
      each.prepare();
      double spent = std::numeric_limits<double>::infinity();
      for (int i = 0; i < 5; i++) {
        const auto start = std::chrono::steady_clock::now();
        each.run();
        const std::chrono::duration<double> once = std::chrono::steady_clock::now() - start;
        spent = std::min(spent, once.count());
      }
      if (spent >= least) continue;
      least = spent;
      *best = each;
    }
  };
  v.run = [=] { best->run(); };
  v.result = [=] { return best->result(); };
  v.extras = [=] { return best->extras(); };
  return v;
}

// ---- history

Array history(const Array& offsets) {
  struct Written {
    Array rows, row;
  };
  const Written start{gn::zeros({History::rows, History::columns}), gn::zeros({History::columns})};
  return gn::fori_loop(
             0, History::rows,
             [&](const Array& k, Written s) {
               const Array row = 0.5f * s.row + (gn::cast(k, gn::DType::f32) + offsets);
               return Written{gn::dynamic_update_slice(s.rows, gn::expand_dims(row, 0), {k, 0}),
                              row};
             },
             start)
      .rows;
}

// ---- dead

struct Reached {
  Array v, steps;
};

Array mixing(const Array& a, const Array& b, const Array& limit, std::uint32_t bound) {
  return gn::while_loop([&](const Reached& s) { return s.steps < limit; },
                        [&](Reached s) {
                          return Reached{Dead::decay * gn::matmul(a, s.v) + b, s.steps + 1};
                        },
                        Reached{b, gn::zeros({}, gn::DType::i32)}, {.max_steps = bound})
      .v;
}

Array lanes(const Array& b, const Array& limit, std::uint32_t bound) {
  return gn::vmap([&](const Array& start) {
    return gn::while_loop([&](const Reached& s) { return s.steps < limit; },
                          [&](Reached s) {
                            return Reached{Dead::decay * s.v + start, s.steps + 1};
                          },
                          Reached{gn::zeros({}), gn::zeros({}, gn::DType::i32)},
                          {.max_steps = bound})
        .v;
  })(b);
}

std::vector<float> host(gn::Runtime& rt, const Counted& s) { return flat(rt, {s.steps, s.x}); }
std::vector<float> host(gn::Runtime& rt, const Solution& s) { return flat(rt, {s.x, s.steps}); }
std::vector<float> host(gn::Runtime& rt, const Lane& s) {
  return flat(rt, {s.x, s.y, s.z, s.steps});
}

}  // namespace

void add_gnomon_loops(std::vector<Workload>& workloads, const std::shared_ptr<gn::Runtime>& rt) {
  const auto add = [&](const char* id, auto make) {
    find_workload(workloads, id).makers.push_back(make);
  };
  const auto integer = [=](std::uint32_t x) {
    return rt->from_host(std::vector<std::int32_t>{static_cast<std::int32_t>(x)}, gn::Shape{});
  };
  add("while_scalar", [=] {
    const Array start = rt->from_host(std::vector<float>{WhileScalar::start}, gn::Shape{});
    return std::vector<Variant>{jitted(rt, "gnomon", logistic, start, integer(WhileScalar::steps))};
  });
  add("cg", [=] {
    const Array a = rt->from_host(cg_matrix(), {Cg::n, Cg::n});
    return std::vector<Variant>{
        jitted(rt, "gnomon", cg, a),
        compiled(rt, "gated", rt->target(), {.name = "gated", .loops = gn::LoopMapping::device}, cg,
                 a),
        compiled(rt, "ungated", rt->target(), {.name = "ungated", .loops = gn::LoopMapping::device},
                 cg_ungated, a)};
  });
  for (const auto& [id, wanted] : {std::pair{"lanes_uniform", &lanes_uniform_steps},
                                   std::pair{"lanes_heavy_tail", &lanes_heavy_tail_steps}}) {
    const auto steps_of = wanted;
    add(id, [=] {
      const Array rho = rt->from_host(lanes_rho()), steps = rt->from_host(steps_of());
      return std::vector<Variant>{jitted(rt, "gnomon", all_lanes, rho, steps),
                                  plain(rt, rho, steps), jitted(rt, "frozen", frozen, rho, steps)};
    });
  }
  add("history", [=] {
    return std::vector<Variant>{jitted(rt, "gnomon", history, rt->from_host(history_offsets()))};
  });
  add("dead", [=] {
    const Array a = rt->from_host(dead_matrix(), {Dead::n, Dead::n}),
                b = rt->from_host(dead_start()), many = rt->from_host(dead_lanes()),
                limit = integer(Dead::steps);
    const auto mixed = [=](const char* name, std::uint32_t bound) {
      return jitted(
          rt, name,
          [=](const Array& m, const Array& v, const Array& n) { return mixing(m, v, n, bound); }, a,
          b, limit);
    };
    const auto by_lane = [=](const char* name, std::uint32_t bound) {
      Variant v = jitted(
          rt, name, [=](const Array& starts, const Array& n) { return lanes(starts, n, bound); },
          many, limit);
      v.check = dead_lanes_check();
      return v;
    };
    return std::vector<Variant>{mixed("gnomon", Dead::bound), mixed("tight", Dead::steps),
                                by_lane("lanes", Dead::bound), by_lane("lanes_tight", Dead::steps)};
  });
}

}  // namespace bench
