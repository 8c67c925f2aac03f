// engine/command/files.cpp -- telling files apart, and arrays by their files' names.
#include "engine/command/files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "codegen/base/array_text.h"
#include "codegen/graph/text.h"
#include "codegen/graph/verify.h"
#include "codegen/program/saved.h"
#include "engine/command/npy.h"
#include "gnomon/error.h"
#include "gnomon/io.h"
#include "gnomon/paths.h"

namespace gnomon {
namespace {

// Control characters beside white space, which no text of a graph has.
bool is_binary(std::string_view text) {
  return std::ranges::any_of(text, [](const char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && std::isspace(byte) == 0;
  });
}

}  // namespace

bool holds_programs(const std::string& path) {
  // Some platforms open a folder as a file without bytes.
  std::error_code error;
  if (std::filesystem::is_directory(path_of(path), error))
    throw FileError("gnomon: " + path +
                    " is a folder; give the text of a graph, or a program file that `gnomon "
                    "compile` or aot::save wrote");
  std::ifstream in(path_of(path), std::ios::binary);
  char begin[saved_magic.size()] = {};
  if (!in) throw FileError("gnomon: " + path + " cannot be read; check the path");
  in.read(begin, sizeof begin);
  return std::string_view(begin, static_cast<std::size_t>(in.gcount())) == saved_magic;
}

Graph read_graph(const std::string& path) {
  std::ifstream in(path_of(path));
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw FileError("gnomon: " + path + " cannot be read; check the path");
  try {
    Graph g = canonicalize(parse_graph(text.str()));
    verify(g, "read_graph");
    return g;
  } catch (const ParseError& e) {
    if (is_binary(text.str()))
      throw FileError("gnomon: " + path +
                      " is neither the text of a graph nor a program file; give one of these, and "
                      "arrays by --in");
    throw FileError(path + ":" + std::to_string(e.line) + ":" + std::to_string(e.column) + ": " +
                    e.what());
  }
}

Inputs read_inputs(const std::vector<std::string>& paths) {
  Inputs inputs;
  for (const std::string& path : paths) {
    if (!path.ends_with(".npz")) {
      inputs.arrays.push_back(read_npy(path));
      inputs.names.push_back(path);
      continue;
    }
    for (auto& [name, a] : io::read_npz(path)) {
      inputs.arrays.emplace_back();
      inputs.arrays.back().aval = a.aval;
      inputs.arrays.back().bytes = std::move(a.bytes);
      inputs.names.push_back(path + ": " + name);
    }
  }
  return inputs;
}

void check_inputs(const Inputs& inputs, const std::vector<Aval>& wanted,
                  const std::vector<std::string>& names, const std::string& whose) {
  std::string list;
  for (const Aval& a : wanted) list += (list.empty() ? "" : " ") + to_string(a);
  if (inputs.arrays.size() != wanted.size())
    throw UsageError("gnomon run: " + whose + " takes " + std::to_string(wanted.size()) +
                     " arrays (" + list + ") and --in gives " +
                     std::to_string(inputs.arrays.size()) +
                     "; give a .npy file for each, or .npz files with all of them in order");
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (inputs.arrays[i].aval != wanted[i])
      throw UsageError("gnomon run: " + names[i] + " of " + whose + " is " + to_string(wanted[i]) +
                       ", and " + inputs.names[i] + " holds " + to_string(inputs.arrays[i].aval) +
                       "; give an array of that type");
}

void write_outputs(const std::string& out, std::span<const HostArray> outputs) {
  if (out.ends_with(".npz")) {
    io::NamedFileArrays all;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      all.emplace_back(std::to_string(i), io::FileArray{outputs[i].aval, outputs[i].bytes});
    io::write_npz(out, all);
    for (const auto& [name, a] : all)
      std::cout << out << ": " << name << " " << to_string(a.aval) << "\n";
    return;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (out.empty()) {
      std::cout << to_string(outputs[i].aval) << "\n" << to_string(outputs[i]) << "\n";
    } else {
      const std::string path = out + std::to_string(i) + ".npy";
      write_npy(path, outputs[i]);
      std::cout << path << " " << to_string(outputs[i].aval) << "\n";
    }
  }
}

}  // namespace gnomon
