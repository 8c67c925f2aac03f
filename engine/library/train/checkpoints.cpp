// engine/library/train/checkpoints.cpp -- files that are whole or not there.
#include "gnomon/train/checkpoints.h"
#include "gnomon/paths.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace gnomon::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "step_", suffix = ".safetensors";
constexpr std::size_t digits = 12;

/// The step that a file's name says.
std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  const char* const first = name.data() + prefix.size();
  const char* const last = name.data() + name.size() - suffix.size();
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(first, last, step);
  if (error != std::errc() || end != last || step < 0) return std::nullopt;
  return step;
}

std::string metadata_of(const io::Safetensors& file, std::string_view key) {
  for (const auto& [k, value] : file.metadata)
    if (k == key) return value;
  return "";
}

}  // namespace

Checkpoints::Checkpoints(std::string folder, CheckpointOptions options)
    : folder_(std::move(folder)), options_(options) {
  if (options_.keep < 1)
    usage_error("train::Checkpoints",
                "keep is " + std::to_string(options_.keep) + "; keep 1 checkpoint or more", {});
  std::error_code error;
  fs::create_directories(path_of(folder_), error);
  if (!fs::is_directory(path_of(folder_), error))
    throw FileError("gnomon::train::Checkpoints: " + folder_ + " is no folder and cannot be made");
}

std::string Checkpoints::path(std::int64_t step) const {
  std::string number = std::to_string(step);
  if (number.size() < digits) number.insert(0, digits - number.size(), '0');
  return text_of(path_of(folder_) / (std::string(prefix) + number + std::string(suffix)));
}

std::vector<std::int64_t> Checkpoints::steps() const {
  std::vector<std::int64_t> found;
  std::error_code error;
  for (fs::directory_iterator at(path_of(folder_), error), end; !error && at != end;
       at.increment(error))
    if (const auto step = step_of(text_of(at->path().filename()))) found.push_back(*step);
  std::sort(found.begin(), found.end());
  return found;
}

void Checkpoints::save_arrays(const Runtime& rt, std::int64_t step, const io::NamedArrays& arrays,
                              const std::string& run) const {
  if (step < 0)
    usage_error("train::Checkpoints::save",
                "step " + std::to_string(step) + "; steps are counted from 0", {});
  io::Safetensors file;
  for (const auto& [name, a] : arrays) {
    io::FileArray host{a.aval(), {}};
    host.bytes.resize(static_cast<std::size_t>(a.size()) * size_of(a.dtype()));
    rt.to_bytes(a, host.bytes);
    file.arrays.emplace_back(name, std::move(host));
  }
  file.metadata = {{"step", std::to_string(step)}, {"run", run}};
  const std::string whole = path(step), part = whole + ".part";
  std::error_code error;
  try {
    io::write_safetensors(part, file, {.checksum = true});
    fs::rename(path_of(part), path_of(whole), error);
    if (error)
      throw FileError("gnomon::train::Checkpoints::save: " + part + " cannot be renamed to " +
                      whole + ": " + error.message());
  } catch (...) {
    fs::remove(path_of(part), error);
    throw;
  }
  // Of those up to this step: later ones are of a run that went further.
  std::vector<std::int64_t> known = steps();
  std::erase_if(known, [&](std::int64_t s) { return s > step; });
  const auto keep = static_cast<std::size_t>(options_.keep);
  for (std::size_t i = 0; i + keep < known.size(); ++i) fs::remove(path_of(path(known[i])), error);
}

std::optional<detail::Found> Checkpoints::restore_arrays(
    Runtime& rt, const std::vector<std::pair<std::string, Aval>>& wanted, const std::string& run,
    Loc loc) const {
  detail::Found result;
  const std::vector<std::int64_t> known = steps();
  for (std::size_t i = known.size(); i-- > 0;) {
    result.path = path(known[i]);
    io::Safetensors file;
    try {
      file = io::read_safetensors(result.path, {.checksum = true});
    } catch (const FileError& e) {
      result.refused.emplace_back(e.what());
      continue;
    }
    const auto fail = [&](const std::string& what) {
      throw FileError("gnomon::train::Checkpoints::restore: " + result.path + " " + what +
                      (loc.line > 0 ? " (" + to_string(loc) + ")" : ""));
    };
    if (metadata_of(file, "step") != std::to_string(known[i]))
      fail("holds step " + metadata_of(file, "step") + "; it has been renamed");
    if (metadata_of(file, "run") != run)
      fail("is of another run: `" + metadata_of(file, "run") + "`, and this one is `" + run +
           "`; use another folder");
    if (file.arrays.size() != wanted.size())
      fail("has " + std::to_string(file.arrays.size()) + " arrays, and the tree " +
           std::to_string(wanted.size()));
    result.step = known[i];
    for (const auto& [name, aval] : wanted) {
      const auto at = std::find_if(file.arrays.begin(), file.arrays.end(),
                                   [&n = name](const auto& a) { return a.first == n; });
      if (at == file.arrays.end()) fail("has no `" + name + "`, which the tree has");
      if (at->second.aval != aval)
        fail("has `" + name + "` of type " + to_string(at->second.aval) + ", which is " +
             to_string(aval) + " in the tree");
      result.arrays.push_back(rt.from_bytes(aval, at->second.bytes));
    }
    return result;
  }
  if (result.refused.empty()) return std::nullopt;
  throw FileError(result.refused[0] + "; no checkpoint in " + folder_ + " is good");
}

}  // namespace gnomon::train
