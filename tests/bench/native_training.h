// tests/bench/native_training.h -- dense training, attention and recurrent networks for this
// processor.
#pragma once
#include "native.h"

namespace bench::native {

/// Inputs and results as stated in problems_training.h; `scratch` has so many floats.
constexpr size_t train_mlp_scratch = 1u << 20, attention_scratch = 1u << 20,
                 gru_scan_scratch = 24u << 20;
void train_mlp(Pair& pair, const float* input, float* scratch, float* result);
void attention(Pair& pair, const float* input, float* scratch, float* result);
void gru_scan(Pair& pair, const float* input, float* scratch, float* result);

}  // namespace bench::native
