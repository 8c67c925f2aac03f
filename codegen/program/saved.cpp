// codegen/program/saved.cpp -- saved functions to FlatBuffers and back, and what fits a device.
#include "codegen/program/saved.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include "codegen/program/program_tables.h"
#include "gnomon/detail/reflect.h"
#include "gnomon/error.h"
#include "shaders/support/check.h"

namespace gnomon {
namespace {

using namespace tables;

// ---- the head

struct Head {
  std::array<char, 8> magic{};
  std::uint32_t version = saved_version;
  std::uint32_t reserved = 0;
  std::uint64_t length = 0;
  Sha256 digest{};
};
static_assert(sizeof(Head) == 56 && std::is_trivially_copyable_v<Head>);

Head head_of(std::span<const std::byte> bytes) {
  Head head;
  if (bytes.size() < sizeof head) damaged("it has " + std::to_string(bytes.size()) + " bytes");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (std::string_view(head.magic.data(), head.magic.size()) != saved_magic)
    damaged("it does not begin as a file of programs does");
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
                                            &spirv::Features::denorm_preserve_f64,
                                            &spirv::Features::as_specified};
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
                                      "subnormals kept in f64",
                                      ""};
static_assert(std::size(flags) == std::size(flag_names));
// All but `version` and `reads_together`, which are no flags.
static_assert(std::size(flags) + 2 == reflect::field_count<spirv::Features>());

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
  return r;
}

// ---- what lies around programs

void check(const Aval& a) {
  if (a.dtype > DType::f64) damaged("an array has no such dtype");
  std::uint64_t bytes = size_of(a.dtype);
  for (const Dim d : a.shape) {
    if (d < 0) damaged("an array has a negative dimension");
    const auto size = std::max<std::uint64_t>(static_cast<std::uint64_t>(d), 1);
    if (bytes > (std::uint64_t{1} << 62) / size) damaged("an array is too large");
    bytes *= size;
  }
}

Aval checked(const file::Aval* a) {
  const Aval result = tables::read(*a);
  check(result);
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
    r.statics =
        read_each(e->statics(), [](const file::Static* s) { return tables::read(s->text()); });
    r.captures = read_each(e->captures(), [](const file::Capture* c) {
      return SavedCapture{checked(c->aval()), read_bytes(c->bytes())};
    });
    r.records = read_each(e->records(), checked);
    r.effects.arrays = r.records.size();
    r.effects.statements =
        read_each(e->statements(), [&](const file::Statement* s) { return statement(*s); });
    r.variants = read_each(e->variants(), [](const file::Variant* v) {
      return SavedVariant{read(*v->target()), tables::read(*v->file())};
    });
    return r;
  }

 private:
  static SavedLeaf leaf(const file::Leaf* l) {
    return {tables::read(l->path()), checked(l->aval())};
  }

  Statement statement(const file::Statement& s) {
    Statement r;
    if (s.kind() > static_cast<std::uint8_t>(Statement::Kind::error_if))
      damaged("a statement is of no known kind");
    r.kind = static_cast<Statement::Kind>(s.kind());
    r.text = tables::read(s.text());
    Budget::take(1, sizeof(std::string));
    r.loc = {files_->emplace_back(tables::read(s.file())).c_str(), s.line()};
    for (const std::int64_t lane : read_numbers(s.lanes())) r.lanes.push_back(lane);
    r.values = read_each(s.values(), checked);
    r.time = read_each(s.time(), [](const file::TimePart* t) {
      return TimePart{static_cast<TimePart::Kind>(t->kind()), t->value()};
    });
    r.loops = s.loops();
    r.rows = s.rows();
    r.first = s.first();
    r.count = s.count();
    return r;
  }

  std::shared_ptr<std::deque<std::string>> files_ = std::make_shared<std::deque<std::string>>();

 public:
  const std::shared_ptr<std::deque<std::string>>& files() const { return files_; }
};

}  // namespace

std::vector<std::byte> to_bytes(const SavedFile& saved) {
  const auto bad = complaint(saved);
  GNOMON_CHECK(!bad, "saved functions: " + bad.value_or(""));
  fb::FlatBufferBuilder b(1 << 16);
  const auto leaf = [&](const SavedLeaf& l) {
    const auto path = b.CreateString(l.path);
    return file::CreateLeaf(b, path, tables::write(b, l.aval));
  };
  const auto entries = write_each(b, saved.entries, [&](const SavedEntry& e) {
    const auto arguments = write_each(b, e.arguments, leaf);
    const auto results = write_each(b, e.results, leaf);
    const auto statics = write_each(b, e.statics, [&](const std::string& text) {
      return file::CreateStatic(b, b.CreateString(text));
    });
    const auto captures = write_each(b, e.captures, [&](const SavedCapture& c) {
      const auto bytes =
          b.CreateVector(reinterpret_cast<const std::uint8_t*>(c.bytes.data()), c.bytes.size());
      return file::CreateCapture(b, tables::write(b, c.aval), bytes);
    });
    const auto statements =
        write_each(b, e.effects.statements, [&](const Statement& s) { return write(b, s); });
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
  Head head;
  std::ranges::copy(saved_magic, head.magic.begin());
  head.length = body.size();
  std::vector<std::byte> bytes(sizeof head + body.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, body.data(), body.size());
  seal(bytes);
  return bytes;
}

Sha256 saved_digest(std::span<const std::byte> bytes) { return head_of(bytes).digest; }

void seal(std::span<std::byte> bytes) {
  const Sha256 digest = sha256(bytes.subspan(sizeof(Head)));
  std::memcpy(bytes.data() + offsetof(Head, digest), digest.data(), digest.size());
}

SavedFile saved_file(std::span<const std::byte> bytes) {
  const Head head = head_of(bytes);
  const auto body = bytes.subspan(sizeof head);
  if (head.length != body.size())
    damaged("it has " + std::to_string(body.size()) + " bytes behind its head instead of " +
            std::to_string(head.length));
  if (sha256(body) != head.digest) damaged("it has another digest");
  const file::Saved& root = verified<file::Saved>(body, "GNMS");
  SavedFile result;
  {
    // Modules are words of the file once, and again for each kernel that shares them.
    const Budget budget(64 * body.size() + (std::uint64_t{1} << 20));
    Reader reader;
    result.entries =
        read_each(root.entries(), [&](const file::Entry* e) { return reader.entry(e); });
    result.file_names = reader.files();
  }
  if (const auto bad = complaint(result)) damaged(*bad);
  return result;
}

std::vector<std::string> needs(const Target& t) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < std::size(flags); ++i)
    if (flag_names[i][0] != 0 && t.features.*flags[i]) all.emplace_back(flag_names[i]);
  const Target least = Target::minimum();
  const auto beyond = [&](const std::string& what, std::uint64_t wants, std::uint64_t has) {
    if (wants > has) all.push_back(what + " of " + std::to_string(wants));
  };
  if (t.features.version > least.features.version)
    all.push_back("SPIR-V " + std::to_string(t.features.version >> 16) + "." +
                  std::to_string(t.features.version >> 8 & 0xff));
  beyond("subgroups", t.features.reads_together, 0);
  beyond("workgroups", t.max_group_invocations, least.max_group_invocations);
  beyond("grids", t.max_groups, least.max_groups);
  beyond("shared memory", t.max_shared_bytes, least.max_shared_bytes);
  if (t.texel_reads) {
    all.emplace_back("reads of texels");
    beyond("texel buffers", t.max_texel_elements, least.max_texel_elements);
  }
  if (t.loop_budget == 0) all.emplace_back("loops of any length in a shader");
  if (!t.refine.division || !t.refine.root)
    all.emplace_back("quotients and roots that are rounded correctly");
  return all;
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
