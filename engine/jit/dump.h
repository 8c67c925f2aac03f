// engine/jit/dump.h -- GNOMON_DUMP and GNOMON_LOG: what compiling and calling print.
#pragma once
#include <cstdint>
#include <string>

#include "engine/runtime/env.h"

namespace gnomon {

/// Writes `text`, one stage of `name`, the `number`th graph of its Runtime, to
/// GNOMON_DUMP_DIR/<name>.<number>.<stage> or the log. `part` tells several texts of one stage
/// apart and may be empty.
///
/// Throws FileError when the file cannot be written.
void dump_stage(const Environment&, const std::string& name, std::uint64_t number,
                const std::string& stage, const std::string& part, const std::string& text);

/// Whether GNOMON_DUMP names the stage.
bool dumps(const Environment&, const std::string& stage);

/// "gnomon: <topic>: <text>" to the log, if GNOMON_LOG names the topic.
void log_line(const Environment&, Topic, const std::string& text);

}  // namespace gnomon
