// engine/runtime/statements.h -- what the statements of a call said: read from the device, printed,
// thrown.
#pragma once
#include <vector>

#include "codegen/program/effect_table.h"
#include "engine/runtime/context.h"
#include "gnomon/progress.h"

namespace gnomon {

/// Takes the effect table's arrays, of the types `records`, from behind the outputs; prints lines
/// to `sink`, and throws CheckFailed where a check has failed. Waits for the device.
void speak(Context&, const EffectTable&, const std::vector<Aval>& records,
           std::vector<Array>& outputs, const PrintHandler& sink);

}  // namespace gnomon
