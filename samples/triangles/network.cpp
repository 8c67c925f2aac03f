// samples/triangles/network.cpp -- parsers and the exact count.
#include "network.h"

#include <gnomon/gnomon.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <string_view>

namespace {

using Edge = std::pair<std::int32_t, std::int32_t>;

/// Sorted, without loops and repetitions.
void normalise(Network& n) {
  for (Edge& e : n.edges)
    if (e.first > e.second) std::swap(e.first, e.second);
  std::sort(n.edges.begin(), n.edges.end());
  n.edges.erase(std::unique(n.edges.begin(), n.edges.end()), n.edges.end());
  std::erase_if(n.edges, [](const Edge& e) { return e.first == e.second; });
}

[[noreturn]] void malformed(const std::string& path, std::size_t line, const std::string& what) {
  throw gnomon::FileError("triangles: " + path + ":" + std::to_string(line) + ": " + what);
}

/// The next number of a line; nullopt when there is none.
std::optional<double> next_number(std::string_view& rest) {
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t' || rest.front() == ',' ||
                           rest.front() == '\r'))
    rest.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc{}) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return value;
}

/// Two node numbers of a line, the lowest allowed being `first`.
std::pair<std::int64_t, std::int64_t> node_pair(std::string_view text, const std::string& path,
                                                std::size_t line, std::int64_t first) {
  std::array<std::int64_t, 2> node{};
  std::string_view rest = text;
  for (auto& n : node) {
    const auto x = next_number(rest);
    if (!x) malformed(path, line, "two node numbers are needed, not \"" + std::string(text) + "\"");
    if (*x != static_cast<double>(static_cast<std::int64_t>(*x)) ||
        *x < static_cast<double>(first) || *x > 2e9)
      malformed(path, line,
                "a node is a whole number from " + std::to_string(first) +
                    " to 2000000000, not \"" + std::string(text) + "\"");
    n = static_cast<std::int64_t>(*x);
  }
  return {node[0], node[1]};
}

/// "name (>= 1.0) | other [amd64]" -> name, other.
std::vector<std::string> package_names(std::string_view list) {
  std::vector<std::string> names;
  std::string word;
  int nesting = 0;
  bool name_ended = false;
  for (char c : list) {
    if (c == '(' || c == '[') ++nesting;
    if (nesting == 0) {
      if (c == ',' || c == '|') {
        if (!word.empty()) names.push_back(word);
        word.clear();
        name_ended = false;
      } else if (c == ':') {
        name_ended = true;  // "name:any"
      } else if (c != ' ' && c != '\t' && !name_ended) {
        word += c;
      }
    }
    if (c == ')' || c == ']') --nesting;
  }
  if (!word.empty()) names.push_back(word);
  return names;
}

}  // namespace

Network karate_club() {
  static constexpr std::array<std::pair<int, int>, 78> edges{{
      {1, 2},   {1, 3},   {2, 3},   {1, 4},   {2, 4},   {3, 4},   {1, 5},   {1, 6},   {1, 7},
      {5, 7},   {6, 7},   {1, 8},   {2, 8},   {3, 8},   {4, 8},   {1, 9},   {3, 9},   {3, 10},
      {1, 11},  {5, 11},  {6, 11},  {1, 12},  {1, 13},  {4, 13},  {1, 14},  {2, 14},  {3, 14},
      {4, 14},  {6, 17},  {7, 17},  {1, 18},  {2, 18},  {1, 20},  {2, 20},  {1, 22},  {2, 22},
      {24, 26}, {25, 26}, {3, 28},  {24, 28}, {25, 28}, {3, 29},  {24, 30}, {27, 30}, {2, 31},
      {9, 31},  {1, 32},  {25, 32}, {26, 32}, {29, 32}, {3, 33},  {9, 33},  {15, 33}, {16, 33},
      {19, 33}, {21, 33}, {23, 33}, {24, 33}, {30, 33}, {31, 33}, {32, 33}, {9, 34},  {10, 34},
      {14, 34}, {15, 34}, {16, 34}, {19, 34}, {20, 34}, {21, 34}, {23, 34}, {24, 34}, {27, 34},
      {28, 34}, {29, 34}, {30, 34}, {31, 34}, {32, 34}, {33, 34},
  }};
  Network n{"Zachary's karate club", 34, {}};
  for (const auto& [u, v] : edges) n.edges.emplace_back(u - 1, v - 1);
  normalise(n);
  return n;
}

Network package_dependencies(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw gnomon::FileError("triangles: cannot read " + path);
  std::map<std::string, std::int32_t> index;
  std::vector<std::pair<std::int32_t, std::string>> wanted;
  std::string line, field;
  std::int32_t package = -1;
  Network n{"package dependencies of this machine", 0, {}};
  while (std::getline(file, line)) {
    if (line.empty()) {
      package = -1;
      continue;
    }
    const std::size_t colon = line.find(':');
    if (line[0] == ' ' || colon == std::string::npos) continue;
    field = line.substr(0, colon);
    const std::string value = line.substr(colon + 1);
    if (field == "Package") {
      const auto names = package_names(value);
      if (names.empty()) continue;
      package = index.try_emplace(names[0], static_cast<std::int32_t>(index.size())).first->second;
    } else if (package >= 0 && (field == "Depends" || field == "Pre-Depends")) {
      for (std::string& name : package_names(value)) wanted.emplace_back(package, std::move(name));
    }
  }
  for (const auto& [from, name] : wanted)
    if (const auto to = index.find(name); to != index.end()) n.edges.emplace_back(from, to->second);
  n.nodes = static_cast<std::int32_t>(index.size());
  normalise(n);
  return n;
}

Network read_edges(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw gnomon::FileError("triangles: cannot read " + path);
  Network n{path, 0, {}};
  std::string line;
  std::size_t number = 0;
  const bool matrix_market = file.peek() == '%' && std::getline(file, line) && ++number > 0 &&
                             line.rfind("%%MatrixMarket", 0) == 0;
  if (matrix_market) {
    if (line.find("matrix coordinate") == std::string::npos)
      malformed(path, number, "only `matrix coordinate` files hold a graph, not \"" + line + "\"");
    std::int64_t rows = -1, entries = 0, seen = 0;
    while (std::getline(file, line)) {
      ++number;
      if (line.empty() || line[0] == '%') continue;
      if (rows < 0) {
        std::string_view rest = line;
        const auto r = next_number(rest), c = next_number(rest), e = next_number(rest);
        if (!r || !c || !e)
          malformed(path, number, "the size line needs rows, columns and entries");
        if (*r != *c)
          malformed(path, number,
                    "an adjacency matrix is square, this one is " +
                        std::to_string(static_cast<std::int64_t>(*r)) + " by " +
                        std::to_string(static_cast<std::int64_t>(*c)));
        rows = static_cast<std::int64_t>(*r);
        entries = static_cast<std::int64_t>(*e);
        continue;
      }
      const auto [u, v] = node_pair(line, path, number, 1);
      if (u > rows || v > rows)
        malformed(path, number,
                  "node " + std::to_string(std::max(u, v)) + " of a matrix with " +
                      std::to_string(rows) + " rows");
      n.edges.emplace_back(static_cast<std::int32_t>(u - 1), static_cast<std::int32_t>(v - 1));
      ++seen;
    }
    if (seen != entries)
      malformed(path, number,
                std::to_string(entries) + " entries announced, " + std::to_string(seen) + " found");
    n.nodes = static_cast<std::int32_t>(std::max<std::int64_t>(rows, 0));
  } else {
    // Node numbers of an edge list may be sparse: they are renumbered in increasing order.
    std::vector<std::pair<std::int64_t, std::int64_t>> raw;
    std::vector<std::int64_t> names;
    do {
      if (number == 0 && !std::getline(file, line)) break;
      if (number == 0) number = 1;
      const std::size_t first = line.find_first_not_of(" \t\r");
      if (first == std::string::npos || line[first] == '#' || line[first] == '%') continue;
      raw.push_back(node_pair(line, path, number, 0));
      names.push_back(raw.back().first);
      names.push_back(raw.back().second);
    } while (std::getline(file, line) && ++number > 0);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    const auto renumbered = [&](std::int64_t v) {
      return static_cast<std::int32_t>(std::lower_bound(names.begin(), names.end(), v) -
                                       names.begin());
    };
    for (const auto& [u, v] : raw) n.edges.emplace_back(renumbered(u), renumbered(v));
    n.nodes = static_cast<std::int32_t>(names.size());
  }
  normalise(n);
  if (n.edges.empty()) throw gnomon::FileError("triangles: " + path + " holds no edge");
  return n;
}

std::int64_t count_triangles(const Network& n) {
  // Edges point from the node of lower degree to the other; each triangle is then found once, at
  // its lowest corner.
  std::vector<std::int32_t> degree(static_cast<std::size_t>(n.nodes), 0);
  for (const auto& [u, v] : n.edges) {
    ++degree[static_cast<std::size_t>(u)];
    ++degree[static_cast<std::size_t>(v)];
  }
  const auto before = [&](std::int32_t a, std::int32_t b) {
    const auto da = degree[static_cast<std::size_t>(a)], db = degree[static_cast<std::size_t>(b)];
    return da != db ? da < db : a < b;
  };
  std::vector<std::vector<std::int32_t>> up(static_cast<std::size_t>(n.nodes));
  for (const auto& [u, v] : n.edges)
    before(u, v) ? up[static_cast<std::size_t>(u)].push_back(v)
                 : up[static_cast<std::size_t>(v)].push_back(u);
  for (auto& list : up) std::sort(list.begin(), list.end());
  std::int64_t count = 0;
  for (const auto& list : up)
    for (std::int32_t v : list) {
      const auto& other = up[static_cast<std::size_t>(v)];
      auto a = list.begin();
      auto b = other.begin();
      while (a != list.end() && b != other.end()) {
        if (*a == *b) ++count;
        const bool step_a = *a <= *b, step_b = *b <= *a;
        a += step_a;
        b += step_b;
      }
    }
  return count;
}
