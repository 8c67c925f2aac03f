// codegen/optimize/split_conv.h -- convolutions as CPU drivers like to read them.
#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/graph/graph.h"
#include "codegen/operations/window.h"
#include "codegen/program/target.h"

namespace gnomon {

/// What the sums of a convolution run over.
enum class ConvForm : std::uint8_t {
  plain,   // small, or not for this device
  images,  // many positions, sums over channels and a window: results share the kernel's elements
  sums     // many positions summed to a window of few results: the cotangent of a kernel
};
ConvForm conv_form(const ConvParams&, const Aval& lhs, const Aval& rhs, const Target&);

/// Results of a lane: so many output channels (axis batch_dims + 1), and all positions from axis
/// `whole` on, which is the rank where a lane has one position.
struct ConvTile {
  Dim channels = 1;
  int whole = 0;
};
/// Of a convolution of form `sums`.
ConvTile sums_tile(const Shape& out, int batch_dims, Dim rows);

/// Gives convolutions operands that begin every row of an image, and of a kernel's output channels,
/// on 16 bytes: copies with a border around the images, so that no read is checked, and the
/// kernel's output channels side by side. A vector of positions, or of channels, is then a texel or
/// two of which neighbouring taps share most.
///
/// Sums over whole images are made of parts, some images each, for as many lanes as the device
/// wants. Copies are kept: a layer and the derivative of its kernel read the same images.
class ConvArranger {
 public:
  ConvArranger(const Graph& g, const Target& target, const std::vector<std::uint32_t>& producer)
      : g_(g), target_(target), producer_(producer) {}

  /// The convolution `e` in the active trace; `env` has its operands and what they are made of.
  Array arrange(const Equation& e, const std::vector<Array>& env);

 private:
  /// An operand before permutations: axis a of it is axis order[a] of `base`.
  struct Source {
    ValueId base;
    std::vector<int> order;
  };
  Source source_of(ValueId) const;
  Array bordered(const Source&, const std::vector<Array>& env, const std::vector<Dim>& lo,
                 const std::vector<Dim>& length, Loc);
  Array by_images(const Equation&, const std::vector<Array>& env);
  Array by_sums(const Equation&, const std::vector<Array>& env);

  const Graph& g_;
  const Target& target_;
  const std::vector<std::uint32_t>& producer_;
  /// By value, border in front and length of every axis.
  std::map<std::pair<ValueId, std::vector<Dim>>, Array> copies_;
};

}  // namespace gnomon
