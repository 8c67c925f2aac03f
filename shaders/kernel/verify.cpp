// shaders/kernel/verify.cpp -- types, visibility and memory rules; uniformity is in uniform.cpp.
#include "shaders/kernel/verify.h"

#include <algorithm>

#include "shaders/kernel/scalar.h"
#include "shaders/kernel/text.h"
#include "shaders/kernel/uniform.h"
#include "shaders/support/check.h"

namespace gnomon::kernel {
namespace {

bool legal_width(std::uint32_t w) { return w == 1 || w == 2 || w == 4 || w == 8 || w == 16; }

class Verifier {
 public:
  explicit Verifier(const Kernel& k)
      : kernel_(k),
        visible_(k.types.size(), false),
        defined_(k.types.size(), false),
        private_widths_(k.privates.size(), 0) {}

  void run() {
    header();
    region(kernel_.body, nullptr);
    if (!kernel_.body.yields.empty()) fail("the kernel's body yields values", nullptr);
    if (!kernel_.body.arguments.empty()) fail("the kernel's body has arguments", nullptr);
    memory();
    barriers();
  }

 private:
  [[noreturn]] void fail(const std::string& what, const Instruction* i) const {
    std::string text = "gnomon: internal error: kernel `" + kernel_.name + "`: " + what;
    if (i != nullptr) text += ", in: " + print(kernel_, *i);
    throw InternalError(text);
  }

  void require(bool holds, const char* what, const Instruction& i) const {
    if (!holds) fail(what, &i);
  }

  // ---- header

  void header() const {
    if (kernel_.group_size == 0) fail("the workgroup is empty", nullptr);
    for (const Buffer& b : kernel_.buffers) {
      if (b.texel && b.access != Access::read) {
        fail("buffer \"" + b.name + "\" is read as texels but not only read", nullptr);
      }
    }
    for (const auto* list : {&kernel_.privates, &kernel_.shareds}) {
      for (const LocalArray& a : *list) {
        if (a.length == 0) fail("a private or shared array has no elements", nullptr);
      }
    }
    if (kernel_.lanes > 0 && !kernel_.shareds.empty()) {
      fail("lane form has shared memory, which only workgroups have", nullptr);
    }
    for (const Type t : kernel_.types) {
      if (!legal_width(t.width)) fail("there is a value of type " + to_string(t), nullptr);
    }
  }

  // ---- definitions

  void define(Value v, const Instruction* i, std::vector<Value>& scope) {
    if (v.index >= kernel_.types.size()) fail("a result has no type", i);
    if (defined_[v.index]) fail("a value is defined twice", i);
    defined_[v.index] = visible_[v.index] = true;
    scope.push_back(v);
  }

  void use(Value v, const char* what, const Instruction* i) const {
    if (v.index < visible_.size() && visible_[v.index]) return;
    const bool known = v.index < defined_.size() && defined_[v.index];
    fail(std::string(what) + (known ? " is a value of a closed region" : " is not defined before"),
         i);
  }

  void region(const Region& r, const Instruction* owner) {
    std::vector<Value> scope;
    for (const Value v : r.arguments) define(v, owner, scope);
    for (const Instruction& i : r.body) {
      for (const Value v : i.operands) use(v, "an operand", &i);
      instruction(i);
      for (const Region& nested : i.regions) region(nested, &i);
      structure(i);
      for (const Value v : i.results) define(v, &i, scope);
    }
    for (const Value v : r.yields) use(v, "a yield", owner);
    for (const Value v : scope) visible_[v.index] = false;
  }

  // ---- types

  Type type(const Instruction& i, std::size_t operand) const {
    return kernel_.type(i.operands[operand]);
  }

  void counts(const Instruction& i, std::size_t operands, std::size_t results) const {
    require(i.operands.size() == operands, "wrong number of operands", i);
    require(i.results.size() == results, "wrong number of results", i);
  }

  void instruction(const Instruction& i) {
    if (i.op != Op::loop && i.op != Op::if_) {
      require(i.regions.empty(), "it has regions", i);
      require(i.results.size() <= 1, "wrong number of results", i);
    }
    for (const Value v : i.results) {
      if (v.index >= kernel_.types.size()) fail("a result has no type", &i);
    }
    const Type result = i.results.empty() ? Type{} : kernel_.type(i.results[0]);
    switch (form(i.op)) {
      case Form::constant:
      case Form::parameter:
      case Form::position:
        return source(i, result);
      case Form::unary:
      case Form::binary:
      case Form::ternary:
      case Form::comparison:
      case Form::test:
        return arithmetic(i, result);
      case Form::select:
      case Form::convert:
      case Form::bitcast:
      case Form::word:
      case Form::from_words:
        return conversion(i, result);
      case Form::splat:
      case Form::extract:
      case Form::construct:
      case Form::horizontal:
        return components(i, result);
      case Form::load:
        return load(i, result);
      case Form::store:
        return store(i);
      case Form::atomic:
        return atomic(i, result);
      case Form::subgroup_position:
      case Form::subgroup_election:
      case Form::subgroup_reduction:
      case Form::barrier:
        return together(i, result);
      case Form::loop:
      case Form::branch:
        return;
    }
  }

  void source(const Instruction& i, Type result) const {
    counts(i, 0, 1);
    if (i.op == Op::constant) {
      require(result.width == 1, "a constant is wide; splat a scalar one", i);
      require(bits_of(result.scalar) == 64 || i.immediate >> bits_of(result.scalar) == 0,
              "a constant has bits beyond its type", i);
      return;
    }
    require(result == Type{DType::u32, 1}, "the result is not u32", i);
    const bool lane_form = kernel_.lanes > 0;
    if (i.op == Op::parameter) {
      require(i.immediate < kernel_.parameters, "there is no such parameter", i);
    } else if (i.op == Op::lane) {
      require(lane_form, "invocation form has a lane", i);
    } else {
      require(!lane_form, "lane form knows invocations and workgroups", i);
    }
  }

  void conversion(const Instruction& i, Type result) const {
    const Form f = form(i.op);
    counts(i, f == Form::select ? 3 : f == Form::from_words ? 2 : 1, 1);
    const Type t = type(i, 0);
    if (f == Form::select) {
      require(
          t == Type{DType::boolean, result.width} && type(i, 1) == result && type(i, 2) == result,
          "the types do not fit", i);
    } else if (f == Form::convert) {
      require(t.width == result.width, "the widths differ", i);
    } else if (f == Form::bitcast) {
      require(t.scalar != DType::boolean && result.scalar != DType::boolean &&
                  bits_of(t.scalar) * t.width == bits_of(result.scalar) * result.width,
              "the numbers of bits differ", i);
    } else if (f == Form::word) {
      require(bits_of(t.scalar) == 64 && result == Type{DType::u32, t.width},
              "the types do not fit", i);
    } else {
      require(
          bits_of(result.scalar) == 64 && t == Type{DType::u32, result.width} && type(i, 1) == t,
          "the types do not fit", i);
    }
  }

  void components(const Instruction& i, Type result) const {
    const Form f = form(i.op);
    if (f == Form::construct) {
      require(i.results.size() == 1 && i.operands.size() == result.width,
              "one operand per component is due", i);
    } else {
      counts(i, 1, 1);
    }
    if (f == Form::extract) {
      require(result == Type{type(i, 0).scalar, 1}, "the types do not fit", i);
      require(i.immediate < type(i, 0).width, "there is no such component", i);
    } else if (f == Form::horizontal) {
      require(type(i, 0).scalar == DType::boolean && result == bool_type, "the types do not fit",
              i);
    } else {
      for (std::size_t k = 0; k < i.operands.size(); ++k)
        require(type(i, k) == Type{result.scalar, 1}, "the types do not fit", i);
    }
  }

  void atomic(const Instruction& i, Type result) const {
    counts(i, 2, 1);
    require(type(i, 1) == result && type(i, 0) == Type{DType::u32, result.width} &&
                (result.scalar == DType::u32 || result.scalar == DType::i32),
            "the types do not fit", i);
    require(array(i) == result.scalar, "the buffer has another type", i);
    require(kernel_.buffers[i.immediate].access == Access::read_write,
            "the buffer is not read_write", i);
  }

  /// What the invocations of a subgroup or workgroup reach together, or know of one another.
  void together(const Instruction& i, Type result) const {
    if (i.op == Op::barrier) {
      counts(i, 0, 0);
      require(kernel_.lanes == 0, "lane form has a barrier", i);
      return;
    }
    require(kernel_.lanes == 0, "lane form knows no subgroups", i);
    if (is_subgroup_reduction(i.op)) {
      counts(i, 1, 1);
      require(type(i, 0) == result && result.width == 1 && bits_of(result.scalar) == 32 &&
                  (result.scalar != DType::f32 ||
                   (i.op != Op::subgroup_and && i.op != Op::subgroup_or)),
              "the types do not fit", i);
    } else {
      counts(i, 0, 1);
      require(result == (i.op == Op::subgroup_first ? bool_type : Type{DType::u32, 1}),
              "the result has another type", i);
    }
  }

  void arithmetic(const Instruction& i, Type result) const {
    const Form f = form(i.op);
    const bool one = f == Form::unary || f == Form::test;
    counts(i, f == Form::ternary ? 3 : one ? 1 : 2, 1);
    const Type t = type(i, 0);
    for (std::size_t k = 1; k < i.operands.size(); ++k) {
      if (type(i, k) == t) continue;
      fail("the operands have types " + to_string(t) + " and " + to_string(type(i, k)), &i);
    }
    if (scalar_function(i.op, t.scalar) == nullptr) {
      fail("it is not defined for " + to_string(t), &i);
    }
    const bool truth = f == Form::comparison || f == Form::test;
    const Type expected = truth ? Type{DType::boolean, t.width} : t;
    if (result != expected) fail("the result is not " + to_string(expected), &i);
  }

  /// The element type of the array that is accessed.
  DType array(const Instruction& i) const {
    const auto local = [&](const std::vector<LocalArray>& list) {
      require(i.immediate < list.size(), "there is no such array", i);
      return list[i.immediate].dtype;
    };
    if (space(i.op) == Space::private_array) return local(kernel_.privates);
    if (space(i.op) == Space::shared_array) return local(kernel_.shareds);
    require(i.immediate < kernel_.buffers.size(), "there is no such buffer", i);
    return kernel_.buffers[i.immediate].dtype;
  }

  void access(const Instruction& i, Type value, std::size_t mask) {
    require(array(i) == value.scalar, "the array has another type", i);
    const Type index = type(i, 0);
    require(index.scalar == DType::u32 && (index.width == 1 || index.width == value.width),
            "the index does not fit", i);
    if (mask < i.operands.size()) {
      const Type m = type(i, mask);
      require(m.scalar == DType::boolean && (m.width == 1 || m.width == value.width),
              "the mask does not fit", i);
    }
    if (space(i.op) == Space::private_array) {
      std::uint8_t& width = private_widths_[i.immediate];
      require(width == 0 || width == value.width,
              "the private array is accessed with another width elsewhere", i);
      width = value.width;
    }
  }

  void load(const Instruction& i, Type result) {
    require(i.results.size() == 1, "wrong number of results", i);
    const std::size_t most = i.op == Op::load ? 2 : 1;
    require(!i.operands.empty() && i.operands.size() <= most, "wrong number of operands", i);
    access(i, result, 1);
    if (i.op == Op::load) {
      require(kernel_.buffers[i.immediate].access != Access::write, "the buffer is only written",
              i);
    }
  }

  void store(const Instruction& i) {
    require(i.results.empty(), "wrong number of results", i);
    require(i.operands.size() == 2 || i.operands.size() == 3, "wrong number of operands", i);
    access(i, type(i, 1), 2);
    if (i.op == Op::store) {
      require(kernel_.buffers[i.immediate].access != Access::read, "the buffer is only read", i);
    }
  }

  // ---- structure

  bool same_types(std::span<const Value> a, std::span<const Value> b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](Value x, Value y) { return kernel_.type(x) == kernel_.type(y); });
  }

  /// Called once the regions are known to use defined values only.
  void structure(const Instruction& i) const {
    if (i.op == Op::loop) {
      require(i.regions.size() == 2, "a loop has two regions", i);
      const Region& condition = i.regions[0];
      const Region& body = i.regions[1];
      require(same_types(i.operands, i.results) && same_types(i.operands, condition.arguments) &&
                  same_types(i.operands, body.arguments) && same_types(i.operands, body.yields),
              "carried values change their number or types", i);
      require(condition.yields.size() == 1 && kernel_.type(condition.yields[0]) == bool_type,
              "a loop's condition is one bool", i);
    } else if (i.op == Op::if_) {
      require(i.regions.size() == 2, "a branch has two regions", i);
      require(i.operands.size() == 1 && type(i, 0) == bool_type, "a branch's predicate is one bool",
              i);
      require(i.regions[0].arguments.empty() && i.regions[1].arguments.empty(),
              "a branch's regions have arguments", i);
      require(
          same_types(i.regions[0].yields, i.results) && same_types(i.regions[1].yields, i.results),
          "a branch's sides and results differ in number or types", i);
    }
  }

  // ---- memory that other invocations write

  static bool synchronises(const Instruction& i) {
    if (i.op == Op::barrier || i.op == Op::atomic_add) return true;
    return std::any_of(i.regions.begin(), i.regions.end(), [](const Region& r) {
      return std::any_of(r.body.begin(), r.body.end(), synchronises);
    });
  }

  void collect_stores(const Region& r) {
    for (const Instruction& i : r.body) {
      if (i.op == Op::store) stores_[i.immediate].push_back(i.operands[0]);
      for (const Region& nested : i.regions) collect_stores(nested);
    }
  }

  void memory() {
    stores_.assign(kernel_.buffers.size(), {});
    collect_stores(kernel_.body);
    bool after = false;
    reloads(kernel_.body, after);
  }

  /// `after`: whether a barrier or atomic may have run before.
  void reloads(const Region& r, bool& after) const {
    for (const Instruction& i : r.body) {
      if (i.op == Op::load && after) {
        const Buffer& b = kernel_.buffers[i.immediate];
        const std::vector<Value>& stores = stores_[i.immediate];
        const bool own = std::all_of(stores.begin(), stores.end(),
                                     [&](Value index) { return index == i.operands[0]; });
        require(b.access != Access::read_write || b.coherent || own,
                "it may see another invocation's store, but the buffer is not coherent", i);
      }
      // The end of a loop's body runs before its beginning.
      if (i.op == Op::loop && synchronises(i)) after = true;
      bool left = after, right = after;
      if (!i.regions.empty()) reloads(i.regions[0], left);
      if (i.regions.size() > 1) reloads(i.regions[1], right);
      after = after || left || right || synchronises(i);
    }
  }

  void barriers() const {
    if (const Instruction* i = divergent_barrier(kernel_); i != nullptr) {
      fail("not all invocations of a workgroup reach a barrier together", i);
    }
  }

  const Kernel& kernel_;
  std::vector<bool> visible_;
  std::vector<bool> defined_;
  std::vector<std::uint8_t> private_widths_;  // 0 until the first access
  std::vector<std::vector<Value>> stores_;    // per buffer: indices stored to
};

}  // namespace

void verify(const Kernel& k) { Verifier(k).run(); }

}  // namespace gnomon::kernel
