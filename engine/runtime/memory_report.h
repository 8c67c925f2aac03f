// engine/runtime/memory_report.h -- where the public report comes from.
#pragma once
#include <string>

#include "codegen/program/program.h"
#include "gnomon/memory_report.h"

namespace gnomon {

MemoryReport memory_report(const Program&);
/// "3 MiB: inputs 1 MiB, ...", without the end of the line.
std::string sums(const MemoryReport&);
/// "1 MiB %5 f32[512,512] (model.cpp:12)".
std::string line(const MemoryReport::Value&);

}  // namespace gnomon
