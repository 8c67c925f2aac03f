// codegen/program/module/types.h -- the types of a module and what it says about ids in front of
// them: the part of the check of types (words.h) that no instruction is needed for.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "codegen/program/module/words.h"

namespace gnomon::module_check {

enum class Kind : std::uint8_t {
  none,
  nothing,
  boolean,
  integer,
  real,
  vector,
  image,
  array,
  runtime_array,
  structure,
  pointer,
  function
};

struct Type {
  Kind kind = Kind::none;
  std::uint32_t bits = 0;   // of an integer or float; a bool has 1
  std::uint32_t of = 0;     // component, element, first member, or what is pointed to
  std::uint32_t count = 0;  // components, elements, members
  spv::StorageClass storage = spv::StorageClass::Max;  // of a pointer
};

struct Decorations {
  std::optional<std::uint32_t> binding, builtin, stride, member_offset;
  bool block = false, read_only = false, exact = false;
  bool aliased = false, coherent = false, in_set = false;
  bool of_variable = false;
};

inline void fits(bool good, const char* what) {
  if (!good) want(false, std::string("a module has ") + what + " whose types do not fit");
}

class Types {
 public:
  explicit Types(Words words) : version_(words[1]), types_(words[3]), decorations_(words[3]) {}

  // Instructions in front of the function. `length`: of an array, where it is a constant word.
  void capability(std::uint32_t which) { capabilities_.insert(which); }
  void extension(Words);
  void decorate(std::uint32_t id, std::uint32_t decoration, Words);
  void decorate_member(Words);
  void declare(Op, Words, const std::optional<std::uint32_t>& length);

  std::uint32_t version() const { return version_; }
  bool extended(const char* by) const { return extensions_.contains(by); }
  void needs(spv::Capability which) const {
    want(capabilities_.contains(word(which)), "a module does not name what it needs");
  }
  const Decorations& decorations(std::uint32_t id) const { return decorations_[id]; }
  const Type& type(std::uint32_t id) const { return types_[id]; }
  const Type& component(std::uint32_t id) const {
    return types_[id].kind == Kind::vector ? types_[types_[id].of] : types_[id];
  }
  bool is_scalar(std::uint32_t id) const {
    return type(id).kind >= Kind::boolean && type(id).kind <= Kind::real;
  }
  bool is_number(std::uint32_t id) const {
    return component(id).kind == Kind::integer || component(id).kind == Kind::real;
  }
  /// Components of a scalar or vector; 0 of anything else.
  std::uint32_t width(std::uint32_t id) const {
    return type(id).kind == Kind::vector ? type(id).count : is_scalar(id) ? 1 : 0;
  }
  bool is_word(std::uint32_t id, std::uint32_t count = 1) const {
    return component(id).kind == Kind::integer && component(id).bits == 32 && width(id) == count;
  }
  /// Bytes in memory with a layout; 0 of what has none.
  std::uint32_t bytes(std::uint32_t id) const {
    return is_number(id) ? component(id).bits / 8 * width(id) : 0;
  }

 private:
  void structure(Type&, Words) const;
  bool pointed_to(spv::StorageClass, std::uint32_t to) const;

  std::uint32_t version_;
  std::vector<Type> types_;
  std::vector<Decorations> decorations_;
  std::set<std::tuple<Kind, std::uint32_t, std::uint32_t, std::uint32_t, spv::StorageClass>>
      known_types_;
  std::set<std::uint32_t> capabilities_;
  std::set<std::string> extensions_;
};

}  // namespace gnomon::module_check
