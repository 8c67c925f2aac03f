// engine/runtime/place.h -- where arrays may lie in buffers that are no pool's.
#pragma once
#include <cstdint>

#include "engine/runtime/context.h"

namespace gnomon {

/// Of every place in memory.
inline constexpr std::uint64_t place_alignment = 256;

/// Bytes that an array takes at `offset` of a buffer of `room` bytes. Throws UsageError in the name
/// of `op` when it does not fit there, or does not begin where arrays may.
std::uint64_t place_in(const char* op, std::uint64_t offset, const Aval&, std::uint64_t room,
                       const char* remedy, Loc);
/// Throws UsageError in the name of `op` where kernels do not reach all of a buffer.
void require_reach(const char* op, const Context&, std::uint64_t bytes, bool addressable,
                   const char* remedy, Loc);

}  // namespace gnomon
