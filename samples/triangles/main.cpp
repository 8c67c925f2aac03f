// samples/triangles/main.cpp -- triangles of a network from random probes: tr(A^3) / 6 by
// Hutchinson's estimator.
//
// For a random sign vector z, E[z' A^3 z] = tr(A^3), and every triangle is six closed walks of
// length three. Three sparse products per probe, and A^3 is never formed. Source: H. Avron,
// Counting triangles in large graphs using randomized matrix trace estimation, KDD-LDMTA 2010.
#include <gnomon/estimate.h>
#include <gnomon/gnomon.h>
#include <gnomon/operators.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "network.h"
#include "samples/common/sample.h"

namespace {

namespace gn = gnomon;
using gn::Array;

struct Estimate {
  double mean = 0, standard_error = 0, milliseconds = 0;
};

Estimate estimate(gn::Runtime& rt, const Network& n, int probes, std::uint64_t seed) {
  gn::operators::Triplets edges;
  edges.rows = edges.columns = n.nodes;
  for (const auto& [u, v] : n.edges) {
    edges.add(u, v, 1);
    edges.add(v, u, 1);
  }
  const auto adjacency = gn::operators::to_csr(rt, edges, {.tags = {.symmetric = true}});

  // Probes come in batches, so that memory stays bounded.
  auto triangles = gn::jit(rt,
                           [=](const gn::operators::Csr& a, gn::Key key) {
                             const auto cube = gn::operators::gram(a, a);
                             const auto t = gn::estimate::trace(std::move(key), cube, probes,
                                                                gn::estimate::Hutchinson{});
                             return gn::stack({t.value, t.standard_error}) / 6.0f;
                           },
                           {.name = "triangles", .max_traces = 1});
  std::vector<float> found;
  const double milliseconds = sample::milliseconds_of(
      [&] { found = rt.to_host<float>(triangles(adjacency, rt.key(seed))); });
  return {found[0], found[1], milliseconds};
}

/// Prints one network's line; false when the estimate is off by more than six standard errors.
bool show(gn::Runtime& rt, const Network& n, int probes, std::uint64_t seed) {
  const Estimate e = estimate(rt, n, probes, seed);
  const std::int64_t exact = count_triangles(n);
  std::printf("%s: %d nodes, %zu edges\n", n.name.c_str(), n.nodes, n.edges.size());
  std::printf("  estimate %.1f +- %.1f (%d probes, %.0f ms), exact %lld\n", e.mean,
              e.standard_error, probes, e.milliseconds, static_cast<long long>(exact));
  return probes < 2 || std::abs(e.mean - static_cast<double>(exact)) <=
                           6 * e.standard_error + 1e-3 * static_cast<double>(exact);
}

}  // namespace

int main(int argc, char** argv) {
  int probes = 256;
  std::uint64_t seed = 0;
  std::string edges, status = "/var/lib/dpkg/status";
  sample::Settings settings("Estimates the number of triangles of a network from random probes.");
  settings.add("--probes", probes, "number of random sign vectors, at least 1");
  settings.add("--seed", seed, "seed of the threefry key");
  settings.add("--edges", edges,
               "edge list or Matrix Market coordinate file, instead of the built-in networks");
  settings.add("--dpkg-status", status, "dpkg status file the package network is read from");
  return sample::run(settings, argc, argv, [&](gn::Runtime& rt) {
    if (probes < 1)
      throw gn::UsageError("triangles: --probes is " + std::to_string(probes) +
                           "; at least 1 is needed");
    std::vector<Network> networks;
    if (!edges.empty()) {
      networks.push_back(read_edges(edges));
    } else {
      networks.push_back(karate_club());
      if (std::FILE* f = std::fopen(status.c_str(), "r")) {
        std::fclose(f);
        networks.push_back(package_dependencies(status));
        if (networks.back().edges.empty()) networks.pop_back();
      } else {
        std::printf("no %s here: only the built-in network\n", status.c_str());
      }
    }
    bool right = true;
    for (const Network& n : networks) right = show(rt, n, probes, seed) && right;
    if (!right)
      std::printf("WRONG: an estimate is more than six standard errors from the exact count\n");
    return right;
  });
}
