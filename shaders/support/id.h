// shaders/support/id.h -- 32-bit ids that do not mix.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace gnomon {

template <class Tag>
struct Id {
  std::uint32_t index = ~0u;
  constexpr bool valid() const { return index != ~0u; }
  auto operator<=>(const Id&) const = default;
};

}  // namespace gnomon

template <class Tag>
struct std::hash<gnomon::Id<Tag>> {
  std::size_t operator()(gnomon::Id<Tag> id) const noexcept { return id.index; }
};
