// engine/vulkan/log.h -- where the library's own messages go: stderr, or who asked for them.
#pragma once
#include <memory>
#include <mutex>
#include <string_view>

#include "gnomon/handler.h"

namespace gnomon::vulkan {

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
