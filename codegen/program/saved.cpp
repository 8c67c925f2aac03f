// codegen/program/saved.cpp -- saved functions to FlatBuffers and back, and what fits a device.
#include "codegen/program/saved.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include "codegen/program/print_format.h"
#include "codegen/program/program_tables.h"
#include "gnomon/error.h"

namespace gnomon {
namespace {

using namespace tables;

// ---- the head

struct Head {
  std::array<char, 8> magic = {'g', 'n', 'o', 'm', 'o', 'n', 'P', '\n'};
  std::uint32_t version = saved_version;
  std::uint32_t reserved = 0;
  std::uint64_t length = 0;
  std::uint64_t low = 0, high = 0;
};
static_assert(sizeof(Head) == 40 && std::is_trivially_copyable_v<Head>);

Digest digest_of(std::span<const std::byte> bytes) {
  return digest({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Head head_of(std::span<const std::byte> bytes) {
  Head head;
  if (bytes.size() < sizeof head) damaged("it has " + std::to_string(bytes.size()) + " bytes");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != Head{}.magic) damaged("it does not begin as a file of programs does");
  if (head.version != saved_version)
    damaged("its form has version " + std::to_string(head.version) + " and this reads version " +
            std::to_string(saved_version));
  if (head.reserved != 0) damaged("its head has something where nothing is");
  return head;
}

// ---- targets

// The order is that of the bits in a file.
constexpr bool spirv::Features::*flags[] = {&spirv::Features::int64,
                                            &spirv::Features::float64,
                                            &spirv::Features::int16,
                                            &spirv::Features::int8,
                                            &spirv::Features::float16,
                                            &spirv::Features::storage_16,
                                            &spirv::Features::storage_8,
                                            &spirv::Features::subgroup_basic,
                                            &spirv::Features::subgroup_arithmetic,
                                            &spirv::Features::addresses,
                                            &spirv::Features::paired_stores,
                                            &spirv::Features::signed_zero_inf_nan_preserve_f32,
                                            &spirv::Features::signed_zero_inf_nan_preserve_f64,
                                            &spirv::Features::rounding_rte_f32,
                                            &spirv::Features::rounding_rte_f64,
                                            &spirv::Features::denorm_preserve_f32,
                                            &spirv::Features::denorm_preserve_f64};
constexpr const char* flag_names[] = {"64-bit integers",
                                      "64-bit floats",
                                      "16-bit integers",
                                      "8-bit integers",
                                      "16-bit floats",
                                      "16-bit storage",
                                      "8-bit storage",
                                      "subgroups",
                                      "subgroup arithmetic",
                                      "buffer addresses",
                                      "",
                                      "NaN preserved in f32",
                                      "NaN preserved in f64",
                                      "rounding to even in f32",
                                      "rounding to even in f64",
                                      "subnormals kept in f32",
                                      "subnormals kept in f64"};
static_assert(std::size(flags) == std::size(flag_names));

fb::Offset<file::Target> write(fb::FlatBufferBuilder& b, const Target& t) {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < std::size(flags); ++i)
    bits |= static_cast<std::uint32_t>(t.features.*flags[i]) << i;
  return file::CreateTargetDirect(
      b, t.device.c_str(), t.features.version, bits, t.features.reads_together, t.max_storage_range,
      t.max_group_invocations, t.max_groups, t.max_shared_bytes, t.max_texel_elements,
      t.loop_budget, t.texel_reads, t.contiguous_per_lane, t.group_size, t.refine.division,
      t.refine.root);
}

Target read(const file::Target& t) {
  Target r;
  r.device = tables::read(t.device());
  r.features.version = t.spirv();
  if (t.features() >> std::size(flags) != 0) damaged("a target has unknown capabilities");
  for (std::size_t i = 0; i < std::size(flags); ++i) r.features.*flags[i] = t.features() >> i & 1;
  r.features.reads_together = t.reads_together();
  r.max_storage_range = t.max_storage_range();
  r.max_group_invocations = t.max_group_invocations();
  r.max_groups = t.max_groups();
  r.max_shared_bytes = t.max_shared_bytes();
  r.max_texel_elements = t.max_texel_elements();
  r.loop_budget = t.loop_budget();
  r.texel_reads = t.texel_reads();
  r.contiguous_per_lane = t.contiguous_per_lane();
  r.group_size = t.group_size();
  r.refine = {.division = t.refine_division(), .root = t.refine_root()};
  // Workgroups are laid out by these.
  if (r.group_size == 0 || r.max_groups == 0) damaged("a target has no workgroups");
  return r;
}

// ---- what lies around programs

std::uint64_t checked_bytes(const Aval& a) {
  if (a.dtype > DType::f64) damaged("an array has no such dtype");
  std::uint64_t bytes = size_of(a.dtype);
  for (const Dim d : a.shape) {
    if (d < 0) damaged("an array has a negative dimension");
    const auto size = static_cast<std::uint64_t>(d);
    if (size != 0 && bytes > (std::uint64_t{1} << 62) / size) damaged("an array is too large");
    bytes *= size;
  }
  return bytes;
}

Aval checked(const file::Aval* a) {
  const Aval result = tables::read(*a);
  checked_bytes(result);
  return result;
}

fb::Offset<file::Statement> write(fb::FlatBufferBuilder& b, const Statement& s) {
  std::vector<file::TimePart> time;
  for (const TimePart& t : s.time) time.emplace_back(t.value, static_cast<std::uint8_t>(t.kind));
  const auto text = b.CreateString(s.text);
  const auto file = b.CreateString(s.loc.file);
  const auto lanes = b.CreateVector(std::vector<std::int64_t>(s.lanes.begin(), s.lanes.end()));
  const auto values = write_each(b, s.values, [&](const Aval& a) { return tables::write(b, a); });
  return file::CreateStatement(b, static_cast<std::uint8_t>(s.kind), text, file, s.loc.line, lanes,
                               values, b.CreateVectorOfStructs(time), s.loops, s.rows, s.first,
                               s.count);
}

class Reader {
 public:
  SavedEntry entry(const file::Entry* e) {
    SavedEntry r;
    r.name = tables::read(e->name());
    r.arguments = read_each(e->arguments(), leaf);
    r.results = read_each(e->results(), leaf);
    r.statics = read_each(e->statics(), [](const fb::String* s) { return s->str(); });
    r.captures = read_each(e->captures(), [](const file::Capture* c) {
      SavedCapture capture{checked(c->aval()), read_bytes(c->bytes())};
      if (capture.bytes.size() != checked_bytes(capture.aval))
        damaged("a captured " + to_string(capture.aval) + " has " +
                std::to_string(capture.bytes.size()) + " bytes");
      return capture;
    });
    r.records = read_each(e->records(), checked);
    r.journal.arrays = r.records.size();
    r.journal.statements = read_each(
        e->statements(), [&](const file::Statement* s) { return statement(*s, r.records); });
    if (e->variants() == nullptr || e->variants()->size() == 0)
      damaged("entry `" + r.name + "` is compiled for nothing");
    r.variants = read_each(e->variants(), [&](const file::Variant* v) {
      SavedVariant variant{read(*v->target()), tables::read(*v->file())};
      check(r, variant);
      return variant;
    });
    return r;
  }

 private:
  static SavedLeaf leaf(const file::Leaf* l) {
    return {tables::read(l->path()), checked(l->aval())};
  }

  Statement statement(const file::Statement& s, const std::vector<Aval>& records) {
    Statement r;
    if (s.time() != nullptr) Budget::take(s.time()->size(), sizeof(TimePart));
    if (s.kind() > static_cast<std::uint8_t>(Statement::Kind::error_if))
      damaged("a statement is of no known kind");
    r.kind = static_cast<Statement::Kind>(s.kind());
    r.text = tables::read(s.text());
    r.loc = {files_->emplace_back(tables::read(s.file())).c_str(), s.line()};
    for (const std::int64_t lane : read_numbers(s.lanes())) r.lanes.push_back(lane);
    r.values = read_each(s.values(), checked);
    r.loops = s.loops();
    r.rows = s.rows();
    r.first = s.first();
    r.count = s.count();
    if (s.time() != nullptr)
      for (const file::TimePart* t : *s.time()) {
        const auto kind = static_cast<TimePart::Kind>(t->kind());
        const bool step = kind == TimePart::Kind::step, lane = kind == TimePart::Kind::lane;
        if (t->kind() > static_cast<std::uint8_t>(TimePart::Kind::lane) ||
            (step && (t->value() < 0 || t->value() >= static_cast<Dim>(r.loops))) ||
            (lane && (t->value() < 0 || t->value() >= static_cast<Dim>(r.lanes.size()))))
          damaged("a statement has no such place in time");
        r.time.push_back({kind, t->value()});
      }
    check(r, records);
    return r;
  }

  // Where Journal::read looks: counts in front, then values, then steps.
  static void check(const Statement& s, const std::vector<Aval>& records) {
    const bool print = s.kind == Statement::Kind::print;
    const std::uint64_t wanted = (print ? 1 + s.values.size() : 2) + std::uint64_t{s.loops};
    if (s.count != wanted || s.first > records.size() || s.count > records.size() - s.first)
      damaged("a statement has no such records");
    std::uint64_t lanes = 1;
    for (const Dim d : s.lanes) {
      if (d <= 0 || lanes > (std::uint64_t{1} << 32) / static_cast<std::uint64_t>(d))
        damaged("a statement has no such lanes");
      lanes *= static_cast<std::uint64_t>(d);
    }
    if (s.rows < 0 || s.rows > (Dim{1} << 32)) damaged("a statement has no such rows");
    const std::uint64_t kept =
        lanes * (print && s.rows > 0 ? static_cast<std::uint64_t>(s.rows) + 1 : 1);
    for (std::size_t i = 0; i < s.count; ++i) {
      const Aval& record = records[s.first + i];
      const bool value = print && i >= 1 && i <= s.values.size();
      const bool head = i == 0 || (!print && i == 1);
      const Aval one = value ? s.values[i - 1] : Aval{DType::i32, {}};
      const std::uint64_t many = head ? lanes : kept, each = checked_bytes(one);
      if (record.dtype != one.dtype || (each != 0 && checked_bytes(record) / each < many))
        damaged("a statement has records of another type");
    }
    if (print && effects::parse_format(s.text, s.loc).specs.size() != s.values.size())
      damaged("a statement prints other values than it has");
  }

  // The program takes and gives what the entry says.
  static void check(const SavedEntry& e, const SavedVariant& v) {
    const Program& p = v.file.program;
    std::vector<Aval> inputs, outputs;
    for (const SavedLeaf& l : e.arguments) inputs.push_back(l.aval);
    for (const SavedCapture& c : e.captures) inputs.push_back(c.aval);
    for (const SavedLeaf& l : e.results) outputs.push_back(l.aval);
    outputs.insert(outputs.end(), e.records.begin(), e.records.end());
    if (p.inputs != inputs || p.outputs != outputs)
      damaged("the program of entry `" + e.name + "` takes or gives other arrays than it says");
    // Nobody needs more: a file does not make its reader take what it does not use.
    std::uint64_t end = 0;
    for (const Allocation& a : p.allocations) end = std::max(end, a.offset + a.bytes);
    if (p.arena_bytes > end + 4096)
      damaged("the arena has " + std::to_string(p.arena_bytes) + " bytes, of which " +
              std::to_string(end) + " are used");
    for (const kernel::Kernel& k : p.kernels)
      if (k.group_size > v.target.max_group_invocations)
        damaged("kernel `" + k.name + "` has workgroups of " + std::to_string(k.group_size) +
                " and its target " + std::to_string(v.target.max_group_invocations));
    for (const ProgramModule& m : v.file.modules)
      for (const std::uint8_t w : m.windows)
        if (w >= spirv::max_windows) damaged("a module has no such window");
  }

  std::shared_ptr<std::deque<std::string>> files_ = std::make_shared<std::deque<std::string>>();

 public:
  const std::shared_ptr<std::deque<std::string>>& files() const { return files_; }
};

}  // namespace

std::vector<std::byte> to_bytes(const SavedFile& saved) {
  fb::FlatBufferBuilder b(1 << 16);
  const auto leaf = [&](const SavedLeaf& l) {
    const auto path = b.CreateString(l.path);
    return file::CreateLeaf(b, path, tables::write(b, l.aval));
  };
  const auto entries = write_each(b, saved.entries, [&](const SavedEntry& e) {
    const auto arguments = write_each(b, e.arguments, leaf);
    const auto results = write_each(b, e.results, leaf);
    const auto statics = b.CreateVectorOfStrings(e.statics);
    const auto captures = write_each(b, e.captures, [&](const SavedCapture& c) {
      const auto bytes =
          b.CreateVector(reinterpret_cast<const std::uint8_t*>(c.bytes.data()), c.bytes.size());
      return file::CreateCapture(b, tables::write(b, c.aval), bytes);
    });
    const auto statements =
        write_each(b, e.journal.statements, [&](const Statement& s) { return write(b, s); });
    const auto records =
        write_each(b, e.records, [&](const Aval& a) { return tables::write(b, a); });
    const auto variants = write_each(b, e.variants, [&](const SavedVariant& v) {
      const auto target = write(b, v.target);
      return file::CreateVariant(b, target, tables::write(b, v.file));
    });
    return file::CreateEntry(b, b.CreateString(e.name), arguments, results, statics, captures,
                             statements, records, variants);
  });
  b.Finish(file::CreateSaved(b, entries), "GNMS");
  const auto body = std::as_bytes(std::span(b.GetBufferPointer(), b.GetSize()));
  const Digest sum = digest_of(body);
  Head head;
  head.length = body.size();
  head.low = sum.low;
  head.high = sum.high;
  std::vector<std::byte> bytes(sizeof head + body.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, body.data(), body.size());
  return bytes;
}

Digest saved_digest(std::span<const std::byte> bytes) {
  const Head head = head_of(bytes);
  return {head.low, head.high};
}

SavedFile saved_file(std::span<const std::byte> bytes) {
  const Head head = head_of(bytes);
  const auto body = bytes.subspan(sizeof head);
  if (head.length != body.size())
    damaged("it has " + std::to_string(body.size()) + " bytes behind its head instead of " +
            std::to_string(head.length));
  if (digest_of(body) != Digest{head.low, head.high}) damaged("it has another digest");
  const file::Saved& root = verified<file::Saved>(body, "GNMS");
  // Modules are words of the file once, and again for each kernel that shares them.
  const Budget budget(64 * body.size() + (std::uint64_t{1} << 20));
  Reader reader;
  SavedFile result;
  try {
    result.entries =
        read_each(root.entries(), [&](const file::Entry* e) { return reader.entry(e); });
  } catch (const UsageError& e) {
    damaged(std::string("a statement has a text that is none: ") + e.what());
  }
  result.file_names = reader.files();
  return result;
}

std::optional<std::string> unfit(const Target& needed, const Target& device) {
  const auto sides = [](const std::string& what, std::uint64_t wants, std::uint64_t has) {
    return "it needs " + what + " of " + std::to_string(wants) + " and the device has " +
           std::to_string(has);
  };
  for (std::size_t i = 0; i < std::size(flags); ++i)
    if (flag_names[i][0] != 0 && needed.features.*flags[i] && !(device.features.*flags[i]))
      return "it needs " + std::string(flag_names[i]) + ", which the device lacks";
  if (needed.features.version > device.features.version)
    return sides("SPIR-V", needed.features.version, device.features.version);
  if (needed.features.reads_together != 0 &&
      needed.features.reads_together != device.features.reads_together)
    return sides("subgroups", needed.features.reads_together, device.features.reads_together);
  if (needed.max_group_invocations > device.max_group_invocations)
    return sides("workgroups", needed.max_group_invocations, device.max_group_invocations);
  if (needed.max_groups > device.max_groups)
    return sides("grids", needed.max_groups, device.max_groups);
  if (needed.max_shared_bytes > device.max_shared_bytes)
    return sides("shared memory", needed.max_shared_bytes, device.max_shared_bytes);
  if (needed.texel_reads && !device.texel_reads)
    return "it reads texels, which the device does not";
  if (needed.texel_reads && needed.max_texel_elements > device.max_texel_elements)
    return sides("texel buffers", needed.max_texel_elements, device.max_texel_elements);
  if (device.loop_budget != 0 &&
      (needed.loop_budget == 0 || needed.loop_budget > device.loop_budget))
    return sides("loops", needed.loop_budget, device.loop_budget);
  if ((device.refine.division && !needed.refine.division) ||
      (device.refine.root && !needed.refine.root))
    return "it trusts the device to round quotients and roots, which this one is not known to do";
  return std::nullopt;
}

}  // namespace gnomon
