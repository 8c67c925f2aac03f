// engine/library/io.cpp -- files to device memory and back, arrays of trees by name.
#include "gnomon/io.h"

#include <algorithm>

namespace gnomon::io {
namespace {

Array on_device(Runtime& rt, const FileArray& a) { return rt.from_bytes(a.aval, a.bytes); }

FileArray on_host(const Runtime& rt, const Array& a) {
  FileArray r{a.aval(), {}};
  r.bytes.resize(static_cast<std::size_t>(a.size()) * size_of(a.dtype()));
  rt.to_bytes(a, r.bytes);
  return r;
}

NamedArrays on_device(Runtime& rt, const NamedFileArrays& arrays) {
  NamedArrays r;
  for (const auto& [name, a] : arrays) r.emplace_back(name, on_device(rt, a));
  return r;
}

NamedFileArrays on_host(const Runtime& rt, const NamedArrays& arrays) {
  NamedFileArrays r;
  for (const auto& [name, a] : arrays) r.emplace_back(name, on_host(rt, a));
  return r;
}

enum class Format : std::uint8_t { npz, safetensors };
Format format_of(std::string_view op, const std::string& path, Loc loc) {
  if (path.ends_with(".npz")) return Format::npz;
  if (path.ends_with(".safetensors")) return Format::safetensors;
  usage_error(op, path + " ends in neither .safetensors nor .npz; the end says how it is written",
              loc);
}

}  // namespace

Array load_npy(Runtime& rt, const std::string& path) { return on_device(rt, read_npy(path)); }
void save_npy(const Runtime& rt, const std::string& path, const Array& a) {
  write_npy(path, on_host(rt, a));
}
NamedArrays load_npz(Runtime& rt, const std::string& path) { return on_device(rt, read_npz(path)); }
void save_npz(const Runtime& rt, const std::string& path, const NamedArrays& arrays) {
  write_npz(path, on_host(rt, arrays));
}
NamedArrays load_safetensors(Runtime& rt, const std::string& path) {
  return on_device(rt, read_safetensors(path).arrays);
}
void save_safetensors(const Runtime& rt, const std::string& path, const NamedArrays& arrays) {
  write_safetensors(path, {on_host(rt, arrays), {}});
}

namespace detail {

std::string name_in_file(std::string_view path) {
  if (path.empty()) return "arr_0";
  std::string name;
  for (char c : path) {
    if (c == ']') continue;
    const bool joint = c == '.' || c == '[';
    if (!joint)
      name += c;
    else if (!name.empty())
      name += '.';
  }
  return name;
}

std::vector<Array> load_arrays(Runtime& rt, const std::string& path,
                               const std::vector<std::pair<std::string, Aval>>& wanted, Loc loc) {
  const NamedFileArrays found = format_of("load_tree", path, loc) == Format::npz
                                    ? read_npz(path)
                                    : read_safetensors(path).arrays;
  const auto fail = [&](const std::string& what) {
    throw FileError("gnomon::load_tree: " + path + " " + what +
                    (loc.line > 0 ? " (" + to_string(loc) + ")" : ""));
  };
  for (const auto& [name, a] : found) {
    const auto same = [&n = name](const auto& w) { return w.first == n; };
    if (std::none_of(wanted.begin(), wanted.end(), same))
      fail("has `" + name + "`, which the tree does not have");
  }
  std::vector<const FileArray*> arrays;
  for (const auto& [name, aval] : wanted) {
    const auto at = std::find_if(found.begin(), found.end(),
                                 [&n = name](const auto& f) { return f.first == n; });
    if (at == found.end()) fail("has no `" + name + "`, which the tree has");
    if (at->second.aval != aval)
      fail("has `" + name + "` of type " + to_string(at->second.aval) + ", which is " +
           to_string(aval) + " in the tree");
    arrays.push_back(&at->second);
  }
  std::vector<Array> result;
  for (const FileArray* a : arrays) result.push_back(on_device(rt, *a));
  return result;
}

void save_arrays(const Runtime& rt, const std::string& path, const NamedArrays& arrays, Loc loc) {
  if (format_of("save_tree", path, loc) == Format::npz)
    save_npz(rt, path, arrays);
  else
    save_safetensors(rt, path, arrays);
}

}  // namespace detail
}  // namespace gnomon::io
