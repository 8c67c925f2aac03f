// codegen/include/gnomon/fft.h -- discrete Fourier transforms along one axis or several.
//
// Definition    y[k] = sum over j of x[j] exp(-2 pi i j k / n), as NumPy; the inverse has the other
//               sign and divides by n (see Norm).
// Lengths       any. Prime factors up to 13 are butterflies; a length with a larger one goes
//               through a convolution of a power of two at least twice as long (Bluestein), up to
//               2^22.
// Accuracy      a few units in the last place times log2(n), relative to the largest element:
//               twiddle factors come from exactly reduced angles.
// Derivatives   all transforms are linear and made of linear operations: both modes, any order.
//
// Integers become f32. A length below 1, a wrong axis or a scalar throws UsageError.
#pragma once
#include <optional>
#include <vector>

#include "gnomon/complex.h"

#pragma GCC visibility push(default)
namespace gnomon::fft {

/// Where the factor 1 / n goes: with the inverse, with the forward transform, or half to each.
enum class Norm : std::uint8_t { backward, forward, ortho };

struct Options {
  std::optional<Dim> n = {};  // length along the axis: zeros are appended or elements cut off
  int axis = -1;
  Norm norm = Norm::backward;
};

Complex fft(ComplexOperand x, Options options = {});
Complex fft(Operand x, Options options = {});
Complex ifft(ComplexOperand x, Options options = {});
Complex ifft(Operand x, Options options = {});
/// Of real x: the first n / 2 + 1 elements, the others being their conjugates. Half the work where
/// n is even.
Complex rfft(Operand x, Options options = {});
/// The real array whose `rfft` is x; n is 2 (m - 1) for m elements unless given. The imaginary
/// parts of element 0 and, for even n, of element n / 2 do not count.
Array irfft(ComplexOperand x, Options options = {});

struct AxesOptions {
  std::vector<int> axes = {};  // all when empty (the last ones where `n` is given); each once
  Norm norm = Norm::backward;
  std::vector<Dim> n = {};  // lengths along `axes`, as Options::n; those of x when empty
};
Complex fftn(ComplexOperand x, AxesOptions options = {});
Complex ifftn(ComplexOperand x, AxesOptions options = {});
/// Of real x: `rfft` along the last of the axes, `fft` along the others.
Complex rfftn(Operand x, AxesOptions options = {});
/// The real array whose `rfftn` is x: `ifft` along all axes but the last of them, then `irfft`
/// along that one, of length 2 (m - 1) for m elements unless `n` says more.
Array irfftn(ComplexOperand x, AxesOptions options = {});
/// Over the last two axes.
Complex fft2(ComplexOperand x, Norm norm = Norm::backward);
Complex ifft2(ComplexOperand x, Norm norm = Norm::backward);
Complex rfft2(Operand x, Norm norm = Norm::backward);
Array irfft2(ComplexOperand x, Norm norm = Norm::backward);

/// Frequencies of the elements of an `fft` (`rfft`) of length n, in floats of `dtype`: 0, 1, ...,
/// -1 over n d.
Array fftfreq(Dim n, double d = 1, DType dtype = DType::f32, Loc loc = Loc::here());
Array rfftfreq(Dim n, double d = 1, DType dtype = DType::f32, Loc loc = Loc::here());
/// Moves frequency 0 to the middle of an axis, and back.
Array fftshift(Operand x, int axis = -1);
Array ifftshift(Operand x, int axis = -1);

}  // namespace gnomon::fft
#pragma GCC visibility pop
