// engine/include/gnomon/nn/shared.h -- weights that a model has in two places.
#pragma once
#include <type_traits>
#include <utility>

#include "gnomon/partition.h"

#pragma GCC visibility push(default)
namespace gnomon::nn {

/// A model of which one part is made of another: it holds the weights once, so that gradients of
/// both uses are added up and an optimiser moves them together.
///
///   struct Words {
///     nn::Embedding embed;
///     nn::Linear head;
///   };
///   const auto tied = nn::share(words, [](auto& m) -> auto& { return m.head.weight; },
///                               [](const auto& m) { return m.embed.weight; });
///   const Words whole = tied();       // head.weight is embed.weight
///
/// A tree whose arrays are those of the model but at `where`, which is a hole.
template <class M, class Where, class From>
struct Shared {
  M model;
  Where where = {};
  From from = {};

  /// The model with both parts in place.
  M operator()(Loc loc = Loc::here()) const {
    return tree::at(where, model, clone(from(std::as_const(model))), loc);
  }

 private:
  template <class P>
  static std::remove_cvref_t<P> clone(P&& part) {
    return tree::clone(part);
  }
};

/// `model` with what `where` names (a selector as for tree::at) taken out; `from` gives it of the
/// model: a reference to a part, or a value such as a transposed one. Both are lambdas without
/// captures.
template <class M, class Where, class From>
Shared<M, Where, From> share(const M& model, Where where, From from) {
  static_assert(std::is_empty_v<Where> && std::is_empty_v<From>,
                "gnomon::nn::share: selectors are lambdas without captures, as they are part of "
                "the model's type");
  M rest = tree::clone(model);
  tree::for_each_slot(where(rest), [](Array& a) { a = Array::hole(); });
  return {std::move(rest), where, from};
}

}  // namespace gnomon::nn
#pragma GCC visibility pop
