// shaders/spirv/emit.h -- a kernel in invocation form becomes the words of one SPIR-V module.
//
// Binding scheme, descriptor set 0:
//   parameter_binding        uniform block { uvec4 words[]; }: the parameter block of kernel.h
//   first_window_binding + w  storage buffer: window w, read and written
//   first_texel_binding + w   storage texel buffer of Rgba32ui: window w, read only
// A buffer that no window shows (window `by_address`) is reached by a 64-bit address of its block,
// two words for each such buffer, in their order, behind the user words of the parameter block; its
// base counts from there. Needs `Features::addresses`; such a buffer cannot be coherent.
// Only the bindings that the kernel uses are declared. Every buffer is a variable of its own; those
// of one window share its binding, so they are `Aliased`, and those never written `NonWritable`
// (without `Features::as_specified` only where the whole window is never written).
//
// A dispatch may be several of one kernel, its parts, *joined*: then the block is a header, which
// is [0] and [1] of kernel.h and [2] s; a word for every 2^s workgroups, the row of four words at
// which the parameter block of their part begins; and these blocks, whose first word is added to
// the workgroup's linear index, and whose second one is how many workgroups the part has. Others
// return. Such dispatches want `identity_words` push constants, of which each is its own index:
// Mesa knows of those alone that a workgroup's invocations see the same one, and would have each
// of them look up where its buffers begin.
//
// What the emitter relies on and does not check:
// - The bound range of a window starts at a multiple of 16 bytes and is a multiple of 16 bytes
// long.
// - A contiguous access (scalar index) of width 4 or more to 4-byte elements starts at a multiple
// of
//   4 elements of the window, masked or not: it is made of 16-byte accesses. passes/vectorize
//   splits the others.
#pragma once
#include <cstdint>
#include <vector>

#include "shaders/kernel/kernel.h"

namespace gnomon::spirv {

inline constexpr unsigned parameter_binding = 0;
inline constexpr unsigned first_window_binding = 1;
inline constexpr unsigned first_texel_binding = 5;
inline constexpr unsigned max_windows = 4;
inline constexpr unsigned identity_words = 32;
inline constexpr unsigned max_slots = identity_words * identity_words;  // of the table
inline constexpr std::uint8_t by_address = 0xff;                        // in place of a window
/// In place of a window: `count` of them from `first` on show one part of the buffer each, of
/// EmitOptions::window_bytes.
constexpr std::uint8_t spanning(unsigned first, unsigned count) {
  return static_cast<std::uint8_t>(first | (count - 1) << 4);
}
constexpr unsigned first_window(std::uint8_t window) { return window & 15u; }
constexpr unsigned window_count(std::uint8_t window) {
  return window == by_address ? 1u : (window >> 4) + 1u;
}

/// What a module may use. A kernel that needs more is an InternalError: passes lower it before.
struct Features {
  std::uint32_t version = 0x00010300;  // of SPIR-V; at least 1.3
  bool int64 = false;
  bool float64 = false;
  bool int16 = false;
  bool int8 = false;
  bool float16 = false;
  bool storage_16 = false;  // 16-bit elements in storage buffers
  bool storage_8 = false;
  bool subgroup_basic = false;       // numbers of subgroups, and one of their members
  bool subgroup_arithmetic = false;  // sums and the like over a subgroup
  bool addresses = false;            // 64-bit addresses of buffers
  /// 16 bytes are stored as two 64-bit words where there are such: drivers for CPUs store component
  /// by component and lane by lane.
  bool paired_stores = false;
  /// Invocations of a subgroup, which are neighbours and all there, that read texels for one
  /// another where they want the same, by shuffles: drivers for CPUs fetch for one after the other.
  /// 0: each for itself.
  std::uint32_t reads_together = 0;
  /// The driver is known to take modules for what the specification says. Others are spared what
  /// NVIDIA's 580 stumbles over: of variables that share a binding it takes one that is not written
  /// to say that none is, so that loops read what was there before them; and it ends the process
  /// where integer vectors x % c + x / c % d * c of constants are added (as LLVM did before version
  /// 11, D75906), so such sums are made component by component; and it loses the sign of a
  /// zero in a choice between -1 and -0, which is made by bits.
  bool as_specified = false;
  bool signed_zero_inf_nan_preserve_f32 = false;
  bool signed_zero_inf_nan_preserve_f64 = false;
  bool rounding_rte_f32 = false;
  bool rounding_rte_f64 = false;
  bool denorm_preserve_f32 = false;
  bool denorm_preserve_f64 = false;
};

struct EmitOptions {
  Features features = {};
  std::vector<std::uint8_t> windows = {};  // of each buffer; empty: all in window 0
  std::uint64_t window_bytes = 0;          // what a window shows of a buffer that spans several
  std::uint32_t joined_rows = 0;           // of a joined dispatch's parameter block; 0: of one part
  bool debug_info = false;                 // names and source lines; they change the words
};

/// The module of `kernel`: entry point "main", workgroups of group_size invocations along x.
///
/// The result depends on the arguments only, and without debug_info neither on names nor lines.
/// Throws InternalError for a kernel in lane form, and for a type or operation that the features
/// do not offer.
std::vector<std::uint32_t> emit(const kernel::Kernel& kernel, const EmitOptions& options);

}  // namespace gnomon::spirv
