// samples/triangles/network.h -- undirected graphs: where they come from, and their triangles
// counted exactly.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// Simple undirected graph: no loops, no repeated edges; `edges` are sorted pairs u < v.
struct Network {
  std::string name;
  std::int32_t nodes = 0;
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
};

/// W. W. Zachary, An Information Flow Model for Conflict and Fission in Small Groups, J. Anthropol.
/// Res. 33 (1977): 34 nodes, 78 edges, 45 triangles.
Network karate_club();

/// Packages of a Debian system and what they depend on (Depends, Pre-Depends; alternatives count
/// each), from a dpkg status file. Throws gnomon::FileError.
Network package_dependencies(const std::string& path);

/// An edge list (two node numbers per line; comments start with # or %) or a Matrix Market
/// coordinate file. Throws gnomon::FileError that names the line.
Network read_edges(const std::string& path);

/// Exact count: every edge's lower neighbours intersected, O(edges^1.5).
std::int64_t count_triangles(const Network&);
