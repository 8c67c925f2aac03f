// engine/vulkan/log.cpp -- one message at a time.
#include "engine/vulkan/log.h"

#include <cstdio>

namespace gnomon::vulkan {

void Log::write(std::string_view text) const {
  const std::lock_guard lock(mutex_);
  if (handler_) return handler_(text);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fputc('\n', stderr);
}

}  // namespace gnomon::vulkan
