// codegen/program/program_file.cpp -- programs to FlatBuffers and back.
#include "codegen/program/program_file.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "gnomon/checksum.h"
#include "gnomon/error.h"
#include "program_generated.h"
#include "shaders/support/check.h"

namespace gnomon {
namespace {

namespace fb = ::flatbuffers;

[[noreturn]] void damaged(const std::string& what) {
  throw FileError("gnomon::program_file: the file is damaged: " + what + "; compile it again");
}

// ---- to bytes

class Writer {
 public:
  fb::FlatBufferBuilder& builder() { return b_; }

  static file::Place place(const Place& p) {
    return {p.offset, p.index, static_cast<std::uint8_t>(p.kind)};
  }

  fb::Offset<fb::Vector<const file::Place*>> places(const std::vector<Place>& list) {
    std::vector<file::Place> all;
    for (const Place& p : list) all.push_back(place(p));
    return b_.CreateVectorOfStructs(all);
  }

  // Every element of a list by a function that gives its table.
  template <class T, class F>
  auto tables(const std::vector<T>& list, F write) {
    std::vector<decltype(write(list[0]))> all;
    for (const T& element : list) all.push_back(write(element));
    return b_.CreateVector(all);
  }

  fb::Offset<file::Aval> aval(const Aval& a) {
    const std::vector<std::int64_t> shape(a.shape.begin(), a.shape.end());
    return file::CreateAvalDirect(b_, static_cast<std::uint8_t>(a.dtype), &shape);
  }

  fb::Offset<file::Kernel> kernel(const kernel::Kernel& k) {
    const auto buffers = tables(k.buffers, [&](const kernel::Buffer& x) {
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

  fb::Offset<file::LoopBlock> loop(const LoopBlock& l) {
    const auto advance = l.advance ? step(*l.advance) : fb::Offset<file::Step>();
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
    const auto inputs = tables(p.inputs, [&](const Aval& a) { return aval(a); });
    const auto outputs = tables(p.outputs, [&](const Aval& a) { return aval(a); });
    const auto kernels = tables(p.kernels, [&](const kernel::Kernel& k) { return kernel(k); });
    const auto steps = tables(p.steps, [&](const Step& s) { return step(s); });
    const auto loops = tables(p.loops, [&](const LoopBlock& l) { return loop(l); });
    const auto blocks = tables(p.gated, [&](const GatedBlock& g) { return gated(g); });
    std::vector<file::TripRecord> trips;
    for (const TripRecord& t : p.trips) trips.emplace_back(place(t.place), t.lanes, t.together);
    const auto trip_records = b_.CreateVectorOfStructs(trips);
    const auto allocations = tables(p.allocations, [&](const Allocation& a) {
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
  fb::FlatBufferBuilder b_{1 << 16};
};

std::uint64_t checksum_of(std::span<const std::uint32_t> words) {
  return checksum(std::as_bytes(words));
}

// ---- from bytes. The verifier has bounded every offset; what may be absent is a null pointer.

std::string string_of(const fb::String* s) { return s == nullptr ? std::string() : s->str(); }

template <class T>
std::vector<T> numbers(const fb::Vector<T>* list) {
  return list == nullptr ? std::vector<T>() : std::vector<T>(list->begin(), list->end());
}

std::vector<std::byte> bytes_of(const fb::Vector<std::uint8_t>* list) {
  if (list == nullptr) return {};
  const auto bytes = std::as_bytes(std::span(list->data(), list->size()));
  return {bytes.begin(), bytes.end()};
}

template <class T, class F>
auto each(const fb::Vector<T>* list, F read) {
  std::vector<decltype(read(list->Get(0)))> result;
  if (list == nullptr) return result;
  result.reserve(list->size());
  for (const auto* element : *list) result.push_back(read(element));
  return result;
}

Place place(const file::Place& p) {
  return {static_cast<Place::Kind>(p.kind()), p.index(), p.offset()};
}

std::optional<Place> place(const file::Place* p) {
  return p == nullptr ? std::nullopt : std::optional(place(*p));
}

Aval aval(const file::Aval* a) {
  Aval result;
  result.dtype = static_cast<DType>(a->dtype());
  const auto dims = numbers(a->shape());
  if (dims.size() > Shape::max_rank)
    damaged("an array has " + std::to_string(dims.size()) + " axes");
  for (const std::int64_t d : dims) result.shape.append(d);
  return result;
}

kernel::Kernel kernel_of(const file::Kernel* k) {
  kernel::Kernel result;
  result.name = string_of(k->name());
  result.group_size = k->group_size();
  result.parameters = k->parameters();
  result.buffers = each(k->buffers(), [](const file::Buffer* x) {
    return kernel::Buffer{static_cast<DType>(x->dtype()), static_cast<kernel::Access>(x->access()),
                          x->coherent(), x->texel(), string_of(x->name())};
  });
  return result;
}

Step step(const file::Step* s) {
  Step result;
  result.kind = static_cast<Step::Kind>(s->kind());
  result.kernel = s->kernel();
  result.groups = s->groups();
  result.operands = each(s->operands(), [](const file::Place* p) { return place(*p); });
  result.parameters = numbers(s->parameters());
  result.iterations = each(s->iterations(), [](const file::IterationWord* w) {
    return IterationWord{w->word(), w->loop()};
  });
  result.bytes = s->bytes();
  result.counts = place(s->counts());
  result.barrier_before = s->barrier_before();
  result.label = string_of(s->label());
  return result;
}

LoopBlock loop(const file::LoopBlock* l) {
  LoopBlock result;
  result.first = l->first();
  result.end = l->end();
  result.phases = numbers(l->phases());
  result.trips = l->trips();
  if (l->advance() != nullptr) result.advance = step(l->advance());
  result.steps = l->steps();
  result.most_steps = l->most_steps();
  result.results = numbers(l->results());
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
  result.results = numbers(g->results());
  return result;
}

Program program(const file::Program& p) {
  Program result;
  result.name = string_of(p.name());
  result.inputs = each(p.inputs(), aval);
  result.outputs = each(p.outputs(), aval);
  result.kernels = each(p.kernels(), kernel_of);
  result.steps = each(p.steps(), step);
  result.loops = each(p.loops(), loop);
  result.gated = each(p.gated(), gated);
  result.trips = each(p.trips(), [](const file::TripRecord* t) {
    return TripRecord{place(t->place()), t->lanes(), t->together()};
  });
  result.arena_bytes = p.arena_bytes();
  auto files = std::make_shared<std::deque<std::string>>();
  std::map<std::string, const char*> known;
  result.allocations = each(p.allocations(), [&](const file::Allocation* a) {
    const auto [file, fresh] = known.try_emplace(string_of(a->file()));
    if (fresh) file->second = files->emplace_back(file->first).c_str();
    return Allocation{string_of(a->name()), Loc{file->second, a->line()},
                      a->offset(),          a->bytes(),
                      a->first_step(),      a->last_step()};
  });
  result.file_names = std::move(files);
  result.constants = bytes_of(p.constants());
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

std::vector<std::byte> to_bytes(const ProgramFile& f) {
  const auto bad = complaint(f.program);
  GNOMON_CHECK(!bad, "program `" + f.program.name + "`: " + bad.value_or(""));
  Writer w;
  fb::FlatBufferBuilder& b = w.builder();
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
    uses.push_back(file::CreateUseDirect(b, m.kernel, &m.windows, which));
  }
  const auto program_table = w.program(f.program);
  const auto module_list = b.CreateVector(modules);
  const auto use_list = b.CreateVector(uses);
  b.Finish(file::CreateProgramFile(b, b.CreateString(f.identity), f.lines, program_table,
                                   module_list, use_list),
           file::ProgramFileIdentifier());
  const auto bytes = std::as_bytes(std::span(b.GetBufferPointer(), b.GetSize()));
  return {bytes.begin(), bytes.end()};
}

ProgramFile program_file(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  // Some tables for each step; the default of a million is less than a large program may have.
  constexpr fb::uoffset_t depth = 64, most_tables = 1u << 28;
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) damaged("it is too large");
  fb::Verifier verifier(data, bytes.size(), depth, most_tables);
  if (!file::VerifyProgramFileBuffer(verifier)) damaged("an offset points outside of it");
  const file::ProgramFile& root = *file::GetProgramFile(data);
  ProgramFile result;
  result.identity = string_of(root.identity());
  result.lines = root.lines();
  result.program = program(*root.program());
  if (const auto bad = complaint(result.program)) damaged(*bad);

  const std::size_t modules = root.modules() == nullptr ? 0 : root.modules()->size();
  std::vector<bool> checked(modules);
  result.modules = each(root.uses(), [&](const file::Use* use) {
    ProgramModule m;
    m.kernel = use->kernel();
    m.windows = numbers(use->windows());
    // Behind the program's kernels stand two that copy, one of the program and one of the engine.
    const auto& kernels = result.program.kernels;
    const bool own = m.kernel < kernels.size();
    if (m.kernel >= kernels.size() + 2 || use->which() >= modules ||
        m.windows.size() != (own ? kernels[m.kernel].buffers.size() : 2))
      damaged("a module belongs to no kernel");
    const file::Module& module = *root.modules()->Get(use->which());
    m.words = numbers(module.words());
    if (!checked[use->which()]) check_words(m.words, module.checksum());
    checked[use->which()] = true;
    m.driver_data = bytes_of(module.driver_data());
    return m;
  });
  return result;
}

}  // namespace gnomon
