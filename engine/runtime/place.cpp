// engine/runtime/place.cpp -- what arrays ask of the buffers they lie in.
#include "engine/runtime/place.h"

#include <string>

#include "gnomon/error.h"

namespace gnomon {

std::uint64_t place_in(const char* op, std::uint64_t offset, const Aval& aval, std::uint64_t room,
                       const char* remedy, Loc loc) {
  const std::uint64_t bytes = bytes_of(aval);
  const std::uint64_t padded = (bytes + place_alignment - 1) / place_alignment * place_alignment;
  if (offset % place_alignment != 0)
    usage_error(op,
                "the offset is " + std::to_string(offset) + " and has to be a multiple of " +
                    std::to_string(place_alignment) + "; move the elements",
                loc);
  if (padded > room || offset > room - padded)
    usage_error(op,
                to_string(aval.dtype, aval.shape) + " at byte " + std::to_string(offset) +
                    " takes " + std::to_string(padded) + " bytes with its padding and the buffer " +
                    "has " + std::to_string(room) + "; " + remedy,
                loc);
  return padded;
}

void require_reach(const char* op, const Context& context, std::uint64_t bytes, bool addressable,
                   const char* remedy, Loc loc) {
  const vulkan::Device& device = context.device;
  if (addressable && device.target().features.addresses) return;
  if (bytes > device.max_window_bytes())
    usage_error(op,
                "the buffer has " + vulkan::byte_text(bytes) + " and no address, and kernels see " +
                    vulkan::byte_text(device.max_window_bytes()) + " at once; " + remedy,
                loc);
}

}  // namespace gnomon
