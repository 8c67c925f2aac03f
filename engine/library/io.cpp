// engine/library/io.cpp -- files to device memory and back, arrays of trees by name.
#include "gnomon/io.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

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

/// "`a`, `b`"; the first few.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 6;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i)
    text += (i ? ", `" : "`") + names[i] + "`";
  return text +
         (names.size() > most ? " and " + std::to_string(names.size() - most) + " more" : "");
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
    else if (!name.empty() && name.back() != '.')
      name += '.';
  }
  return name;
}

std::vector<Array> load_arrays(Runtime& rt, const std::string& path,
                               const std::vector<std::pair<std::string, Aval>>& wanted,
                               const std::vector<Array>& present, const LoadOptions& options,
                               Loc loc) {
  const NamedFileArrays found = format_of("load_tree", path, loc) == Format::npz
                                    ? read_npz(path)
                                    : read_safetensors(path).arrays;
  const bool dotted = options.prefix.ends_with('.');
  const std::string prefix = options.prefix.substr(0, options.prefix.size() - (dotted ? 1 : 0));
  const std::string below = prefix.empty() ? "" : prefix + ".";
  // An array that is the whole tree has no name of its own: the prefix may be all of it.
  const bool nameless =
      !prefix.empty() && wanted.size() == 1 && wanted[0].first == name_in_file("");
  const auto fail = [&](const std::string& what) {
    throw FileError("gnomon::load_tree: " + path + " " + what +
                    (loc.line > 0 ? " (" + to_string(loc) + ")" : ""));
  };
  const auto named = [&](const std::string& name) {
    return std::find_if(found.begin(), found.end(), [&](const auto& f) { return f.first == name; });
  };
  const auto find = [&](const std::string& name) {
    const auto at = named(below + name);
    return at == found.end() && nameless ? named(prefix) : at;
  };
  // Names are compared first: what is missing and what is too much often is one renamed part.
  std::vector<std::string> missing, superfluous;
  for (const auto& [name, aval] : wanted)
    if (find(name) == found.end()) missing.push_back(nameless ? prefix : below + name);
  for (const auto& [name, a] : found) {
    const auto same = [&, &n = name](const auto& w) { return below + w.first == n; };
    if (name.starts_with(below) && std::none_of(wanted.begin(), wanted.end(), same))
      superfluous.push_back(name);
  }
  const bool lacks = !missing.empty() && !options.keep_missing;
  const bool exceeds = !superfluous.empty() && !options.ignore_others;
  if (lacks || exceeds)
    fail((lacks ? "has no " + listed(missing) + ", which the tree has" : "") +
         (lacks && exceeds ? "; it " : "") +
         (exceeds ? "has " + listed(superfluous) + ", which the tree does not have" : ""));

  // Types before arrays: nothing is loaded of a file that does not fit.
  for (const auto& [name, aval] : wanted) {
    const auto at = find(name);
    if (at != found.end() && at->second.aval != aval)
      fail("has `" + at->first + "` of type " + to_string(at->second.aval) + ", which is " +
           to_string(aval) + " in the tree");
  }
  std::vector<Array> result;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto at = find(wanted[i].first);
    result.push_back(at == found.end() ? present[i] : on_device(rt, at->second));
  }
  return result;
}

void save_arrays(const Runtime& rt, const std::string& path, const NamedArrays& arrays, Loc loc) {
  const Format format = format_of("save_tree", path, loc);
  const std::string part = path + ".part";
  std::error_code error;
  try {
    if (format == Format::npz)
      save_npz(rt, part, arrays);
    else
      save_safetensors(rt, part, arrays);
  } catch (...) {
    if (std::filesystem::is_regular_file(part, error)) std::filesystem::remove(part, error);
    throw;
  }
  std::filesystem::rename(part, path, error);
  if (error) {
    const std::string why = error.message();
    std::filesystem::remove(part, error);
    throw FileError("gnomon::save_tree: " + path + " cannot be replaced: " + why);
  }
}

}  // namespace detail
}  // namespace gnomon::io
