// engine/include/gnomon/nn/initialise.h -- the numbers that layers begin with.
#pragma once
#include "gnomon/random.h"

#pragma GCC visibility push(default)
namespace gnomon::nn {

/// Uniform in [-1/sqrt(fan_in), 1/sqrt(fan_in)); a fan-in of 0 counts as 1.
///
/// `fan_in` is how many products an element of the layer's result adds up. Draws are those of
/// Equinox for the same key: bit for bit, as of random::uniform.
/// Source: Equinox 0.13, default_init.
Array uniform_by_fan_in(Key key, const Shape& shape, Dim fan_in, DType dtype = DType::f32,
                        Loc loc = Loc::here());

}  // namespace gnomon::nn
#pragma GCC visibility pop
