// engine/vulkan/log.h -- where the library's own messages go: stderr, or who asked for them.
#pragma once
#include <memory>
#include <mutex>
#include <string_view>

#include "gnomon/handler.h"

namespace gnomon::vulkan {

/// Whether a message of the validation layer is about what a driver does, not about us: NVIDIA's
/// (580) looks for a function of the instance among those of the device, through the layer.
inline bool is_about_driver(std::string_view message) {
  return message.find("vkGetPhysicalDeviceVideoEncodeQualityLevelPropertiesKHR") !=
         std::string_view::npos;
}

/// Thread safe: messages of several threads come one after the other.
class Log {
 public:
  /// Without a handler: to stderr.
  explicit Log(Handler<void(std::string_view)> handler = {}) : handler_(std::move(handler)) {}
  /// One line or more, without the end of the last one.
  void write(std::string_view text) const;

 private:
  Handler<void(std::string_view)> handler_;
  mutable std::mutex mutex_;
};

}  // namespace gnomon::vulkan
