// tests/engine/child.h -- this program once more, as another process that computes with a cache.
#pragma once
#include <string>
#include <vector>

namespace gnomon::testing {

/// Whether the arguments are those of `run_children`.
bool is_child(int argc, char** argv);
/// Computes several functions with the cache in `folder`, compares the results with what they have
/// to be and prints what was counted; 0 when all is right.
int child(const std::string& folder);

/// What a child said.
struct ChildReport {
  int status = -1;
  bool right = false;
  std::uint64_t compiled = 0, loaded = 0, emitted = 0, pipelines = 0, new_pipelines = 0,
                damaged = 0;
};
/// So many children at once.
std::vector<ChildReport> run_children(int count, const std::string& folder);

}  // namespace gnomon::testing
