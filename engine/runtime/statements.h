// engine/runtime/statements.h -- what the statements of a call said: read from the device, printed,
// thrown.
#pragma once
#include <vector>

#include "codegen/program/journal.h"
#include "engine/runtime/context.h"
#include "gnomon/progress.h"

namespace gnomon {

/// Takes the journal's arrays, of the types `records`, from behind the outputs; prints lines to
/// `sink`, and throws CheckFailed where a check has failed. Waits for the device.
void speak(Context&, const Journal&, const std::vector<Aval>& records, std::vector<Array>& outputs,
           const PrintHandler& sink);

}  // namespace gnomon
