// engine/include/gnomon/aot.h -- programs ahead of time: functions compiled by one process and run
// by another, which needs no compiler.
//
// The process that has one:
//   auto f = jit(rt, step);
//   aot::save("step.gnomon", {{"step", f.lower(model, x)}});
// Any other, by the library gnomon_runtime alone:
//   Runtime rt = Runtime::without_compiler();
//   auto f = aot::load<Array(Model, Array)>(rt, "step.gnomon", "step");
//   Array y = f(model, x);
// A file holds several functions, each for several kinds of devices: that of the process that saved
// it, others that were asked for, and always what every Vulkan 1.1 device runs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/array.h"
#include "gnomon/detail/frames.h"
#include "gnomon/detail/leaf_ref.h"
#include "gnomon/error.h"
#include "gnomon/lowered.h"
#include "gnomon/profile.h"
#include "gnomon/runtime.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)

namespace gnomon {
class Executable;
}  // namespace gnomon

namespace gnomon::aot {

// ---- saving: by the library that compiles

/// A function under the name by which it is called.
struct Entry {
  std::string name;
  Lowered function;
};

struct SaveOptions {
  /// What to compile for beside the least that Vulkan 1.1 guarantees, the preferred first: "device"
  /// (that of the Runtime), "gpu" or "cpu" (any such).
  std::vector<std::string> targets = {"device"};
};

/// Compiles the functions and writes them to one file, which is complete when it has its name.
/// Returns its digest, for LoadOptions::digest: SHA-256 of all that follows the file's head. Arrays
/// that a function captured are part of the file.
///
/// A function that computes in f64, be it inside of a loop, does not run on every device of Vulkan
/// 1.1: the least that it is compiled for has 64-bit floats then, as `EntryInfo::targets` and
/// `gnomon show` say.
///
/// Throws UsageError for two entries of one name, for an unknown target and for what a target
/// cannot run; FileError when the file cannot be written.
std::string save(const std::string& path, const std::vector<Entry>&, const SaveOptions& = {});
/// A C++ header with the functions' types, in the namespace `name`: a struct for each argument and
/// result that is one, with the fields' names, a class for each function, and `load`, which gives
/// all of them. Who includes it needs this header and the runtime, and neither the types nor the
/// static values that were compiled. A field that is no C++ name gets underscores; arrays by number
/// are a std::array.
///
/// Throws UsageError for entries whose names are one name in C++.
std::string header_text(const std::vector<Entry>&, std::string_view name);
/// The bytes of such a file.
std::vector<std::byte> to_bytes(const std::vector<Entry>&, const SaveOptions& = {});

// ---- loading: by either library

struct LoadOptions {
  /// What `save` returned; other files are refused. Empty: any.
  std::string digest;
};

/// What a file says of one function.
struct EntryInfo {
  std::string name;
  std::vector<Leaf> arguments, results;
  std::vector<std::string> statics;  // "argument 0 `.size` = 3": what it was compiled for
  std::vector<std::string> targets;  // devices it was compiled for, the last one being any
  std::uint32_t chosen = 0;          // which of them runs here
  std::string unfit;                 // or why none of them does, each with its reason
};

namespace detail {

class LoadedFile;
class LoadedEntry;

/// Throws UsageError naming the first difference between what was saved and what is called.
void check_arguments(const LoadedEntry&, const Described&, Loc);
void check_results(const LoadedEntry&, const Described&);
/// Throws UsageError where a function has other arrays than these, "argument 0 `.x` f32[3]".
void expect(const LoadedEntry&, const std::vector<std::string>& arguments,
            const std::vector<std::string>& results);
/// Arrays for the results' leaves. Donated arguments are empty afterwards; all are as before when
/// it throws.
std::vector<Array> call(const LoadedEntry&, std::span<const gnomon::detail::LeafRef>, Loc);
/// The same of arrays that nobody else needs again. `donated` nonzero where their memory may be
/// taken.
std::vector<Array> call(const LoadedEntry&, std::vector<Array> arguments,
                        std::span<const std::uint8_t> donated);
/// What `call` would run, and with which arrays. Throws as it does, and UsageError for a function
/// that says something.
std::shared_ptr<Executable> executable(const LoadedEntry&, std::vector<Array>& arguments, Loc);
Profile profile(const LoadedEntry&, std::vector<Array> arguments);

}  // namespace detail

/// The functions of a file on the device of a Runtime. Copies share.
class Programs {
 public:
  explicit Programs(std::shared_ptr<const detail::LoadedFile> file) : file_(std::move(file)) {}

  const std::vector<EntryInfo>& entries() const;
  /// Which of them is called so; where there is only one, "" is its name as well. Throws UsageError
  /// with those there are.
  std::size_t find(std::string_view name) const;
  /// 64 hexadecimal digits: SHA-256.
  const std::string& digest() const;
  /// Starts a function on the device; the arrays are those of its arguments, in the order in which
  /// `EntryInfo::arguments` names them.
  ///
  /// Throws UsageError for other arrays than those, FileError for a function that does not run
  /// here, and as calls of jitted functions do.
  std::vector<Array> call(std::string_view name, std::vector<Array> arguments) const;

  /// Throws as `call` does.
  const detail::LoadedEntry& entry(std::string_view name) const;
  const std::shared_ptr<const detail::LoadedFile>& file() const { return file_; }

 private:
  std::shared_ptr<const detail::LoadedFile> file_;
};

/// Reads a file, examines it, and brings what fits the device there.
///
/// Checked before a device sees anything: length, version and digest; every offset, by the verifier
/// of FlatBuffers; every index, size and type (dtypes, dimensions, arguments, results and records
/// against the program's); that places lie in arrays that are there, those in the arena in memory
/// that lives at the time and overlaps nothing, and are written to only where that is meant; loops,
/// their phases, gated blocks and the words that these tell the host; that loops can be written
/// out, dispatches have a module, and no more workgroups than elements; that gates count those or
/// none; statements with their texts and records; of SPIR-V version, instructions (those of
/// Gnomon's own emitter), blocks, types, capabilities, entry point, workgroups, bindings, sizes of
/// arrays, and whose buffers accesses are of. Reading takes at most 64 times the file and a MiB.
///
/// Whoever makes a file can still say what it computes. Unchecked: where in memory kernels read and
/// write, which is that of other arrays in the worst case, and on a CPU's driver memory of the
/// process; how long a kernel runs (a CancelToken ends loops, nothing a kernel); device memory, of
/// which the arena takes what the file says.
/// So expect a digest where a file comes from somewhere that is not trusted: nobody can make
/// another file with the same.
///
/// A function of which no target runs on this device, such as one in f64 where there are no 64-bit
/// floats, leaves the others usable: `EntryInfo::unfit` says why, and so do calls of it.
///
/// Throws FileError for a file that cannot be read, is damaged, or has another digest than is
/// expected, and for one that has nothing for this device, with the reason for each target.
Programs load(Runtime&, const std::string& path, const LoadOptions& = {});
/// The same for bytes in memory, which are copied.
Programs load(Runtime&, std::span<const std::byte>, const LoadOptions& = {});

namespace detail {
template <class... T>
struct Types;
/// Whether arguments `G` are, but for references and const, of the types `A`.
template <class A, class... G>
concept Fits = std::is_same_v<A, Types<std::remove_cvref_t<G>...>>;
}  // namespace detail

template <class Signature>
class Function;

/// A saved function with its types. What a result has besides arrays is as its type makes it by
/// default, so the type of the result has as many arrays by default as the function gives; a
/// std::vector<Array> takes any number.
template <class R, class... A>
class Function<R(A...)> {
  using Taken = detail::Types<std::remove_cvref_t<A>...>;

 public:
  Function(Programs programs, std::string entry)
      : programs_(std::move(programs)), entry_(std::move(entry)) {
    programs_.entry(entry_);
    if constexpr (!std::is_same_v<R, std::vector<Array>>) {
      const R result{};
      detail::Described described;
      detail::describe(tree::detail::AnyTree::of(result), "result", described);
      detail::check_results(programs_.entry(entry_), described);
    }
  }

  /// As a call of the jitted function that was saved: arguments that are moved in are donated, and
  /// as before when it throws.
  ///
  /// Throws UsageError where types, shapes or static values are not those that were compiled, by
  /// path and with both sides.
  R operator()(Loc loc = Loc::here()) const requires(sizeof...(A) == 0) { return call(loc); }
  template <class G0>
  requires detail::Fits<Taken, G0> R operator()(G0&& g0, Loc loc = Loc::here()) const {
    return call(loc, std::forward<G0>(g0));
  }
  template <class G0, class G1>
  requires detail::Fits<Taken, G0, G1> R operator()(G0&& g0, G1&& g1, Loc loc = Loc::here()) const {
    return call(loc, std::forward<G0>(g0), std::forward<G1>(g1));
  }
  template <class G0, class G1, class G2>
  requires detail::Fits<Taken, G0, G1, G2> R operator()(G0&& g0, G1&& g1, G2&& g2,
                                                        Loc loc = Loc::here()) const {
    return call(loc, std::forward<G0>(g0), std::forward<G1>(g1), std::forward<G2>(g2));
  }
  template <class G0, class G1, class G2, class G3>
  requires detail::Fits<Taken, G0, G1, G2, G3> R operator()(G0&& g0, G1&& g1, G2&& g2, G3&& g3,
                                                            Loc loc = Loc::here()) const {
    return call(loc, std::forward<G0>(g0), std::forward<G1>(g1), std::forward<G2>(g2),
                std::forward<G3>(g3));
  }
  template <class G0, class G1, class G2, class G3, class G4>
  requires detail::Fits<Taken, G0, G1, G2, G3, G4> R operator()(G0&& g0, G1&& g1, G2&& g2, G3&& g3,
                                                                G4&& g4,
                                                                Loc loc = Loc::here()) const {
    return call(loc, std::forward<G0>(g0), std::forward<G1>(g1), std::forward<G2>(g2),
                std::forward<G3>(g3), std::forward<G4>(g4));
  }
  template <class G0, class G1, class G2, class G3, class G4, class G5>
  requires detail::Fits<Taken, G0, G1, G2, G3, G4, G5> R operator()(G0&& g0, G1&& g1, G2&& g2,
                                                                    G3&& g3, G4&& g4, G5&& g5,
                                                                    Loc loc = Loc::here()) const {
    return call(loc, std::forward<G0>(g0), std::forward<G1>(g1), std::forward<G2>(g2),
                std::forward<G3>(g3), std::forward<G4>(g4), std::forward<G5>(g5));
  }
  template <class... G>
  requires(sizeof...(G) > 6 && detail::Fits<Taken, G...>) R operator()(G&&... args) const {
    return call(Loc{}, std::forward<G>(args)...);
  }

  /// The same with the line to name in messages. (The forms above are one for each number of
  /// arguments, since a default argument cannot stand behind a pack.)
  template <class... G>
  requires detail::Fits<Taken, G...> R call(Loc loc, G&&... args)
  const {
    (gnomon::detail::require_usable(args, loc), ...);
    const detail::LoadedEntry& entry = checked(loc, args...);
    std::vector<gnomon::detail::LeafRef> leaves;
    (gnomon::detail::append_leaves(std::forward<G>(args), leaves), ...);
    std::vector<Array> outputs = detail::call(entry, leaves, loc);
    (gnomon::detail::tell_given_away(std::forward<G>(args), loc), ...);
    if constexpr (std::is_same_v<R, std::vector<Array>>) {
      return outputs;
    } else {
      return tree::with_leaves(R{}, outputs);
    }
  }

  /// Where the time of a call goes: runs it twice and looks at every kernel of the second time.
  /// What it computes, prints and checks is dropped. Throws what a call throws.
  template <class... G>
  requires(sizeof...(G) == sizeof...(A) &&
           (std::is_same_v<G, std::remove_cvref_t<A>> && ...)) Profile profile(const G&... args)
  const {
    const detail::LoadedEntry& entry = checked(Loc{}, args...);
    std::vector<Array> arrays;
    (tree::detail::append_arrays(tree::detail::AnyTree::of(args), arrays), ...);
    return detail::profile(entry, std::move(arrays));
  }

  /// What a call would run, and with which arrays: for who runs it elsewhere (gnomon/vulkan.h).
  template <class... G>
  requires(sizeof...(G) == sizeof...(A) && (std::is_same_v<G, std::remove_cvref_t<A>> && ...))
      std::shared_ptr<Executable> executable(Loc loc, std::vector<Array>& inputs, const G&... args)
  const {
    const detail::LoadedEntry& entry = checked(loc, args...);
    (tree::detail::append_arrays(tree::detail::AnyTree::of(args), inputs), ...);
    return detail::executable(entry, inputs, loc);
  }
  /// What gnomon/vulkan.h remembers of recorded calls.
  const std::shared_ptr<gnomon::detail::Frames>& frames() const { return frames_; }

 private:
  template <class... G>
  const detail::LoadedEntry& checked(Loc loc, const G&... args) const {
    const detail::LoadedEntry& entry = programs_.entry(entry_);
    detail::Described described;
    [[maybe_unused]] std::size_t index = 0;  // of no arguments
    (detail::describe(tree::detail::AnyTree::of(args), "argument " + std::to_string(index++),
                      described),
     ...);
    detail::check_arguments(entry, described, loc);
    return entry;
  }

  Programs programs_;
  std::string entry_;
  std::shared_ptr<gnomon::detail::Frames> frames_ = gnomon::detail::make_frames();
};

/// One function of a file, by name; "" where it is the only one. Throws what the untyped `load`
/// throws, FileError where it does not run on this device, and UsageError where the result's type
/// has other arrays than the function gives.
template <class Signature>
Function<Signature> load(Runtime& rt, const std::string& path, std::string entry = "",
                         const LoadOptions& options = {}) {
  return Function<Signature>(load(rt, path, options), std::move(entry));
}

}  // namespace gnomon::aot
#pragma GCC visibility pop
