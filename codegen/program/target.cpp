// codegen/program/target.cpp -- the text that identifies a Target, both ways.
#include "codegen/program/target.h"

#include <limits>
#include <type_traits>

#include "codegen/base/text_reader.h"
#include "gnomon/detail/reflect.h"

namespace gnomon {
namespace {

/// Calls f("max_groups", field) or f("features.int64", field) for every number of a struct.
template <class T, class F>
void for_each_number(T& t, const std::string& path, const F& f) {
  reflect::for_each_field(t, [&](std::string_view name, auto& field) {
    using Field = std::remove_cvref_t<decltype(field)>;
    const std::string here = path + std::string(name);
    if constexpr (std::is_integral_v<Field>) {
      f(here, field);
    } else if constexpr (std::is_enum_v<Field>) {
      auto number = static_cast<std::underlying_type_t<Field>>(field);
      f(here, number);
      if constexpr (!std::is_const_v<T>) field = static_cast<Field>(number);
    } else if constexpr (!std::is_same_v<Field, std::string>) {
      for_each_number(field, here + ".", f);
    }
  });
}

}  // namespace

std::string Target::text() const {
  std::string s = "target " + quoted_text(device);
  for_each_number(*this, "", [&](const std::string& name, std::uint64_t x) {
    s += " " + name + "=" + std::to_string(x);
  });
  return s;
}

Target Target::parse(std::string_view text) {
  TextReader in(text);
  Target t;
  in.expect("target");
  t.device = in.quoted();
  while (!in.at_end()) {
    std::string wanted(in.word("the name of a field"));
    while (in.accept(".")) wanted += "." + std::string(in.word("the name of a field"));
    in.expect("=");
    bool found = false;
    for_each_number(t, "", [&](const std::string& name, auto& field) {
      using Number = std::remove_cvref_t<decltype(field)>;
      if (name != wanted) return;
      found = true;
      const std::uint64_t x = in.unsigned_integer();
      if (x > std::numeric_limits<Number>::max())
        in.fail("`" + name + "` is at most " +
                std::to_string(std::uint64_t{std::numeric_limits<Number>::max()}));
      field = static_cast<Number>(x);
    });
    if (!found) in.fail("a target has no field `" + wanted + "`");
  }
  return t;
}

}  // namespace gnomon
