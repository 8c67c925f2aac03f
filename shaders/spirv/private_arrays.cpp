// shaders/spirv/private_arrays.cpp -- which private arrays go together.
#include "shaders/spirv/private_arrays.h"

namespace gnomon::spirv {

using kernel::Instruction;
using kernel::Op;
using kernel::Region;

namespace {

bool is_private(const Instruction& i) {
  return i.op == Op::private_load || i.op == Op::private_store;
}
bool is_word(DType t) { return size_of(in_local(t)) == 4; }

/// Calls `use(instruction)` for every access of a private array.
template <class Use>
void for_accesses(const Region& r, const Use& use) {
  for (const Instruction& i : r.body) {
    if (is_private(i)) use(i);
    for (const Region& inner : i.regions) for_accesses(inner, use);
  }
}

/// Calls `use(store, next)` for every store; `next`: the store that follows it with no other access
/// of a private array between them, nor a region; null: none.
template <class Use>
void for_stores(const Region& r, const Use& use) {
  const Instruction* store = nullptr;
  const auto end = [&](const Instruction* next) {
    if (store != nullptr) use(*store, next);
    store = next;
  };
  for (const Instruction& i : r.body) {
    if (is_private(i) || !i.regions.empty()) end(i.op == Op::private_store ? &i : nullptr);
    for (const Region& inner : i.regions) for_stores(inner, use);
  }
  end(nullptr);
}

bool same_place(const Instruction& a, const Instruction& b) {
  const auto mask = [](const Instruction& i) {
    return i.operands.size() > store_mask ? std::optional(i.operands[store_mask]) : std::nullopt;
  };
  return a.operands[0] == b.operands[0] && mask(a) == mask(b);
}

}  // namespace

std::vector<PrivateForm> share_elements(const kernel::Kernel& k) {
  std::vector<PrivateForm> forms(k.privates.size());
  for (std::size_t a = 0; a < forms.size(); ++a)
    forms[a].by_components = is_word(k.privates[a].dtype);
  for_accesses(k.body, [&](const Instruction& i) {
    const bool load = i.op == Op::private_load;
    const auto width = [&](kernel::Value v) { return k.types[v.index].width; };
    const std::size_t mask = load ? load_mask : store_mask;
    const bool together = width(load ? i.results[0] : i.operands[1]) % 2 == 0 &&
                          width(i.operands[0]) == 1 &&
                          (i.operands.size() <= mask || width(i.operands[mask]) == 1);
    if (!together) forms[array_of(i)].by_components = false;
  });

  // The first stores of arrays propose, all others have to agree.
  std::vector<bool> asked(forms.size());
  const auto fits = [&](std::uint32_t a) {
    return is_word(k.privates[a].dtype) && !forms[a].by_components && !asked[a];
  };
  for_stores(k.body, [&](const Instruction& store, const Instruction* next) {
    const std::uint32_t a = array_of(store);
    if (next != nullptr) {
      const std::uint32_t b = array_of(*next);
      if (a != b && fits(a) && fits(b) && k.privates[a].length == k.privates[b].length &&
          same_place(store, *next)) {
        const DType of_a = in_local(k.privates[a].dtype), of_b = in_local(k.privates[b].dtype);
        forms[a].half = forms[b].half = of_a == of_b ? of_a : DType::u32;
        forms[a].other = b;
        forms[b].other = a;
        forms[b].is_second = true;
        asked[b] = true;
      }
    }
    asked[a] = true;
  });
  std::vector<bool> alone(forms.size());
  const Instruction* first = nullptr;  // whose second is next
  for_stores(k.body, [&](const Instruction& store, const Instruction* next) {
    const std::uint32_t a = array_of(store);
    const Instruction* before = first;
    first = nullptr;
    if (!forms[a].other) return;
    if (forms[a].is_second) {
      if (before == nullptr) alone[a] = true;
      return;
    }
    const bool with_other =
        next != nullptr && array_of(*next) == *forms[a].other && same_place(store, *next);
    if (with_other)
      first = &store;
    else
      alone[a] = true;
  });
  for (std::uint32_t a = 0; a < forms.size(); ++a) {
    if (!alone[a] || !forms[a].other) continue;
    forms[*forms[a].other] = {};
    forms[a] = {};
  }
  return forms;
}

}  // namespace gnomon::spirv
