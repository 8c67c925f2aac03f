// engine/include/gnomon/device_lost.h -- what every use of a device throws that is no more.
#pragma once
#include "gnomon/error.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// The driver has given up the device, often after a dispatch that took too long. Everything that
/// needs it throws the same text from then on, until Runtime::recover.
class DeviceLost : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

}  // namespace gnomon
#pragma GCC visibility pop
