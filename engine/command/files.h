// engine/command/files.h -- what the subcommands read and write: graphs, programs, arrays.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "codegen/base/host_array.h"
#include "codegen/graph/graph.h"

namespace gnomon {

/// Whether a file holds saved functions rather than the text of a graph, by how it begins. Throws
/// FileError when it cannot be read.
bool holds_programs(const std::string& path);

/// Canonical, as after a trace: a graph in a file may define more than its outputs need. Throws
/// FileError with line and column.
Graph read_graph(const std::string& path);

/// The arrays of .npy files, and of .npz files one after another.
struct Inputs {
  std::vector<HostArray> arrays;
  std::vector<std::string> names;  // of each, for messages
};
Inputs read_inputs(const std::vector<std::string>& paths);

/// Whether they are what `whose` takes. Throws UsageError that lists it.
void check_inputs(const Inputs&, const std::vector<Aval>& wanted,
                  const std::vector<std::string>& names, const std::string& whose);

/// To `out`0.npy, `out`1.npy, ..., to one .npz file where it ends so, or printed where it is empty.
void write_outputs(const std::string& out, std::span<const HostArray>);

}  // namespace gnomon
