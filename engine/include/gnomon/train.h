// engine/include/gnomon/train.h -- training loops: batches of examples in host memory, epochs on
// the device, checkpoints, and a loop that resumes from them bit for bit.
#pragma once
#include "gnomon/train/checkpoints.h"
#include "gnomon/train/epoch.h"
#include "gnomon/train/feeder.h"
#include "gnomon/train/loop.h"
