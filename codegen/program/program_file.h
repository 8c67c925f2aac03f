// codegen/program/program_file.h -- a Program and the modules of its kernels as bytes, both ways.
//
// The form is FlatBuffers (program.fbs): old readers skip fields that are new, other languages read
// it, and its verifier bounds every offset before anything is looked at. What the verifier cannot
// know, whether the numbers make a program, `complaint` decides. Bodies of kernels are left out:
// who has the modules needs none, and who has the graph can compile it again.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/program/program.h"
#include "codegen/program/target.h"

namespace gnomon {

/// What became of a kernel for one arrangement of windows.
struct ProgramModule {
  std::uint32_t kernel = 0;  // index into Program::kernels; the one behind them copies
  std::vector<std::uint8_t> windows;
  std::vector<std::uint32_t> words;    // SPIR-V
  std::vector<std::byte> driver_data;  // what a driver left of it, if any
  std::uint32_t joined_rows = 0;       // of the parameter block of joined dispatches; 0: of one
  bool operator==(const ProgramModule&) const = default;
};

struct ProgramFile {
  std::string identity;     // what the program depends on, as whoever wrote it sees it
  std::uint64_t lines = 0;  // hash of the source lines that Program::allocations name
  Program program;
  std::vector<ProgramModule> modules;
};

/// What is wrong with a program as far as its numbers tell: places outside of what they lie in,
/// steps, loops and blocks that do not exist, overlap or take next to endless memory to write out,
/// operands and parameters that do not fit their kernel. Nothing for what `compile` gives.
/// Unchecked: what kernels do with their operands.
std::optional<std::string> complaint(const Program&);

/// What is wrong with the module of a kernel for an arrangement of windows: other instructions than
/// the emitter has, blocks that do not nest, values where they are not known or whose types do not
/// fit, capabilities and modes that the target does not have, an entry point, workgroups, bindings,
/// parameters or sizes of arrays that are not the kernel's, accesses that are of no buffer of the
/// kernel, or of one as something else than it is. Buffers by address count as wrong. Nothing for
/// what `spirv::emit` gives; what it is nothing for, SPIRV-Tools find valid. Unchecked: what it
/// computes, how long that takes, and indices.
std::optional<std::string> module_complaint(std::span<const std::uint32_t> words,
                                            const kernel::Kernel& frame,
                                            std::span<const std::uint8_t> windows, const Target&);

/// Without the bodies of kernels and the texts of earlier stages. Throws InternalError for a
/// program with a complaint.
std::vector<std::byte> to_bytes(const ProgramFile&);

/// Reads what `to_bytes` wrote; kernels have no bodies. Safe for bytes of any origin: throws
/// FileError for everything else than a program without complaint and modules that have the
/// header, the instructions and the checksum of SPIR-V modules. The bytes are aligned to 8.
ProgramFile program_file(std::span<const std::byte>);

}  // namespace gnomon
