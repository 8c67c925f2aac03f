// engine/vulkan/selection.cpp -- device selection.
#include "engine/vulkan/selection.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "gnomon/error.h"

namespace gnomon::vulkan {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::optional<std::size_t> as_index(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool matches(const DeviceDescription& device, std::size_t index, std::string_view wanted) {
  if (wanted.empty()) return true;
  if (const auto number = as_index(wanted)) return *number == index;
  return lower(device.name).find(lower(wanted)) != std::string::npos;
}

std::string below(const char* limit, std::uint64_t has, std::uint64_t needs) {
  return std::string("has ") + limit + " " + std::to_string(has) + " and " + std::to_string(needs) +
         " is required";
}

}  // namespace

std::string DeviceDescription::api() const {
  return std::to_string(api_major) + "." + std::to_string(api_minor);
}

std::string DeviceDescription::identity() const {
  std::string text = name + "\n" + driver + "\n" + driver_info + "\nVulkan " + api();
  for (const std::uint32_t number : {vendor_id, device_id, driver_version})
    text += " " + std::to_string(number);
  text += " ";
  for (const std::uint8_t byte : cache_uuid) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string rejection(const DeviceDescription& device) {
  if (device.api_major < 1 || (device.api_major == 1 && device.api_minor < 1)) {
    return "has Vulkan " + device.api() + " and 1.1 is required";
  }
  if (!device.compute_queue) return "has no queue that computes";
  // The specification guarantees these; a device that reports less would give wrong results, not
  // errors.
  if (device.max_storage_range < (1u << 27)) {
    return below("maxStorageBufferRange", device.max_storage_range, 1u << 27);
  }
  if (device.max_group_invocations < 128) {
    return below("maxComputeWorkGroupInvocations", device.max_group_invocations, 128);
  }
  if (device.max_groups < 65535) return below("maxComputeWorkGroupCount", device.max_groups, 65535);
  return {};
}

std::size_t select_device(std::span<const DeviceDescription> devices, std::string_view wanted) {
  std::optional<std::size_t> best;
  std::string reasons;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    std::string reason;
    if (!matches(devices[i], i, wanted)) {
      reason = "is not `" + std::string(wanted) + "`";
    } else {
      reason = rejection(devices[i]);
    }
    if (reason.empty()) {
      if (!best || devices[i].kind < devices[*best].kind) best = i;
    } else {
      reasons += (reasons.empty() ? "" : "; ") + ("\"" + devices[i].name + "\" ") + reason;
    }
  }
  if (best) return *best;
  if (devices.empty())
    reasons = "the Vulkan loader lists no device; install a driver (mesa-vulkan-drivers has one)";
  throw DeviceError("gnomon::Runtime: no usable GPU: " + reasons + " (GNOMON_DEVICE picks one)");
}

}  // namespace gnomon::vulkan
