// shaders/passes/access_summary.cpp -- the shape of every access as a line of text.
#include <bit>

#include "shaders/passes/affine.h"
#include "shaders/passes/vectorize.h"

namespace gnomon::kernel {
namespace {

/// Distance between the components of a wide index when it is the same everywhere.
std::optional<std::int32_t> component_stride(const std::vector<Offset>& parts) {
  if (parts.size() < 2) return std::nullopt;
  const std::uint32_t step = parts[1].offset - parts[0].offset;
  for (std::size_t k = 1; k < parts.size(); ++k) {
    if (parts[k].root != parts[0].root || parts[k].offset - parts[k - 1].offset != step)
      return std::nullopt;
  }
  return static_cast<std::int32_t>(step);
}

class Summary {
 public:
  explicit Summary(const Kernel& kernel)
      : kernel_(kernel),
        definitions_(definitions(kernel)),
        each_(analyse(kernel, {Op::invocation, 1})),
        across_(analyse(
            kernel, {Op::invocation, std::uint32_t{1} << std::countr_zero(kernel.group_size)})) {}

  std::string text() {
    walk(kernel_.body);
    return text_;
  }

 private:
  void walk(const Region& region) {
    for (const Instruction& i : region.body) {
      if (i.op == Op::load) line(i, kernel_.type(i.results[0]));
      if (i.op == Op::store) line(i, kernel_.type(i.operands[1]));
      for (const Region& r : i.regions) walk(r);
    }
  }

  void line(const Instruction& i, Type type) {
    text_ += std::string(name(i.op)) + " " + kernel_.buffers[i.immediate].name + ": " +
             shape(i.operands[0], type) + "\n";
  }

  std::string shape(Value index, Type type) const {
    const std::string width = type.width == 1 ? "" : " x" + std::to_string(type.width);
    if (kernel_.type(index).width > 1) {
      const auto stride = component_stride(split_components(kernel_, definitions_, index));
      return "gather" + width + (stride ? " stride " + std::to_string(*stride) : "");
    }
    const Affine& at = across_[index];
    const bool aligned = type.width > 1 && each_[index].alignment_everywhere() >= 2;
    const std::string extent = width + (aligned ? " aligned" : "");
    if (at.uniform()) return "uniform" + extent;
    if (!at.varying && at.stride == type.width) return "contiguous" + extent;
    return (type.width > 1 ? "block" : "gather") + extent +
           (at.varying ? "" : " stride " + std::to_string(at.stride));
  }

  const Kernel& kernel_;
  std::vector<const Instruction*> definitions_;
  AffineFacts each_;    // what holds in every single invocation
  AffineFacts across_;  // how invocations of one group differ
  std::string text_;
};

}  // namespace

std::string access_summary(const Kernel& kernel) { return Summary(kernel).text(); }

}  // namespace gnomon::kernel
