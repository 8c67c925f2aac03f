// engine/runtime/loaded.cpp -- reading saved functions, choosing among their targets, calling them.
#include "engine/runtime/loaded.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "engine/runtime/arguments.h"
#include "engine/runtime/statements.h"
#include "gnomon/error.h"
#include "gnomon/paths.h"

namespace gnomon::aot {
namespace detail {

using gnomon::detail::LeafRef;
using gnomon::detail::put_back;
using gnomon::detail::take_donated;

namespace {

[[noreturn]] void refuse(const std::string& what, Loc loc = {}) { usage_error("aot", what, loc); }

[[noreturn]] void refuse_unfit(const EntryInfo& info) {
  throw FileError("gnomon::aot::load: " + info.unfit + "; save it for such a device as well");
}

/// Of what does not fit the device, what the file says of it and why.
LoadedEntry load_entry(const std::shared_ptr<RuntimeState>& state, SavedEntry saved,
                       const std::string& what) {
  const std::shared_ptr<Context>& context = state->context;
  LoadedEntry entry;
  entry.state = state;
  EntryInfo& info = entry.info;
  info.name = saved.name;
  for (SavedLeaf& l : saved.arguments) info.arguments.push_back({std::move(l.path), l.aval});
  for (SavedLeaf& l : saved.results) info.results.push_back({std::move(l.path), l.aval});
  info.statics = std::move(saved.statics);
  for (const SavedVariant& v : saved.variants) info.targets.push_back(v.target.device);
  std::string reasons;
  info.chosen = static_cast<std::uint32_t>(saved.variants.size());
  for (std::uint32_t i = 0; i < saved.variants.size() && info.chosen == saved.variants.size();
       ++i) {
    if (const auto why = unfit_here(saved.variants[i], context->device))
      reasons += (reasons.empty() ? " \"" : "; \"") + info.targets[i] + "\": " + *why;
    else
      info.chosen = i;
  }
  if (info.chosen == saved.variants.size()) {
    info.unfit = what + " has nothing of `" + info.name + "` that runs on \"" +
                 context->device.description().name + "\":" + reasons;
    return entry;
  }
  SavedVariant& variant = saved.variants[info.chosen];
  entry.effects = std::move(saved.effects);
  entry.records = std::move(saved.records);
  ProgramOrigin origin;
  origin.modules = std::move(variant.file.modules);
  origin.target = variant.target;
  origin.sealed = true;
  for (const SavedCapture& c : saved.captures)
    entry.captures.push_back(on_device(context, c.aval, c.bytes, true));
  ExecutableOptions options;
  options.validate_modules = state->validate;
  entry.executable = std::make_shared<Executable>(context, std::move(variant.file.program), options,
                                                  std::move(origin));
  return entry;
}

}  // namespace

std::optional<std::string> unfit_here(const SavedVariant& variant, const vulkan::Device& device) {
  Target here = device.target();
  // Who saved it on this device and driver has asked them how they round.
  if (!variant.file.identity.empty() && variant.file.identity == device.description().identity())
    here.refine = variant.target.refine;
  return unfit(variant.target, here);
}

SavedFile examined(std::span<const std::byte> bytes, const std::string& what,
                   const LoadOptions& options) {
  try {
    const std::string digest = hex(saved_digest(bytes));
    if (!options.digest.empty() && options.digest != digest)
      throw FileError("gnomon::aot::load: " + what + " has the digest " + digest + " and " +
                      options.digest + " is expected; use the file that was saved with that");
    return saved_file(bytes);
  } catch (const FileError& e) {
    std::string_view text = e.what();
    constexpr std::string_view reader = "gnomon::program_file: the file ";
    constexpr std::string_view remedy = "; compile it again";
    if (!text.starts_with(reader)) throw;
    text.remove_prefix(reader.size());
    if (text.ends_with(remedy)) text.remove_suffix(remedy.size());
    throw FileError("gnomon::aot::load: " + what + " " + std::string(text) + "; save it again");
  }
}

std::vector<std::byte> read_file(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path_of(path), error);
  std::ifstream file;
  if (!error) file.open(path_of(path), std::ios::binary);
  if (!file.is_open())
    throw FileError("gnomon::aot::load: \"" + path + "\" cannot be read" +
                    (error ? ": " + error.message() : "") + "; check the path");
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const auto got = static_cast<std::size_t>(file.gcount());
  if (got != bytes.size())
    throw FileError("gnomon::aot::load: of the " + std::to_string(bytes.size()) + " bytes of \"" +
                    path + "\" only " + std::to_string(got) + " can be read; check the disk");
  return bytes;
}

LoadedFile::LoadedFile(std::shared_ptr<RuntimeState> state, std::span<const std::byte> bytes,
                       const std::string& what, const LoadOptions& options) {
  SavedFile saved = examined(bytes, what, options);
  digest = hex(saved_digest(bytes));
  file_names = saved.file_names;
  for (SavedEntry& e : saved.entries) {
    entries.push_back(load_entry(state, std::move(e), what));
    infos.push_back(entries.back().info);
  }
  if (!infos.empty() &&
      std::ranges::none_of(infos, [](const EntryInfo& i) { return i.unfit.empty(); }))
    refuse_unfit(infos[0]);
}

void describe(tree::detail::AnyTree tree, const std::string& place, Described& out) {
  const auto where = [&](const std::string& path) {
    return place + (path.empty() ? "" : " `" + path + "`");
  };
  const auto leaf = [&](const Array& a, const std::string& path) {
    out.leaves.push_back({where(path), a.empty() ? Aval{} : a.aval()});
    if (a.empty()) out.empty.push_back(out.leaves.back().path);
  };
  const auto value = [&](const std::string& path, const std::string& text) {
    out.statics.push_back(where(path) + " = " + text);
  };
  tree::detail::visit_arrays(tree, false, "", leaf);
  tree::detail::visit_statics(tree, "", value);
}

namespace {

/// What arguments have at one place: an array or a static value.
struct Item {
  std::string place, text;  // "argument 0 `.size`", "3"
  bool array = false;
};

std::vector<Item> items(const std::vector<Leaf>& leaves, const std::vector<std::string>& statics) {
  std::vector<Item> all;
  for (const Leaf& l : leaves) all.push_back({l.path, to_string(l.aval), true});
  for (const std::string& s : statics) {
    const std::size_t at = s.find(" = ");
    all.push_back({s.substr(0, at), at == s.npos ? "" : s.substr(at + 3), false});
  }
  return all;
}

[[noreturn]] void refuse_empty(const std::string& place, const std::string& name, Loc loc) {
  refuse(place + " of " + name +
             " is an empty Array (moved from, or never assigned); assign it before the call",
         loc);
}

// The first difference by place, not by position: one more item shifts everything behind it. Static
// values first, as arrays come and go with them.
void check_items(const std::string& name, std::vector<Item> compiled, std::vector<Item> called,
                 Loc loc) {
  const auto find = [](const std::vector<Item>& in, const std::string& place) {
    const auto at = std::ranges::find(in, place, &Item::place);
    return at == in.end() ? nullptr : &*at;
  };
  const auto differ = [&](const std::string& left, const std::string& right) {
    refuse(name + " was compiled for " + left + " and is called with " + right +
               "; call it with what was compiled, or save it for this as well",
           loc);
  };
  const auto full = [](const Item& item) { return item.place + " = " + item.text; };
  for (auto* list : {&compiled, &called})
    std::stable_partition(list->begin(), list->end(), [](const Item& item) { return !item.array; });
  for (const Item& item : compiled) {
    const Item* const now = find(called, item.place);
    if (now == nullptr) differ(full(item), "nothing there");
    if (now->text == item.text && now->array == item.array) continue;
    if (!item.array || !now->array) differ(full(item), full(*now));
    refuse(item.place + " of " + name + " was compiled as " + item.text + " and is " + now->text +
               "; a saved function keeps its types, so save it for these as well",
           loc);
  }
  for (const Item& item : called)
    if (find(compiled, item.place) == nullptr) differ("nothing at " + item.place, full(item));
  refuse(name +
             " was compiled for the same arrays and values in another order; use the same types "
             "as when it was saved",
         loc);
}

}  // namespace

void check_arguments(const LoadedEntry& entry, const Described& given, Loc loc) {
  const EntryInfo& info = entry.info;
  const std::string name = "`" + info.name + "`";
  if (!given.empty.empty()) refuse_empty(given.empty[0], name, loc);
  if (info.statics == given.statics && info.arguments == given.leaves) return;
  check_items(name, items(info.arguments, info.statics), items(given.leaves, given.statics), loc);
}

void check_results(const LoadedEntry& entry, const Described& wanted) {
  const EntryInfo& info = entry.info;
  std::size_t i = 0;
  while (i < info.results.size() && i < wanted.leaves.size() &&
         info.results[i].path == wanted.leaves[i].path)
    ++i;
  if (i == info.results.size() && i == wanted.leaves.size()) return;
  const auto text = [&](const std::vector<Leaf>& list) {
    return i < list.size() ? list[i].path : std::string("nothing more");
  };
  refuse("the signature does not fit `" + info.name + "`: it gives " +
         std::to_string(info.results.size()) + " arrays, " + text(info.results) +
         " where the type of the result has " + text(wanted.leaves) +
         "; use the type that the function returned, or std::vector<Array>");
}

void expect(const LoadedEntry& entry, const std::vector<std::string>& arguments,
            const std::vector<std::string>& results) {
  const auto compare = [&](const std::vector<Leaf>& has, const std::vector<std::string>& wanted) {
    for (std::size_t i = 0; i < std::max(has.size(), wanted.size()); ++i) {
      const std::string left =
          i < has.size() ? has[i].path + " " + to_string(has[i].aval) : "nothing more";
      const std::string right = i < wanted.size() ? wanted[i] : "nothing more";
      if (left != right)
        refuse("the file has " + left + " of `" + entry.info.name + "` where its header has " +
               right + "; use the header and the file of one compilation");
    }
  };
  compare(entry.info.arguments, arguments);
  compare(entry.info.results, results);
}

namespace {

/// Checks arguments, brings them to the device, and adds what was captured.
void complete(const LoadedEntry& entry, std::vector<Array>& arguments, Loc loc = {}) {
  const EntryInfo& info = entry.info;
  if (arguments.size() != info.arguments.size())
    refuse("`" + info.name + "` takes " + std::to_string(info.arguments.size()) +
               " arrays and is called with " + std::to_string(arguments.size()) +
               "; pass one for each array of its arguments, as the file lists them",
           loc);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].empty()) refuse_empty(info.arguments[i].path, "`" + info.name + "`", loc);
    if (belongs_to_another(arguments[i], *entry.state->context))
      refuse(another_text(info.arguments[i].path + " of `" + info.name + "`", arguments[i]), loc);
    arguments[i] = entry.state->placed(arguments[i]);
    if (arguments[i].aval() != info.arguments[i].aval)
      refuse(info.arguments[i].path + " of `" + info.name + "` was compiled as " +
                 to_string(info.arguments[i].aval) + " and is " + to_string(arguments[i].aval()) +
                 "; a saved function keeps its types, so save it for these as well",
             loc);
  }
  arguments.insert(arguments.end(), entry.captures.begin(), entry.captures.end());
}

std::vector<Array> run(const LoadedEntry& entry, std::span<Array> inputs,
                       std::span<const std::uint8_t> donated) {
  std::vector<Array> outputs;
  const auto say = [&] {
    if (entry.effects.arrays > 0)
      speak(*entry.state->context, entry.effects, entry.records, outputs, entry.state->sink());
  };
  try {
    entry.executable->run(inputs, outputs, donated, entry.state->watch());
  } catch (...) {
    // A loop that was ended has said something already.
    if (!outputs.empty()) say();
    throw;
  }
  say();
  return outputs;
}

}  // namespace

std::vector<Array> call(const LoadedEntry& entry, std::span<const LeafRef> leaves, Loc loc) {
  std::vector<Array> arguments;
  arguments.reserve(leaves.size() + entry.captures.size());
  for (const LeafRef& leaf : leaves) arguments.push_back(*leaf.array);
  complete(entry, arguments, loc);
  const std::vector<std::uint8_t> donated = take_donated(leaves);
  try {
    return run(entry, arguments, donated);
  } catch (...) {
    put_back(leaves, arguments);
    throw;
  }
}

std::vector<Array> call(const LoadedEntry& entry, std::vector<Array> arguments,
                        std::span<const std::uint8_t> donated) {
  complete(entry, arguments);
  return run(entry, arguments, donated);
}

std::shared_ptr<Executable> executable(const LoadedEntry& entry, std::vector<Array>& arguments,
                                       Loc loc) {
  if (entry.effects.arrays > 0)
    usage_error("record",
                "`" + entry.info.name +
                    "` prints or checks, which needs the host after every call; save a function "
                    "without debug::print and error_if",
                loc);
  complete(entry, arguments, loc);
  return entry.executable;
}

Profile profile(const LoadedEntry& entry, std::vector<Array> arguments) {
  complete(entry, arguments);
  return gnomon::detail::profile(*entry.executable, std::move(arguments));
}

}  // namespace detail

Programs load(Runtime& rt, const std::string& path, const LoadOptions& options) {
  return Programs(std::make_shared<const detail::LoadedFile>(rt.state(), detail::read_file(path),
                                                             "\"" + path + "\"", options));
}

Programs load(Runtime& rt, std::span<const std::byte> bytes, const LoadOptions& options) {
  const std::vector<std::byte> aligned(bytes.begin(), bytes.end());
  return Programs(
      std::make_shared<const detail::LoadedFile>(rt.state(), aligned, "a file in memory", options));
}

const std::vector<EntryInfo>& Programs::entries() const { return file_->infos; }
const std::string& Programs::digest() const { return file_->digest; }

std::size_t Programs::find(std::string_view name) const {
  const auto& infos = file_->infos;
  if (name.empty() && infos.size() == 1) return 0;
  const auto at = std::ranges::find(infos, name, &EntryInfo::name);
  if (at != infos.end()) return static_cast<std::size_t>(at - infos.begin());
  std::string names;
  for (const EntryInfo& i : infos) names += (names.empty() ? "`" : ", `") + i.name + "`";
  throw UsageError("gnomon::aot: there is no entry `" + std::string(name) + "`; the file has " +
                   (names.empty() ? "none" : names));
}

const detail::LoadedEntry& Programs::entry(std::string_view name) const {
  const detail::LoadedEntry& found = file_->entries[find(name)];
  if (!found.info.unfit.empty()) detail::refuse_unfit(found.info);
  return found;
}

std::vector<Array> Programs::call(std::string_view name, std::vector<Array> arguments) const {
  return detail::call(entry(name), std::move(arguments), {});
}

}  // namespace gnomon::aot
