// codegen/program/program_file.cpp -- programs to FlatBuffers and back.
#include "codegen/program/program_file.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "codegen/program/program_tables.h"
#include "gnomon/checksum.h"
#include "gnomon/error.h"
#include "shaders/support/check.h"

namespace gnomon {
namespace {

using namespace tables;

// ---- to bytes

class Writer {
 public:
  explicit Writer(fb::FlatBufferBuilder& builder) : b_(builder) {}

  static file::Place place(const Place& p) {
    return {p.offset, p.index, static_cast<std::uint8_t>(p.kind)};
  }

  fb::Offset<fb::Vector<const file::Place*>> places(const std::vector<Place>& list) {
    std::vector<file::Place> all;
    for (const Place& p : list) all.push_back(place(p));
    return b_.CreateVectorOfStructs(all);
  }

  fb::Offset<file::Kernel> kernel(const kernel::Kernel& k) {
    const auto buffers = write_each(b_, k.buffers, [&](const kernel::Buffer& x) {
      return file::CreateBufferDirect(b_, x.name.c_str(), static_cast<std::uint8_t>(x.dtype),
                                      static_cast<std::uint8_t>(x.access), x.coherent, x.texel);
    });
    return file::CreateKernel(b_, b_.CreateString(k.name), k.group_size, k.parameters, buffers);
  }

  fb::Offset<file::Step> step(const Step& s) {
    std::vector<file::IterationWord> iterations;
    for (const IterationWord& w : s.iterations) iterations.emplace_back(w.word, w.loop);
    const file::Place counts = place(s.counts.value_or(Place{}));
    return file::CreateStep(b_, b_.CreateString(s.label), static_cast<std::uint8_t>(s.kind),
                            s.kernel, s.groups, places(s.operands), b_.CreateVector(s.parameters),
                            b_.CreateVectorOfStructs(iterations), s.bytes,
                            s.counts ? &counts : nullptr, s.barrier_before);
  }

  fb::Offset<file::LoopBlock> loop(const Program& p, const LoopBlock& l) {
    const auto advance = l.advance ? step(p.advances[*l.advance]) : fb::Offset<file::Step>();
    return file::CreateLoopBlockDirect(b_, l.first, l.end, &l.phases, l.trips, advance, l.steps,
                                       l.most_steps, &l.results);
  }

  fb::Offset<file::GatedBlock> gated(const GatedBlock& g) {
    fb::Offset<file::Slices> slices;
    if (g.slices) {
      const file::Place steps = place(g.slices->steps);
      slices = file::CreateSlices(b_, &steps, g.slices->first, g.slices->most, g.slices->per_pass);
    }
    const file::Place done = place(g.done);
    const file::Place iterations = place(g.iterations.value_or(Place{}));
    return file::CreateGatedBlockDirect(b_, g.first, g.end, &done, g.most_passes,
                                        g.iterations ? &iterations : nullptr, slices, g.steps,
                                        g.most_steps, g.all_steps, &g.results);
  }

  fb::Offset<file::Program> program(const Program& p) {
    const auto inputs = write_each(b_, p.inputs, [&](const Aval& a) { return write(b_, a); });
    const auto outputs = write_each(b_, p.outputs, [&](const Aval& a) { return write(b_, a); });
    const auto kernels =
        write_each(b_, p.kernels, [&](const kernel::Kernel& k) { return kernel(k); });
    const auto steps = write_each(b_, p.steps, [&](const Step& s) { return step(s); });
    const auto loops = write_each(b_, p.loops, [&](const LoopBlock& l) { return loop(p, l); });
    const auto blocks = write_each(b_, p.gated, [&](const GatedBlock& g) { return gated(g); });
    std::vector<file::TripRecord> trips;
    for (const TripRecord& t : p.trips) trips.emplace_back(place(t.place), t.lanes, t.together);
    const auto trip_records = b_.CreateVectorOfStructs(trips);
    const auto allocations = write_each(b_, p.allocations, [&](const Allocation& a) {
      return file::CreateAllocation(b_, b_.CreateString(a.name),
                                    b_.CreateSharedString(a.where.file), a.where.line, a.offset,
                                    a.bytes, a.first_step, a.last_step);
    });
    const auto constants = b_.CreateVector(
        reinterpret_cast<const std::uint8_t*>(p.constants.data()), p.constants.size());
    return file::CreateProgram(b_, b_.CreateString(p.name), inputs, outputs, kernels, steps, loops,
                               blocks, trip_records, p.arena_bytes, allocations, constants,
                               p.graph_hash);
  }

 private:
  fb::FlatBufferBuilder& b_;
};

std::uint64_t checksum_of(std::span<const std::uint32_t> words) {
  return checksum(std::as_bytes(words));
}

// ---- from bytes. The verifier has bounded every offset; what may be absent is a null pointer.

Place place(const file::Place& p) {
  return {static_cast<Place::Kind>(p.kind()), p.index(), p.offset()};
}

std::optional<Place> place(const file::Place* p) {
  return p == nullptr ? std::nullopt : std::optional(place(*p));
}

kernel::Kernel kernel_of(const file::Kernel* k) {
  kernel::Kernel result;
  result.name = read(k->name());
  result.group_size = k->group_size();
  result.parameters = k->parameters();
  result.buffers = read_each(k->buffers(), [](const file::Buffer* x) {
    return kernel::Buffer{static_cast<DType>(x->dtype()), static_cast<kernel::Access>(x->access()),
                          x->coherent(), x->texel(), read(x->name())};
  });
  return result;
}

Step step(const file::Step* s) {
  Step result;
  result.kind = static_cast<Step::Kind>(s->kind());
  result.kernel = s->kernel();
  result.groups = s->groups();
  result.operands = read_each(s->operands(), [](const file::Place* p) { return place(*p); });
  result.parameters = read_numbers(s->parameters());
  result.iterations = read_each(s->iterations(), [](const file::IterationWord* w) {
    return IterationWord{w->word(), w->loop()};
  });
  result.bytes = s->bytes();
  result.counts = place(s->counts());
  result.barrier_before = s->barrier_before();
  result.label = read(s->label());
  return result;
}

LoopBlock loop(const file::LoopBlock* l, std::vector<Step>& advances) {
  LoopBlock result;
  result.first = l->first();
  result.end = l->end();
  result.phases = read_numbers(l->phases());
  result.trips = l->trips();
  if (l->advance() != nullptr) {
    result.advance = static_cast<std::uint32_t>(advances.size());
    advances.push_back(step(l->advance()));
  }
  result.steps = l->steps();
  result.most_steps = l->most_steps();
  result.results = read_numbers(l->results());
  return result;
}

GatedBlock gated(const file::GatedBlock* g) {
  GatedBlock result;
  result.first = g->first();
  result.end = g->end();
  result.done = place(*g->done());
  result.most_passes = g->most_passes();
  result.iterations = place(g->iterations());
  if (const file::Slices* s = g->slices())
    result.slices = Slices{place(*s->steps()), s->first(), s->most(), s->per_pass()};
  result.steps = g->steps();
  result.most_steps = g->most_steps();
  result.all_steps = g->all_steps();
  result.results = read_numbers(g->results());
  return result;
}

Program program(const file::Program& p) {
  Program result;
  result.name = read(p.name());
  result.inputs = read_each(p.inputs(), [](const file::Aval* a) { return read(*a); });
  result.outputs = read_each(p.outputs(), [](const file::Aval* a) { return read(*a); });
  result.kernels = read_each(p.kernels(), kernel_of);
  result.steps = read_each(p.steps(), step);
  result.loops =
      read_each(p.loops(), [&](const file::LoopBlock* l) { return loop(l, result.advances); });
  result.gated = read_each(p.gated(), gated);
  result.trips = read_each(p.trips(), [](const file::TripRecord* t) {
    return TripRecord{place(t->place()), t->lanes(), t->together()};
  });
  result.arena_bytes = p.arena_bytes();
  auto files = std::make_shared<std::deque<std::string>>();
  std::map<std::string, const char*> known;
  result.allocations = read_each(p.allocations(), [&](const file::Allocation* a) {
    const auto [file, fresh] = known.try_emplace(read(a->file()));
    if (fresh) file->second = files->emplace_back(file->first).c_str();
    return Allocation{read(a->name()), Loc{file->second, a->line()},
                      a->offset(),     a->bytes(),
                      a->first_step(), a->last_step()};
  });
  result.file_names = std::move(files);
  result.constants = read_bytes(p.constants());
  result.graph_hash = p.graph_hash();
  return result;
}

// Header and instruction lengths: what a driver walks along before it looks at anything else.
void check_words(std::span<const std::uint32_t> words, std::uint64_t sum) {
  constexpr std::uint32_t magic = 0x07230203;
  if (words.size() < 5 || words[0] != magic || words[3] == 0 || words[4] != 0)
    damaged("a module has no SPIR-V header");
  for (std::size_t at = 5; at < words.size();) {
    const std::size_t length = words[at] >> 16;
    if (length == 0 || length > words.size() - at) damaged("a module ends in an instruction");
    at += length;
  }
  if (checksum_of(words) != sum) damaged("a module has another checksum");
}

}  // namespace

namespace tables {

Budget*& Budget::current() {
  thread_local Budget* reading = nullptr;
  return reading;
}

void damaged(const std::string& what) {
  throw FileError("gnomon::program_file: the file is damaged: " + what + "; compile it again");
}

fb::Offset<file::Aval> write(fb::FlatBufferBuilder& b, const Aval& a) {
  const std::vector<std::int64_t> shape(a.shape.begin(), a.shape.end());
  return file::CreateAvalDirect(b, static_cast<std::uint8_t>(a.dtype), &shape);
}

Aval read(const file::Aval& a) {
  Aval result;
  result.dtype = static_cast<DType>(a.dtype());
  const auto dims = read_numbers(a.shape());
  if (dims.size() > Shape::max_rank)
    damaged("an array has " + std::to_string(dims.size()) + " axes");
  for (const std::int64_t d : dims) result.shape.append(d);
  return result;
}

std::vector<std::byte> read_bytes(const fb::Vector<std::uint8_t>* list) {
  if (list == nullptr) return {};
  Budget::take(list->size(), 1);
  const auto bytes = std::as_bytes(std::span(list->data(), list->size()));
  return {bytes.begin(), bytes.end()};
}

fb::Offset<file::ProgramFile> write(fb::FlatBufferBuilder& b, const ProgramFile& f) {
  const auto bad = complaint(f.program);
  GNOMON_CHECK(!bad, "program `" + f.program.name + "`: " + bad.value_or(""));
  Writer w(b);
  std::vector<const ProgramModule*> distinct;
  std::vector<fb::Offset<file::Module>> modules;
  std::vector<fb::Offset<file::Use>> uses;
  for (const ProgramModule& m : f.modules) {
    auto at = std::ranges::find_if(distinct, [&](const ProgramModule* other) {
      return other->words == m.words && other->driver_data == m.driver_data;
    });
    if (at == distinct.end()) {
      const auto words = b.CreateVector(m.words);
      const auto data = b.CreateVector(reinterpret_cast<const std::uint8_t*>(m.driver_data.data()),
                                       m.driver_data.size());
      modules.push_back(file::CreateModule(b, words, checksum_of(m.words), data));
      at = distinct.insert(at, &m);
    }
    const auto which = static_cast<std::uint32_t>(at - distinct.begin());
    uses.push_back(file::CreateUseDirect(b, m.kernel, &m.windows, which, m.joined_rows));
  }
  const auto program_table = w.program(f.program);
  const auto module_list = b.CreateVector(modules);
  const auto use_list = b.CreateVector(uses);
  return file::CreateProgramFile(b, b.CreateString(f.identity), f.lines, program_table, module_list,
                                 use_list);
}

ProgramFile read(const file::ProgramFile& root) {
  ProgramFile result;
  result.identity = read(root.identity());
  result.lines = root.lines();
  result.program = program(*root.program());
  if (const auto bad = complaint(result.program)) damaged(*bad);

  const std::size_t modules = root.modules() == nullptr ? 0 : root.modules()->size();
  std::vector<bool> checked(modules);
  result.modules = read_each(root.uses(), [&](const file::Use* use) {
    ProgramModule m;
    m.kernel = use->kernel();
    m.windows = read_numbers(use->windows());
    m.joined_rows = use->joined_rows();
    // Behind the program's kernels stand two that copy, one of the program and one of the engine.
    const auto& kernels = result.program.kernels;
    const bool own = m.kernel < kernels.size();
    if (m.kernel >= kernels.size() + 2 || use->which() >= modules ||
        m.windows.size() != (own ? kernels[m.kernel].buffers.size() : 2))
      damaged("a module belongs to no kernel");
    const file::Module& module = *root.modules()->Get(use->which());
    m.words = read_numbers(module.words());
    if (!checked[use->which()]) check_words(m.words, module.checksum());
    checked[use->which()] = true;
    m.driver_data = read_bytes(module.driver_data());
    return m;
  });
  return result;
}

}  // namespace tables

std::vector<std::byte> to_bytes(const ProgramFile& f) {
  fb::FlatBufferBuilder b(1 << 16);
  b.Finish(write(b, f), file::ProgramFileIdentifier());
  const auto bytes = std::as_bytes(std::span(b.GetBufferPointer(), b.GetSize()));
  return {bytes.begin(), bytes.end()};
}

ProgramFile program_file(std::span<const std::byte> bytes) {
  return read(verified<file::ProgramFile>(bytes, file::ProgramFileIdentifier()));
}

}  // namespace gnomon
