// samples/triangles/main.cpp -- triangles of a network from random probes: tr(A^3) / 6 by
// Hutchinson's estimator.
//
// For a random sign vector z, E[z' A^3 z] = tr(A^3), and every triangle is six closed walks of
// length three. With y = A z this is y' A y: two sparse products per probe, the matrix never
// formed. Source: H. Avron, Counting triangles in large graphs using randomized matrix trace
// estimation, KDD-LDMTA 2010.
#include <gnomon/gnomon.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

#include "network.h"

namespace {

namespace gn = gnomon;
using gn::Array;

struct Edges {
  Array from, to;  // i32[2 E]: every edge in both directions
};

/// A x for the adjacency matrix given by its edges.
Array adjacency(const Edges& e, const Array& x) {
  return gn::segment_sum(gn::take(x, e.from), e.to, x.dim(0));
}

/// One probe: an unbiased estimate of the number of triangles.
Array probe(const Edges& e, gn::Key key, gn::Dim nodes) {
  const Array z = gn::random::rademacher(std::move(key), {nodes}, gn::DType::f32);
  const Array y = adjacency(e, z);
  return gn::sum(y * adjacency(e, y)) / 6.0f;
}

struct Estimate {
  double mean = 0, standard_error = 0, milliseconds = 0;
};

Estimate estimate(gn::Runtime& rt, const Network& n, int probes, std::uint64_t seed) {
  std::vector<std::int32_t> from, to;
  for (const auto& [u, v] : n.edges) {
    from.insert(from.end(), {u, v});
    to.insert(to.end(), {v, u});
  }
  const Edges edges{rt.from_host(from), rt.from_host(to)};
  const gn::Dim nodes = n.nodes;

  // Probes come in equal batches, so that one compiled function serves all and memory stays
  // bounded: the vectors of a batch take up to 16 MiB each.
  const auto most = std::clamp<std::int64_t>((std::int64_t{4} << 20) / nodes, 1, 64);
  const int batch =
      std::min(probes, static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(most))));
  auto run = gn::jit(rt,
                     [=](const Edges& e, gn::Key key, const Array& index) {
                       const auto one = [&](const Array& i) {
                         return probe(e, gn::random::fold_in(key.clone(), i), nodes);
                       };
                       return gn::vmap(one)(index + gn::arange(batch));
                     },
                     {.name = "triangles", .max_traces = 1});

  std::vector<double> samples;
  const auto start = std::chrono::steady_clock::now();
  const gn::Key key = rt.run([&] { return gn::random::key(seed); });
  for (int first = 0; first < probes; first += batch) {
    const std::int32_t index = first;
    const auto values = rt.to_host<float>(run(edges, key.clone(), rt.from_host(index)));
    for (int i = 0; i < std::min(batch, probes - first); ++i)
      samples.push_back(values[static_cast<std::size_t>(i)]);
    if (probes > 4 * batch) std::fprintf(stderr, "\r  %d of %d probes", first + batch, probes);
  }
  if (probes > 4 * batch) std::fprintf(stderr, "\r%32s\r", "");
  Estimate r;
  r.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  for (double s : samples) r.mean += s / static_cast<double>(samples.size());
  double variance = 0;
  for (double s : samples)
    variance +=
        (s - r.mean) * (s - r.mean) / std::max(1.0, static_cast<double>(samples.size()) - 1);
  r.standard_error = std::sqrt(variance / static_cast<double>(samples.size()));
  return r;
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
  CLI::App app("Estimates the number of triangles of a network from random probes.");
  app.add_option("--probes", probes, "number of random sign vectors, at least 1");
  app.add_option("--seed", seed, "seed of the threefry key");
  app.add_option("--edges", edges,
                 "edge list or Matrix Market coordinate file, instead of the built-in networks");
  app.add_option("--dpkg-status", status, "dpkg status file the package network is read from");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
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
    gn::Runtime rt;
    std::printf("device: %s\n", rt.device_name().c_str());
    bool right = true;
    for (const Network& n : networks) right = show(rt, n, probes, seed) && right;
    if (!right)
      std::printf("WRONG: an estimate is more than six standard errors from the exact count\n");
    return right ? 0 : 1;
  } catch (const gn::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
