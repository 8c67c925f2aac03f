// codegen/program/grid.h -- how workgroups are laid out in dispatches.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace gnomon {

/// One dispatch of a grid: workgroups from `base` on.
struct GridPiece {
  std::uint32_t base = 0, x = 0, y = 0;
};

/// Too many groups for one axis: whole rows first, then the rest, so that no surplus group runs.
inline std::vector<GridPiece> grid_of(std::uint32_t groups, std::uint32_t max_groups) {
  std::vector<GridPiece> pieces;
  for (std::uint32_t base = 0; base < groups;) {
    const std::uint32_t rest = groups - base;
    const std::uint32_t x = std::min(rest, max_groups);
    const std::uint32_t y = std::min(rest / x, max_groups);
    pieces.push_back({base, x, y});
    base += x * y;
  }
  return pieces;
}

}  // namespace gnomon
