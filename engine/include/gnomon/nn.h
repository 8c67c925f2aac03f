// engine/include/gnomon/nn.h -- layers of models: everything of gnomon/nn/.
//
// A layer is a struct of arrays and options with operator(): a tree (gnomon/tree.h), so what grad,
// jit, vmap and optimisers do with trees they do with models, and a model is a struct of layers.
// `make` draws a layer's weights from a key. Names, formulas and draws are those of Equinox.
//
//   struct Model {
//     nn::Linear in, out;
//     Array operator()(const Array& x) const { return out(relu(in(x))); }
//   };
//   auto [a, b] = random::split<2>(std::move(key));
//   Model model{nn::Linear::make(2, 64, std::move(a)), nn::Linear::make(64, 1, std::move(b))};
//   const Array ys = vmap(model)(xs);
//
// Layers act on one example; vmap makes them act on a batch.
#pragma once
#include "gnomon/nn/activation.h"
#include "gnomon/nn/attention.h"
#include "gnomon/nn/batch_norm.h"
#include "gnomon/nn/conv.h"
#include "gnomon/nn/dropout.h"
#include "gnomon/nn/embedding.h"
#include "gnomon/nn/inference.h"
#include "gnomon/nn/initialise.h"
#include "gnomon/nn/linear.h"
#include "gnomon/nn/norm.h"
#include "gnomon/nn/pool.h"
#include "gnomon/nn/recurrent.h"
#include "gnomon/nn/sequential.h"
#include "gnomon/nn/shared.h"
#include "gnomon/nn/spectral_norm.h"
#include "gnomon/nn/weight_norm.h"
