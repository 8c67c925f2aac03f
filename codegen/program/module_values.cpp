// codegen/program/module_values.cpp -- whether the values of a module fit the instructions that
// take them, and whether it reaches the buffers that its kernel says it does, as what they are.
//
// Rules are those of the SPIR-V specification 1.6, section 3.52, as far as the emitter uses them:
// integers have no sign, pointers are variables or chains of one step, arrays hold scalars and
// vectors.
#include <algorithm>
#include <set>
#include <utility>

#include "codegen/program/module_types.h"
#include "shaders/spirv/emit.h"

namespace gnomon::module_words {
namespace {

/// What an instruction asks of its operands and its result, which all have as many components.
enum class Rule : std::uint8_t {
  none,
  integers,
  reals,
  booleans,
  shift,
  compare_integers,
  compare_reals,
  to_integer,
  to_real,
  resize_integer,
  resize_real,
  scaled,
  extended,
  any_all
};

Rule rule_of(std::uint32_t opcode) {
  const auto in = [&](std::uint32_t first, std::uint32_t last) {
    return first <= opcode && opcode <= last;
  };
  if (in(109, 110)) return Rule::to_integer;
  if (in(111, 112)) return Rule::to_real;
  if (in(113, 114)) return Rule::resize_integer;
  if (opcode == 115) return Rule::resize_real;
  if (opcode == 142) return Rule::scaled;
  if (opcode == 151) return Rule::extended;
  if (in(154, 155)) return Rule::any_all;
  if (in(164, 168)) return Rule::booleans;
  if (in(170, 179)) return Rule::compare_integers;
  if (in(180, 190)) return Rule::compare_reals;
  if (in(194, 196)) return Rule::shift;
  if (in(197, 205) || opcode == 126) return Rule::integers;
  constexpr std::uint32_t arithmetic_of_reals[] = {127, 129, 131, 133, 136, 140};
  if (std::ranges::count(arithmetic_of_reals, opcode) > 0) return Rule::reals;
  if (in(128, 137)) return Rule::integers;
  return Rule::none;
}

/// Functions of GLSL.std.450 (its specification, version 1.00): operands, and what they are of.
struct Extended {
  std::uint32_t operands = 0;
  bool real = true;
  bool short_only = false;  // 16 and 32 bits
};
Extended function_of(std::uint32_t instruction) {
  switch (instruction) {
    case 2:
    case 3:
    case 4:
    case 8:
    case 9:  // RoundEven, Trunc, FAbs, Floor, Ceil
    case 31:
    case 32:  // Sqrt, InverseSqrt
      return {1, true, false};
    case 37:
    case 40:  // FMin, FMax
      return {2, true, false};
    case 50:  // Fma
      return {3, true, false};
    case 5:  // SAbs
      return {1, false, false};
    case 38:
    case 41:  // UMin, UMax
      return {2, false, false};
    case 25:
    case 26:  // Atan2, Pow
      return {2, true, true};
    default:  // sines to logarithms
      return instruction >= 13 && instruction <= 30 ? Extended{1, true, true} : Extended{};
  }
}

class Walk : Types {
 public:
  Walk(Words words, const kernel::Kernel& kernel, std::span<const std::uint8_t> windows)
      : Types(words), words_(words), kernel_(kernel), windows_(windows), ids_(words[3]) {}

  void all() {
    for_each(words_, [&](std::uint32_t opcode, Words o) { instruction(opcode, o); });
    interface();
    for (std::uint32_t id = 1; id < ids_.size(); ++id) {
      const Decorations& d = decorations(id);
      const bool number = ids_[id].type != 0 && component(ids_[id].type).kind == Kind::real;
      fits(!d.exact || (ids_[id].computed && number), "a decoration");
      const bool variable = ids_[id].variable && type(ids_[id].type).storage != in_function;
      const bool resource = variable && type(ids_[id].type).storage != input;
      fits(variable || !d.of_variable, "a decoration");
      fits(resource || !(d.aliased || d.coherent || d.read_only), "a decoration");
      const Kind kind = type(id).kind;
      fits(kind == Kind::structure || !(d.block || d.member_offset), "a decoration");
      fits(kind == Kind::array || kind == Kind::runtime_array || !d.stride, "a decoration");
    }
  }

 private:
  struct Value {
    std::uint32_t type = 0;
    bool constant = false, variable = false, computed = false;
    std::uint32_t number = 0;           // of a constant word
    std::uint32_t from = 0;             // the variable of a pointer or of a loaded image
    std::optional<std::uint32_t> row;   // of the parameter block: pointed to, or loaded
    std::optional<std::uint32_t> base;  // the buffer whose first element it counts from
  };

  // ---- constants and variables

  void constant(std::uint32_t opcode, Words o) {
    Value& v = define(o);
    v.constant = true;
    if (opcode == 41 || opcode == 42) return fits(type(o[0]).kind == Kind::boolean, "constants");
    if (opcode == 43) {
      const std::uint32_t bits = type(o[0]).bits;
      fits(is_scalar(o[0]) && bits > 1 && o.size() == (bits == 64 ? 4u : 3u) &&
               (bits >= 32 || o[2] >> bits == 0),
           "constants");
      v.number = o[2];
      return;
    }
    fits(type(o[0]).kind == Kind::vector && o.size() == 2 + std::size_t{type(o[0]).count},
         "constants");
    for (const std::uint32_t part : o.subspan(2))
      fits(ids_[part].constant && ids_[part].type == type(o[0]).of, "constants");
  }

  void variable(Words o) {
    const Type& pointer = type(o[0]);
    fits(pointer.kind == Kind::pointer && pointer.storage == o[2] && o.size() == 3, "variables");
    const Decorations& d = decorations(o[1]);
    const bool block = type(pointer.of).kind == Kind::structure;
    const auto bound_from = [&](std::uint32_t first, std::uint32_t count) {
      fits(d.binding && *d.binding >= first && *d.binding < first + count, "resources");
    };
    fits(d.builtin.has_value() == (o[2] == input), "variables");
    switch (o[2]) {
      case uniform_constant:
        bound_from(spirv::first_texel_binding, spirv::max_windows);
        break;
      case input:
        builtin(*d.builtin, pointer.of);
        break;
      case uniform:
        bound_from(spirv::parameter_binding, 1);
        fits(block && type(type(pointer.of).of).count == parameter_rows(), "parameters");
        break;
      case storage_buffer:
        bound_from(spirv::first_window_binding, spirv::max_windows);
        fits(block, "buffers");
        stored_in(type(type(pointer.of).of).of);
        break;
      case workgroup:
        fits(type(pointer.of).kind == Kind::array, "shared memory");
        break;
      default:
        break;
    }
    Value& v = define(o);
    v.variable = true;
    v.from = o[1];
    if (o[2] != in_function) globals_.push_back(o[1]);
  }

  void stored_in(std::uint32_t element) const {
    if (component(element).bits == 16) needs(4433);
    if (component(element).bits == 8) needs(4448);
    if (component(element).bits == 8 && version() < 0x00010500)
      want(extended("SPV_KHR_8bit_storage"), "a module does not name what it needs");
  }

  void builtin(std::uint32_t which, std::uint32_t of) {
    switch (which) {
      case 26:
      case 27:  // WorkgroupId, LocalInvocationId
        fits(is_word(of, 3), "built-in variables");
        break;
      case 38:
      case 40:
      case 41:  // NumSubgroups, SubgroupId, SubgroupLocalInvocationId
        fits(is_word(of), "built-in variables");
        needs(61);
        break;
      default:
        fits(false, "built-in variables");
    }
    want(builtins_.insert(which).second, "a module has a built-in variable twice");
  }

  /// Rows of four words.
  std::uint32_t parameter_rows() const {
    return static_cast<std::uint32_t>((first_parameter() + std::uint64_t{kernel_.parameters} + 3) /
                                      4);
  }
  std::uint32_t first_parameter() const {
    return kernel::parameter_header_words + static_cast<std::uint32_t>(kernel_.buffers.size());
  }

  // ---- instructions

  Value& define(Words o) {
    Value& v = ids_[o[1]];
    v.type = o[0];
    return v;
  }
  /// The type of a value that is no pointer.
  std::uint32_t of(std::uint32_t id) const {
    fits(ids_[id].type != 0 && type(ids_[id].type).kind != Kind::pointer, "values");
    return ids_[id].type;
  }

  void instruction(std::uint32_t opcode, Words o) {
    switch (opcode) {
      case 5:
      case 7:
      case 8:
      case 14:
      case 247:
      case 248:
      case 249:
      case 253:
      case 56:
        return;
      case 10:
        extension(o);
        return;
      case 11:
        want(std::exchange(library_, o[0]) == 0, "a module imports something twice");
        return;
      case 15:
        entry_ = o;
        return;
      case 16:
        mode(o);
        return;
      case 17:
        capability(o[0]);
        return;
      case 71:
        decorate(o[0], o[1], o.subspan(2));
        return;
      case 72:
        decorate_member(o);
        return;
      case 41:
      case 42:
      case 43:
      case 44:
        return constant(opcode, o);
      case 54:
        function_ = o[1];
        fits(type(o[0]).kind == Kind::nothing && o[2] == 0 && type(o[3]).kind == Kind::function,
             "functions");
        return;
      case 59:
        return variable(o);
      case 61:
        return load(o);
      case 62:
        return store(o);
      case 65:
        return chain(o);
      case 224:
        return barrier(o);
      case 250:
        return fits(type(of(o[0])).kind == Kind::boolean, "branches");
      case 246:
        return;
      default:
        break;
    }
    if (opcode >= 19 && opcode <= 33)
      return declare(opcode, o, opcode == 28 ? word_of(o[2]) : std::nullopt);
    computed(opcode, o);
    Value& v = define(o);
    v.computed = true;
    follow(opcode, o, v);
  }

  void computed(std::uint32_t opcode, Words o) const {
    const std::uint32_t r = o[0];
    const Words operands = o.subspan(2);
    switch (opcode) {
      case 12:
        return fits(library_call(r, operands), "a function");
      case 77:
        return fits(
            type(of(o[2])).kind == Kind::vector && type(of(o[2])).of == r && is_word(of(o[3])),
            "an element");
      case 80: {
        bool good = type(r).kind == Kind::vector && operands.size() == type(r).count;
        for (const std::uint32_t x : operands) good = good && of(x) == type(r).of;
        return fits(good, "a vector");
      }
      case 81: {
        const Type& whole = type(of(o[2]));
        return fits((whole.kind == Kind::vector || whole.kind == Kind::structure) &&
                        o.size() == 4 && o[3] < whole.count && whole.of == r,
                    "an element");
      }
      case 98:
        return fits(is_word(r, 4) && type(of(o[2])).kind == Kind::image && is_word(of(o[3])),
                    "a texel");
      case 124:
        return fits(is_number(r) && is_number(of(o[2])) && bytes(r) == bytes(of(o[2])), "bits");
      case 169:
        return fits(width(r) > 0 && of(o[3]) == r && of(o[4]) == r &&
                        component(of(o[2])).kind == Kind::boolean && width(of(o[2])) == width(r),
                    "a choice");
      case 234:
      case 240:
      case 241:
        return atomic(o);
      case 245: {
        bool good = width(r) > 0;
        for (std::size_t i = 0; i < operands.size(); i += 2) good = good && of(operands[i]) == r;
        return fits(good, "a choice");
      }
      case 333:
      case 345:
        return subgroup(opcode, o);
      default:
        break;
    }
    if (opcode >= 349 && opcode <= 360) return subgroup(opcode, o);
    const Rule rule = rule_of(opcode);
    want(rule != Rule::none, "a module has an instruction that no kernel needs");
    fits(follows(rule, opcode, r, operands), "arithmetic");
  }

  bool follows(Rule rule, std::uint32_t opcode, std::uint32_t r, Words operands) const {
    const std::uint32_t a = of(operands[0]);
    const Type &to = component(r), &from = component(a);
    const bool alike = std::ranges::all_of(operands, [&](std::uint32_t x) { return of(x) == a; });
    const bool as_wide = width(r) > 0 && width(a) == width(r);
    const auto both = [&](Kind result, Kind operand) {
      return as_wide && alike && to.kind == result && from.kind == operand;
    };
    switch (rule) {
      case Rule::integers:  // Vulkan counts bits of words only
        return both(Kind::integer, Kind::integer) && a == r && (opcode != 205 || to.bits == 32);
      case Rule::reals:
        return both(Kind::real, Kind::real) && a == r;
      case Rule::booleans:
        return both(Kind::boolean, Kind::boolean) && a == r;
      case Rule::compare_integers:
        return both(Kind::boolean, Kind::integer);
      case Rule::compare_reals:
        return both(Kind::boolean, Kind::real);
      case Rule::to_integer:
        return both(Kind::integer, Kind::real);
      case Rule::to_real:
        return both(Kind::real, Kind::integer);
      case Rule::resize_integer:
        return both(Kind::integer, Kind::integer) && to.bits != from.bits;
      case Rule::resize_real:
        return both(Kind::real, Kind::real) && to.bits != from.bits;
      case Rule::shift: {
        const std::uint32_t by = of(operands[1]);
        return as_wide && a == r && to.kind == Kind::integer && width(by) == width(r) &&
               component(by).kind == Kind::integer;
      }
      case Rule::scaled:
        return as_wide && a == r && type(r).kind == Kind::vector && to.kind == Kind::real &&
               of(operands[1]) == type(r).of;
      case Rule::extended:
        return alike && type(r).kind == Kind::structure && type(r).count == 2 && type(r).of == a &&
               from.kind == Kind::integer;
      case Rule::any_all:
        return type(r).kind == Kind::boolean && type(a).kind == Kind::vector &&
               from.kind == Kind::boolean;
      case Rule::none:
        break;
    }
    return false;
  }

  bool library_call(std::uint32_t r, Words operands) const {
    const Extended e = function_of(operands[1]);
    const Type& t = component(r);
    return operands[0] == library_ && e.operands > 0 && operands.size() == 2 + e.operands &&
           t.kind == (e.real ? Kind::real : Kind::integer) && !(e.short_only && t.bits == 64) &&
           std::ranges::all_of(operands.subspan(2), [&](std::uint32_t x) { return of(x) == r; });
  }

  std::optional<std::uint32_t> word_of(std::uint32_t id) const {
    const Value& v = ids_[id];
    return v.constant && is_word(v.type) ? std::optional(v.number) : std::nullopt;
  }
  std::uint32_t constant_word(std::uint32_t id) const {
    fits(ids_[id].constant && is_word(ids_[id].type), "a scope");
    return ids_[id].number;
  }

  static constexpr std::uint32_t device_scope = 1, workgroup_scope = 2, subgroup_scope = 3;
  static constexpr std::uint32_t acquire_release = 8, memory = 0x40 | 0x100 | 0x800;

  void barrier(Words o) const {
    const std::uint32_t scope = constant_word(o[1]), semantics = constant_word(o[2]);
    fits(constant_word(o[0]) == workgroup_scope &&
             (scope == device_scope || scope == workgroup_scope) &&
             (semantics & ~memory) == acquire_release && (semantics & memory) != 0,
         "a barrier");
  }

  void atomic(Words o) const {
    const std::uint32_t semantics = constant_word(o[4]);
    const Value& pointer = ids_[o[2]];
    fits(is_word(o[0]) && pointer.computed && type(pointer.type).storage == storage_buffer &&
             type(pointer.type).of == o[0] && of(o[5]) == o[0] &&
             constant_word(o[3]) == device_scope &&
             (semantics == 0 || (semantics & ~memory) == acquire_release),
         "an atomic");
    written(pointer);
  }

  void subgroup(std::uint32_t opcode, Words o) const {
    fits(constant_word(o[2]) == subgroup_scope, "a subgroup");
    needs(61);
    if (opcode == 333) return fits(type(o[0]).kind == Kind::boolean, "a subgroup");
    const Type& t = component(o[0]);
    const bool real = opcode == 350 || opcode == 355 || opcode == 358;
    if (opcode == 345) {
      needs(65);
      return fits(is_number(o[0]) && of(o[3]) == o[0] && is_word(of(o[4])), "a subgroup");
    }
    needs(63);
    fits(o.size() == 5 && o[3] == 0 && of(o[4]) == o[0] &&
             t.kind == (real ? Kind::real : Kind::integer),
         "a subgroup");
  }

  // ---- memory

  void load(Words o) {
    const Value& pointer = ids_[o[2]];
    const Type& t = type(pointer.type);
    fits(o.size() == 3 && t.kind == Kind::pointer && t.of == o[0] &&
             (width(o[0]) > 0 || type(o[0]).kind == Kind::image),
         "a load");
    Value& v = define(o);
    v.computed = true;
    v.from = pointer.from;
    if (t.storage == uniform) v.row = pointer.row;
  }

  void store(Words o) const {
    const Value& pointer = ids_[o[0]];
    const Type& t = type(pointer.type);
    fits(o.size() == 2 && t.kind == Kind::pointer && t.of == of(o[1]) && width(t.of) > 0 &&
             (t.storage == storage_buffer || t.storage == workgroup || t.storage == in_function),
         "a store");
    if (t.storage == storage_buffer) written(pointer);
  }

  void written(const Value& pointer) const {
    fits(!decorations(pointer.from).read_only, "a store");
    want(pointer.base && kernel_.buffers[*pointer.base].access != kernel::Access::read,
         "a module writes what its kernel reads");
  }

  void chain(Words o) {
    const Value& from = ids_[o[2]];
    const Type &to = type(o[0]), &whole = type(from.type);
    fits(from.variable && to.kind == Kind::pointer && to.storage == whole.storage, "a chain");
    const bool block = type(whole.of).kind == Kind::structure;
    const Type& array = type(block ? type(whole.of).of : whole.of);
    fits(o.size() == (block ? 5u : 4u) &&
             (array.kind == Kind::array || array.kind == Kind::runtime_array) && array.of == to.of,
         "a chain");
    if (block)
      fits(ids_[o[3]].constant && is_word(ids_[o[3]].type) && ids_[o[3]].number == 0, "a chain");
    const Value& index = ids_[o.back()];
    fits(is_word(of(o.back())), "a chain");
    const std::uint32_t base_variable = o[2];
    const bool inside =
        array.kind == Kind::runtime_array || !index.constant || index.number < array.count;
    want(inside, "a module reaches outside of an array");
    if (whole.storage == uniform) want(index.constant, "a module looks for its parameters");
    if (whole.storage == storage_buffer) reached(base_variable, array.of, index);
    Value v;
    v.type = o[0];
    v.computed = true;
    v.from = base_variable;
    v.base = index.base;
    if (whole.storage == uniform) v.row = index.number;
    ids_[o[1]] = v;
  }

  // ---- whose elements are reached

  /// Whether the elements seen by a variable are those of the buffer from whose base an index
  /// counts: one by one, as vectors of four, or two pairs of words at a time.
  void reached(std::uint32_t variable, std::uint32_t element, const Value& index) const {
    want(index.base.has_value(), "a module reaches no buffer of its kernel");
    const kernel::Buffer& b = kernel_.buffers[*index.base];
    const std::uint32_t size = size_of(b.dtype);
    const Type& t = component(element);
    const bool real = b.dtype == DType::f16 || b.dtype == DType::f32 || b.dtype == DType::f64;
    const bool own = t.bits == 8 * size && (t.kind == Kind::real) == real;
    const bool pairs = size == 4 && t.kind == Kind::integer && t.bits == 64 && width(element) == 2;
    want(pairs || (own && (width(element) == 1 || width(element) == 4)),
         "a module takes a buffer's elements for others");
    want(decorations(variable).binding == spirv::first_window_binding + windows_[*index.base],
         "a module looks for a buffer in another's window");
  }

  /// Bases and rows of parameters, from operand to result.
  void follow(std::uint32_t opcode, Words o, Value& v) const {
    if (opcode == 81 && ids_[o[2]].row) {
      const std::uint32_t word = 4 * *ids_[o[2]].row + o[3];
      if (word >= kernel::parameter_header_words && word < first_parameter())
        v.base = word - kernel::parameter_header_words;
      return;
    }
    if (opcode == 98) {
      const Value& index = ids_[o[3]];
      want(index.base && kernel_.buffers[*index.base].texel &&
               decorations(ids_[o[2]].from).binding ==
                   spirv::first_texel_binding + windows_[*index.base],
           "a module reads texels of no buffer");
      return;
    }
    // Sums of a base and an index, divided by four for vectors; a masked one is 0 instead.
    if (opcode != 128 && opcode != 194 && opcode != 169) return;
    for (const std::uint32_t x : o.subspan(2)) {
      const std::optional<std::uint32_t>& base = ids_[x].base;
      if (!base) continue;
      want(!v.base || v.base == base, "a module adds up where two buffers begin");
      v.base = base;
    }
  }

  // ---- the interface

  void mode(Words o) {
    want(!entry_.empty() && o[0] == entry_[1], "a module has a mode of no entry point");
    want(modes_.emplace(o.begin() + 1, o.end()).second, "a module has a mode twice");
    if (o[1] == 17) return;
    needs(o[1] == 4459 ? 4464 : o[1] == 4461 ? 4466 : 4467);
    want(version() >= 0x00010400 || extended("SPV_KHR_float_controls"),
         "a module does not name what it needs");
    const bool known = o[2] == 32 || o[2] == 64;
    want(known, "a module has a mode of no floats");
  }

  /// Inputs are listed by the entry point; since SPIR-V 1.4 all that lies outside of the function.
  void interface() const {
    want(!entry_.empty() && entry_[1] == function_, "a module has another entry point");
    needs(1);  // Shader
    std::set<std::uint32_t> wanted;
    for (const std::uint32_t v : globals_)
      if (version() >= 0x00010400 || type(ids_[v].type).storage == input) wanted.insert(v);
    const Words listed = entry_.subspan(4);  // behind "main"
    want(std::set<std::uint32_t>(listed.begin(), listed.end()) == wanted &&
             listed.size() == wanted.size(),
         "a module has another interface than variables");
  }

  Words words_;
  const kernel::Kernel& kernel_;
  std::span<const std::uint8_t> windows_;
  std::vector<Value> ids_;
  std::set<std::uint32_t> builtins_;
  std::set<std::vector<std::uint32_t>> modes_;
  std::vector<std::uint32_t> globals_;
  Words entry_;
  std::uint32_t library_ = 0, function_ = 0;
};

}  // namespace

void check_types(Words words, const kernel::Kernel& kernel, std::span<const std::uint8_t> windows) {
  Walk(words, kernel, windows).all();
}

}  // namespace gnomon::module_words
