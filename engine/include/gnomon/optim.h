// engine/include/gnomon/optim.h -- learning: everything of gnomon/optim/.
//
// An optimiser turns gradients into updates and keeps what it remembers in a state that the caller
// passes in and out. Names and formulas are those of optax, so that its recipes carry over.
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
