// codegen/program/targets.h -- the table of kinds of devices: what tunes kernels for each, what its
// driver does wrong, and what it can at least.
//
// Nothing else says any of it. The engine finds the row of a device and puts in what the device
// reports of itself (engine/vulkan/quirks.h); tests and saved programs take rows as they are. Here
// rather than with the compiler, because who only runs programs has to know as well.
#pragma once
#include <string_view>

#include "codegen/program/target.h"

namespace gnomon {

inline constexpr KnownTarget known_targets[] = {KnownTarget::minimum,     KnownTarget::lavapipe_22,
                                                KnownTarget::lavapipe_25, KnownTarget::swiftshader,
                                                KnownTarget::other_cpu,   KnownTarget::gpu,
                                                KnownTarget::mobile_gpu};

/// "lavapipe-22".
std::string_view name(KnownTarget);
Target target_of(KnownTarget);
/// F32 quotients and roots: known, so that no device is asked.
bool rounds_correctly(KnownTarget);

}  // namespace gnomon
