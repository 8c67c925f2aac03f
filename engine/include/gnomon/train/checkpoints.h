// engine/include/gnomon/train/checkpoints.h -- the state of a run in files, of which the last good
// one is kept whatever happens.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gnomon/io.h"

#pragma GCC visibility push(default)
namespace gnomon::train {

/// What a checkpoint held.
template <class T>
struct Restored {
  std::int64_t step = 0;
  T tree;
  std::string path;
  std::vector<std::string> refused;  // what is wrong with newer files, one message each
};

namespace detail {
struct Found {
  std::int64_t step = 0;
  std::vector<Array> arrays;
  std::string path;
  std::vector<std::string> refused;
};
}  // namespace detail

struct CheckpointOptions {
  int keep = 2;  // newest checkpoints; older ones are removed when one is saved
};

/// Checkpoints of one run in a folder: safetensors files `step_000000001234.safetensors` with
/// checksums. A file is written aside and renamed when it is whole, so a run that is broken off
/// while it saves leaves the checkpoints before. Unchecked: that the operating system has written
/// renamed files when the machine loses power.
class Checkpoints {
 public:
  /// Makes the folder if there is none. Throws FileError when it cannot, UsageError unless keep is
  /// 1 or more.
  explicit Checkpoints(std::string folder, CheckpointOptions = {});

  /// Saves the arrays of `tree` as those of `step`; waits for what computes them. `run` is written
  /// beside them and has to be the same when they are restored.
  ///
  /// Throws FileError when the file cannot be written.
  template <class T>
  void save(const Runtime& rt, std::int64_t step, const T& tree,
            const std::string& run = "") const {
    io::NamedArrays arrays;
    tree::for_each_leaf(tree, [&](const Array& a, const std::string& place) {
      arrays.emplace_back(io::detail::name_in_file(place), a);
    });
    save_arrays(rt, step, arrays, run);
  }

  /// The newest checkpoint that is not damaged, as a tree like `like`, of whose arrays only types
  /// matter. Nothing when the folder has no checkpoint.
  ///
  /// Throws FileError when all are damaged, and when the newest good one is of another tree or run.
  template <class T>
  std::optional<Restored<T>> restore(Runtime& rt, const T& like, const std::string& run = "",
                                     Loc loc = Loc::here()) const {
    std::vector<std::pair<std::string, Aval>> wanted;
    tree::for_each_leaf(like, [&](const Array& a, const std::string& place) {
      wanted.emplace_back(io::detail::name_in_file(place), a.aval());
    });
    auto found = restore_arrays(rt, wanted, run, loc);
    if (!found) return std::nullopt;
    return Restored<T>{found->step, tree::with_leaves(like, found->arrays), std::move(found->path),
                       std::move(found->refused)};
  }

  /// Steps of the checkpoints in the folder, damaged or not, ascending.
  std::vector<std::int64_t> steps() const;
  /// The file of a step.
  std::string path(std::int64_t step) const;

 private:
  void save_arrays(const Runtime&, std::int64_t step, const io::NamedArrays&,
                   const std::string& run) const;
  std::optional<detail::Found> restore_arrays(
      Runtime&, const std::vector<std::pair<std::string, Aval>>& wanted, const std::string& run,
      Loc) const;
  std::string folder_;
  CheckpointOptions options_;
};

}  // namespace gnomon::train
#pragma GCC visibility pop
