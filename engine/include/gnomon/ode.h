// engine/include/gnomon/ode.h -- differential equations: everything of gnomon/ode/.
//
// One system is solved by `ode::diffeqsolve` inside a traced function; `vmap` over it solves an
// ensemble in which every system has its own steps, events and saved rows, in one kernel where the
// field allows. Names and meanings are Diffrax's where it has the thing.
//
//   using namespace gnomon;
//   struct State { Array x, v; };
//   auto field = [](const Array&, const State& s, const Array& k) { return State{s.v, -k * s.x}; };
//   auto solve = jit(rt, vmap([&](const Array& k) {
//     return ode::diffeqsolve(ode::OdeTerm{field}, ode::Tsit5{}, 0.0, 10.0, none,
//                             State{ones({}), zeros({})}, k,
//                             {.controller = ode::PidController{.rtol = 1e-5, .atol = 1e-7}});
//   }));
//   auto sol = solve(stiffnesses);          // sol.y1.x: where every oscillator is at t = 10
//   ode::throw_if_failed(rt, sol);
#pragma once
#include "gnomon/ode/adams.h"
#include "gnomon/ode/adjoint.h"
#include "gnomon/ode/brownian.h"
#include "gnomon/ode/controller.h"
#include "gnomon/ode/data.h"
#include "gnomon/ode/delay.h"
#include "gnomon/ode/event.h"
#include "gnomon/ode/half_solver.h"
#include "gnomon/ode/implicit.h"
#include "gnomon/ode/interpolation.h"
#include "gnomon/ode/result.h"
#include "gnomon/ode/reversible.h"
#include "gnomon/ode/save.h"
#include "gnomon/ode/sde.h"
#include "gnomon/ode/signature.h"
#include "gnomon/ode/solve.h"
#include "gnomon/ode/solver_state.h"
#include "gnomon/ode/solvers.h"
#include "gnomon/ode/steady.h"
#include "gnomon/ode/symplectic.h"
#include "gnomon/ode/tableau.h"
#include "gnomon/ode/terms.h"
