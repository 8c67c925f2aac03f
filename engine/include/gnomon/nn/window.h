// engine/include/gnomon/nn/window.h -- how layers say where their windows are: sizes along each
// spatial axis, and what surrounds an image.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "gnomon/convolution.h"

#pragma GCC visibility push(default)
namespace gnomon {
struct TreeAccess;
}

namespace gnomon::nn {

/// One number for all spatial axes, or one for each: 3, {3, 5}.
class PerAxis {
 public:
  template <std::integral I>
  PerAxis(I all) : numbers_{static_cast<Dim>(all)} {}            // NOLINT: implicit on purpose
  PerAxis(std::initializer_list<Dim> each) : numbers_(each) {}   // NOLINT: likewise
  PerAxis(std::vector<Dim> each) : numbers_(std::move(each)) {}  // NOLINT: likewise
  const std::vector<Dim>& numbers() const { return numbers_; }

 private:
  std::vector<Dim> numbers_;
};

/// What surrounds the spatial axes of an image: as many elements on both sides of each (1), of each
/// by itself ({1, 2}), or before and behind each ({{0, 1}, {1, 1}}); or by name: "VALID" (nothing),
/// "SAME" (as much as makes the result ceil(n / stride) long, the larger half behind), "SAME_LOWER"
/// (the larger half before).
class Around {
 public:
  enum class Kind : std::uint8_t { given, valid, same, same_lower };
  Around() : Around(0) {}
  template <std::integral I>
  Around(I all) : widths_{{static_cast<Dim>(all), static_cast<Dim>(all)}} {}  // NOLINT: on purpose
  Around(std::initializer_list<Dim> each);                                    // NOLINT: likewise
  Around(std::initializer_list<std::pair<Dim, Dim>> each)                     // NOLINT: likewise
      : widths_(each) {}
  Around(const Padding& padding);  // NOLINT: likewise
  /// Throws UsageError for another name.
  Around(const char* name, Loc loc = Loc::here());  // NOLINT: likewise

  Kind kind() const { return kind_; }
  /// One for all axes or one for each.
  const std::vector<std::pair<Dim, Dim>>& widths() const { return widths_; }

 private:
  friend struct gnomon::TreeAccess;
  template <class A>
  static auto fields(A& a) {
    return std::tie(a.kind_, a.widths_);
  }
  static constexpr std::array<std::string_view, 2> field_names{"kind", "widths"};
  Kind kind_ = Kind::given;
  std::vector<std::pair<Dim, Dim>> widths_;
};
std::string_view name(Around::Kind);

/// What the elements around an image are.
enum class PaddingMode : std::uint8_t {
  zeros,
  reflect,    // the image mirrored at its outermost elements
  replicate,  // its outermost elements
  circular,   // the image again
};
std::string_view name(PaddingMode);

/// What a layer holds of each spatial axis.
template <int axes>
using AxisNumbers = std::array<Dim, static_cast<std::size_t>(axes)>;

namespace detail {
template <int axes>
constexpr AxisNumbers<axes> all_ones() {
  AxisNumbers<axes> ones{};
  ones.fill(1);
  return ones;
}
}  // namespace detail

}  // namespace gnomon::nn
#pragma GCC visibility pop
