// engine/include/gnomon/detail/frames.h -- what a function remembers of its recorded calls (see
// gnomon/vulkan.h), without what it consists of.
#pragma once
#include <memory>

#pragma GCC visibility push(default)
namespace gnomon::detail {

class Frames;
std::shared_ptr<Frames> make_frames();

}  // namespace gnomon::detail
#pragma GCC visibility pop
