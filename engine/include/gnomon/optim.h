// engine/include/gnomon/optim.h -- gradient-based optimisation: everything of gnomon/optim/.
//
// An optimiser maps gradients and its state to updates and the next state, as pure functions.
// Names, formulas and defaults are those of optax.
//
//   const auto opt = optim::adamw(optim::cosine_decay(1e-3, steps), {.weight_decay = 1e-2});
//   auto state = opt.init(params);
//   const auto g = grad(loss)(params, batch);
//   auto [updates, next] = opt.update(g, state, params);
//   params = optim::apply_updates(params, updates);
#pragma once
#include "gnomon/optim/losses.h"
#include "gnomon/optim/optimiser.h"
#include "gnomon/optim/optimisers.h"
#include "gnomon/optim/schedules.h"
