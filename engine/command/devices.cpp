// engine/command/devices.cpp -- the device list.
#include "engine/command/devices.h"

#include <optional>
#include <vector>

#include "engine/runtime/env.h"
#include "engine/vulkan/device.h"
#include "engine/vulkan/instance.h"
#include "gnomon/error.h"

namespace gnomon {
namespace {

using vulkan::DeviceDescription;

std::string_view words(DeviceDescription::Kind kind) {
  switch (kind) {
    case DeviceDescription::Kind::discrete:
      return "discrete GPU";
    case DeviceDescription::Kind::integrated:
      return "integrated GPU";
    case DeviceDescription::Kind::virtual_device:
      return "virtual GPU";
    case DeviceDescription::Kind::cpu:
      return "CPU";
    case DeviceDescription::Kind::other:
      break;
  }
  return "other";
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + " " + std::string(units[unit]);
}

std::string row(std::string name, const std::string& value) {
  name.resize(22, ' ');
  return "  " + name + value + "\n";
}

std::string types_text(const DeviceDescription& d) {
  std::string text = "f32 i32";
  const auto add = [&](bool has, const char* type) {
    if (has) text += std::string(" ") + type;
  };
  add(d.float64, "f64");
  add(d.int64, "i64");
  add(d.float16, "f16");
  add(d.int16, "i16");
  add(d.int8, "i8");
  return text;
}

}  // namespace

std::string devices_text() {
  const vulkan::Instance instance({});
  std::vector<DeviceDescription> devices;
  for (const auto& p : instance.physical_devices()) devices.push_back(p.description);
  const Environment environment = Environment::read();
  const std::string& wanted = environment.device;
  std::optional<std::size_t> taken;
  std::string none;
  try {
    taken = vulkan::select_device(devices, wanted);
  } catch (const DeviceError& e) {
    none = e.what();
  }

  std::string text;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceDescription& d = devices[i];
    const std::string reason = vulkan::rejection(d);
    text += std::to_string(i) + ": " + d.name;
    if (taken == i) text += "  (used)";
    text += "\n";
    if (!reason.empty()) text += row("rejected", "it " + reason);
    text += row("kind", std::string(words(d.kind)));
    text += row("Vulkan", d.api());
    text += row("driver", d.driver.empty() ? "unknown" : d.driver + " " + d.driver_info);
    text += row("arithmetic", types_text(d));
    text += row("storage range", bytes_text(d.max_storage_range));
    text += row("allocation", bytes_text(d.max_allocation_bytes));
    text += row("texels", std::to_string(d.max_texel_elements));
    text += row("alignment", std::to_string(d.storage_alignment));
    text += row("workgroup", std::to_string(d.max_group_invocations) + " invocations, " +
                                 bytes_text(d.max_shared_bytes) + " shared");
    text += row("workgroups", std::to_string(d.max_groups) + " per axis");
    if (d.resident_lanes > 0)
      text += row("resident", std::to_string(d.resident_lanes) + " invocations");
    text += row("subgroup", std::to_string(d.subgroup_size) +
                                (d.subgroup_arithmetic ? ", with arithmetic" : ""));
  }
  if (!none.empty()) text += none + "\n";
  if (taken) {
    const vulkan::Device device({.wanted = wanted,
                                 .log = nullptr,
                                 .minimum_target = environment.minimum,
                                 .notices = nullptr});
    text += "compiled for: " + device.target().text() + "\n";
  }
  return text;
}

}  // namespace gnomon
