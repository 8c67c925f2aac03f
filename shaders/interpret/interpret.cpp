// shaders/interpret/interpret.cpp -- executes the steps of flatten.
#include "shaders/interpret/interpret.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "shaders/interpret/flatten.h"
#include "shaders/interpret/races.h"
#include "shaders/kernel/text.h"
#include "shaders/kernel/verify.h"
#include "shaders/support/check.h"

namespace gnomon::kernel {
namespace {

constexpr std::uint8_t uninitialized = 0xcd;

/// An array of any space: raw elements in device layout.
struct Memory {
  std::byte* data = nullptr;
  std::uint64_t elements = 0;
  std::uint64_t base = 0;
};

static_assert(std::endian::native == std::endian::little, "elements are read as low bytes");

std::uint64_t read(const std::byte* from, DType t) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, size_of(t));
  return t == DType::boolean ? bits != 0 : bits;
}

void write(std::byte* to, DType t, std::uint64_t bits) { std::memcpy(to, &bits, size_of(t)); }

/// The state of one invocation: it can stop at a barrier and go on.
struct Invocation {
  std::vector<std::uint64_t> registers;
  std::vector<std::vector<std::byte>> private_bytes;
  std::vector<Memory> privates;              // one per array and component
  std::vector<std::uint32_t> first_private;  // per array, in `privates`
  std::uint32_t step = 0;
  std::uint32_t index = 0;  // of the lane or invocation
  std::uint32_t local = 0;
  std::uint32_t group = 0;
};

class Machine {
 public:
  Machine(const Kernel& k, std::span<const std::uint32_t> parameters,
          std::span<std::span<std::byte>> buffers)
      : kernel_(k), flat_(flatten(k)), parameters_(parameters) {
    const std::size_t words = parameter_header_words + k.buffers.size() + k.parameters;
    if (parameters.size() != words) {
      fail("the parameter block has " + std::to_string(parameters.size()) + " words, not " +
               std::to_string(words),
           nullptr);
    }
    if (buffers.size() != k.buffers.size()) {
      fail(std::to_string(buffers.size()) + " buffers are given for " +
               std::to_string(k.buffers.size()),
           nullptr);
    }
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      buffers_.push_back({buffers[b].data(), buffers[b].size() / size_of(k.buffers[b].dtype),
                          parameters[parameter_header_words + b]});
    }
    for (const LocalArray& a : k.shareds) allocate(a, shared_bytes_, shareds_);
    for (const LocalArray& a : k.shareds) races_.add_array(a.length);
  }

  void run_lanes() {
    Invocation i = make();
    for (std::uint32_t lane = 0; lane < kernel_.lanes; ++lane) {
      start(i, lane, 0, 0);
      run(i);
    }
  }

  void run_group(std::uint32_t group) {
    for (std::vector<std::byte>& bytes : shared_bytes_) poison(bytes);
    const std::uint32_t first = group * kernel_.group_size;
    races_.settle();
    if (!flat_.stops) {
      if (invocations_.empty()) invocations_.push_back(make());
      for (std::uint32_t local = 0; local < kernel_.group_size; ++local) {
        start(invocations_[0], first + local, local, group);
        run(invocations_[0]);
      }
      return;
    }
    while (invocations_.size() < kernel_.group_size) invocations_.push_back(make());
    for (std::uint32_t local = 0; local < kernel_.group_size; ++local) {
      start(invocations_[local], first + local, local, group);
    }
    const auto end = static_cast<std::uint32_t>(flat_.steps.size());
    do {
      for (Invocation& i : invocations_) run(i);
      for (const Invocation& i : invocations_) {
        if (i.step == invocations_[0].step) continue;
        const std::uint32_t waiting = std::min(i.step, invocations_[0].step);
        fail("only a part of a workgroup reaches a barrier", flat_.steps[waiting - 1].source);
      }
      const Step& stop = flat_.steps[invocations_[0].step - 1];
      if (stop.kind == StepKind::barrier) races_.settle();
      if (stop.kind == StepKind::combine && invocations_[0].step != end) combine(stop);
    } while (invocations_[0].step != end);
  }

  std::uint64_t touched() const { return touched_; }

 private:
  [[noreturn]] void fail(const std::string& what, const Instruction* i) const {
    std::string text = "gnomon::interpret: kernel `" + kernel_.name + "`: " + what;
    if (i != nullptr) text += ", in: " + print(kernel_, *i);
    throw InternalError(text);
  }

  static void poison(std::vector<std::byte>& bytes) {
    std::fill(bytes.begin(), bytes.end(), std::byte{uninitialized});
  }

  static void allocate(const LocalArray& a, std::vector<std::vector<std::byte>>& bytes,
                       std::vector<Memory>& views) {
    bytes.emplace_back(std::size_t{a.length} * size_of(a.dtype), std::byte{uninitialized});
    views.push_back({bytes.back().data(), a.length, 0});
  }

  Invocation make() const {
    Invocation i;
    i.registers.resize(flat_.registers);
    for (std::size_t a = 0; a < kernel_.privates.size(); ++a) {
      i.first_private.push_back(static_cast<std::uint32_t>(i.privates.size()));
      for (std::uint8_t component = 0; component < flat_.private_widths[a]; ++component) {
        allocate(kernel_.privates[a], i.private_bytes, i.privates);
      }
    }
    return i;
  }

  static void start(Invocation& i, std::uint32_t index, std::uint32_t local, std::uint32_t group) {
    for (std::vector<std::byte>& bytes : i.private_bytes) poison(bytes);
    i.step = 0;
    i.index = index;
    i.local = local;
    i.group = group;
  }

  /// Up to behind the next barrier, or to the end.
  void run(Invocation& i) {
    std::uint64_t* const r = i.registers.data();
    const Step* const steps = flat_.steps.data();
    const auto end = static_cast<std::uint32_t>(flat_.steps.size());
    std::uint32_t at = i.step;
    while (at < end) {
      const Step& s = steps[at++];
      switch (s.kind) {
        case StepKind::compute:
          compute(s, r);
          break;
        case StepKind::set:
          r[s.to] = s.immediate;
          break;
        case StepKind::copy:
          for (std::uint32_t k = 0; k < s.width; ++k) r[s.to + k] = r[s.a + k];
          break;
        case StepKind::broadcast:
          for (std::uint32_t k = 0; k < s.width; ++k) r[s.to + k] = r[s.a];
          break;
        case StepKind::gather:
          for (std::size_t k = 0; k < s.operands.size(); ++k) r[s.to + k] = r[s.operands[k]];
          break;
        case StepKind::select:
          for (std::uint32_t k = 0; k < s.width; ++k)
            r[s.to + k] = r[s.a + k] != 0 ? r[s.b + k] : r[s.c + k];
          break;
        case StepKind::bitcast:
          reinterpret(s, r);
          break;
        case StepKind::any:
        case StepKind::all:
          reduce(s, r);
          break;
        case StepKind::parameter:
          r[s.to] = parameters_[parameter_header_words + buffers_.size() + s.immediate];
          break;
        case StepKind::lane:
        case StepKind::invocation:
        case StepKind::group_index:
        case StepKind::local_index:
        case StepKind::subgroup_index:
        case StepKind::subgroup_count:
        case StepKind::subgroup_first:
          r[s.to] = identity(i, s.kind);
          break;
        case StepKind::load:
          load(i, s, r);
          break;
        case StepKind::store:
          store(i, s, r);
          break;
        case StepKind::atomic:
          atomic(i, s, r);
          break;
        case StepKind::combine:
        case StepKind::barrier:
          i.step = at;
          return;
        case StepKind::jump:
          at = s.target;
          break;
        case StepKind::jump_unless:
          if (r[s.a] == 0) at = s.target;
          break;
        case StepKind::enter:
          r[s.to] = 0;
          break;
        case StepKind::trip:
          if (s.immediate != 0 && r[s.to] == s.immediate)
            fail("a loop makes more trips than it states", s.source);
          ++r[s.to];
          break;
      }
    }
    i.step = end;
  }

  std::uint64_t identity(const Invocation& i, StepKind kind) const {
    switch (kind) {
      case StepKind::group_index:
        return i.group;
      case StepKind::local_index:
        return i.local;
      case StepKind::subgroup_index:
        return i.local % subgroups();
      case StepKind::subgroup_count:
        return subgroups();
      case StepKind::subgroup_first:
        return i.local < subgroups();
      default:
        return i.index;
    }
  }

  static void compute(const Step& s, std::uint64_t* r) {
    for (std::uint32_t k = 0; k < s.width; ++k)
      r[s.to + k] = s.function(r[s.a + k], r[s.b + k], r[s.c + k]);
  }

  static void reduce(const Step& s, std::uint64_t* r) {
    std::uint64_t count = 0;
    for (std::uint32_t k = 0; k < s.width; ++k) count += r[s.a + k];
    r[s.to] = s.kind == StepKind::any ? count != 0 : count == s.width;
  }

  void load(Invocation& i, const Step& s, std::uint64_t* r) {
    for (std::uint32_t k = 0; k < s.width; ++k)
      r[s.to + k] = active(s, r, k) ? read(element(i, s, r, k), s.dtype) : 0;
  }

  void store(Invocation& i, const Step& s, const std::uint64_t* r) {
    for (std::uint32_t k = 0; k < s.width; ++k)
      if (active(s, r, k)) write(element(i, s, r, k, true), s.dtype, r[s.b + k]);
  }

  /// No other invocation runs meanwhile.
  void atomic(Invocation& i, const Step& s, std::uint64_t* r) {
    for (std::uint32_t k = 0; k < s.width; ++k) {
      std::byte* const where = element(i, s, r, k);
      const std::uint64_t old = read(where, s.dtype);
      write(where, s.dtype, s.function(old, r[s.b + k], 0));
      r[s.to + k] = old;
    }
  }

  /// Subgroups of about four invocations that are no neighbours: nothing may rely on their size or
  /// order.
  std::uint32_t subgroups() const { return (kernel_.group_size + 3) / 4; }

  void combine(const Step& s) {
    for (std::uint32_t first = 0; first < subgroups(); ++first) {
      std::uint64_t all = invocations_[first].registers[s.a];
      for (std::uint32_t i = first + subgroups(); i < kernel_.group_size; i += subgroups())
        all = s.function(all, invocations_[i].registers[s.a], 0);
      for (std::uint32_t i = first; i < kernel_.group_size; i += subgroups())
        invocations_[i].registers[s.to] = all;
    }
  }

  static bool active(const Step& s, const std::uint64_t* r, std::uint32_t k) {
    return s.mask_width == 0 || r[s.c + (s.mask_width > 1 ? k : 0)] != 0;
  }

  std::byte* element(Invocation& i, const Step& s, const std::uint64_t* r, std::uint32_t k,
                     bool writes = false) {
    ++touched_;
    const bool is_private = s.space == Space::private_array;
    const Memory& m = s.space == Space::buffer ? buffers_[s.target]
                      : is_private             ? i.privates[i.first_private[s.target] + k]
                                               : shareds_[s.target];
    std::uint64_t index = r[s.a + (s.wide_index ? k : 0)];
    if (!s.wide_index && !is_private) index += k;
    if (index + m.base >= m.elements) {
      std::string where = s.space == Space::buffer
                              ? "buffer \"" + kernel_.buffers[s.target].name + "\""
                              : std::string(is_private ? "private" : "shared") + " array " +
                                    std::to_string(s.target);
      if (m.base != 0) where += " from element " + std::to_string(m.base) + " on";
      fail("index " + std::to_string(index) + " is out of bounds: " + where + " has " +
               std::to_string(m.elements - std::min(m.base, m.elements)) + " elements",
           s.source);
    }
    if (s.space == Space::shared_array && races_.race(s.target, index, i.local, writes))
      fail("two invocations meet at element " + std::to_string(index) + " of shared array " +
               std::to_string(s.target) + " without a barrier between them",
           s.source);
    return m.data + (index + m.base) * size_of(s.dtype);
  }

  static void reinterpret(const Step& s, std::uint64_t* r) {
    std::byte bytes[16 * 8];
    const std::uint32_t from = size_of(s.dtype), to = size_of(s.dtype_to);
    for (std::uint32_t k = 0; k < s.width; ++k) write(bytes + k * from, s.dtype, r[s.a + k]);
    const std::uint32_t parts = s.width * from / to;
    for (std::uint32_t k = 0; k < parts; ++k) r[s.to + k] = read(bytes + k * to, s.dtype_to);
  }

  const Kernel& kernel_;
  FlatKernel flat_;
  std::span<const std::uint32_t> parameters_;
  std::vector<Memory> buffers_;
  std::vector<std::vector<std::byte>> shared_bytes_;
  std::vector<Memory> shareds_;
  Races races_;
  std::vector<Invocation> invocations_;
  std::uint64_t touched_ = 0;  // elements
};

}  // namespace

std::uint64_t interpret(const Kernel& k, std::uint32_t groups,
                        std::span<const std::uint32_t> parameters,
                        std::span<std::span<std::byte>> buffers) {
  verify(k);
  Machine machine(k, parameters, buffers);
  if (k.lanes > 0)
    machine.run_lanes();
  else
    for (std::uint32_t g = 0; g < groups; ++g) machine.run_group(parameters[0] + g);
  return machine.touched();
}

}  // namespace gnomon::kernel
