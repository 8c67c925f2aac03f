// engine/include/gnomon/nn/sequential.h -- layers one after the other, and functions as layers.
#pragma once
#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "gnomon/nn/activation.h"
#include "gnomon/random.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon::nn {

/// Gives what it is given.
struct Identity {
  Array operator()(Operand x) const { return identity(x); }
};

/// A function as a layer: `nn::Lambda{relu}`.
struct Lambda {
  Activation function = identity;
  Array operator()(Operand x) const { return function(x); }
};

/// `slope` x below 0, x elsewhere, with a slope that is learned.
/// Source: K. He et al., "Delving Deep into Rectifiers", arXiv:1502.01852.
struct PReLU {
  Array slope;  // []; or an array that broadcasts to the input

  static PReLU make(double slope = 0.25, DType dtype = DType::f32, Loc loc = Loc::here());
  Array operator()(Operand x) const;
};

namespace detail {

/// Calls a layer, with the user's line where it takes one.
template <class L, class X, class... Rest>
auto call_layer(const L& layer, Loc loc, X&& x, Rest&&... rest) {
  // What is no template can be asked for an Operand; a generic lambda would have to compile.
  constexpr bool asks = requires { &L::operator(); };
  if constexpr (std::is_same_v<X, Array> && asks) {
    if constexpr (std::is_invocable_v<const L&, Operand, Rest...>)
      return layer(Operand(x, loc), std::forward<Rest>(rest)...);
    else
      return layer(std::forward<X>(x), std::forward<Rest>(rest)...);
  } else {
    return layer(std::forward<X>(x), std::forward<Rest>(rest)...);
  }
}

}  // namespace detail

/// Layers one after the other, each of what the one before gave.
///
///   const nn::Sequential net{nn::Linear::make(2, 64, std::move(a)), nn::Lambda{relu},
///                            nn::Dropout{0.1}, nn::Linear::make(64, 1, std::move(b))};
///   const Array y = net(x, std::move(key));
///
/// A layer is anything that can be called and be part of a tree: a struct, a function, a lambda
/// without captures, another Sequential. net(x) gives y, and so does net(x, key): layer i gets the
/// i-th key of as many as there are layers, as in Equinox, if it can be called with one.
/// net(x, state) and net(x, state, key) give std::pair{y, state}; the state goes through the layers
/// that take it, which give such pairs themselves.
template <class... Layers>
struct Sequential {
  std::tuple<Layers...> layers;

  Sequential() = default;
  Sequential(Layers... of) requires(sizeof...(Layers) > 0)  // NOLINT: as aggregates are made
      : layers(std::move(of)...) {}

  Array operator()(Operand x) const { return through<0>(x.loc(), array(x), None{}, None{}).first; }
  Array operator()(Operand x, Key key) const {
    return through<0>(x.loc(), array(x), None{}, keys(std::move(key), x.loc())).first;
  }
  template <class State>
  requires(!std::is_same_v<State, Key>) std::pair<Array, State>
  operator()(Operand x, State state) const {
    return through<0>(x.loc(), array(x), std::move(state), None{});
  }
  template <class State>
  std::pair<Array, State> operator()(Operand x, State state, Key key) const {
    return through<0>(x.loc(), array(x), std::move(state), keys(std::move(key), x.loc()));
  }

 private:
  friend struct gnomon::TreeAccess;
  template <class T>
  static auto fields(T& net) {
    return std::tie(net.layers);
  }
  static constexpr std::array<std::string_view, 1> field_names{"layers"};

  static Array array(const Operand& x) { return identity(x); }
  static Keys keys(Key key, Loc loc) {
    return random::split(std::move(key), static_cast<Dim>(sizeof...(Layers)), loc);
  }

  /// {y, state} of the layers from number I on. `State` and `AllKeys` are None where there are
  /// none.
  template <std::size_t I, class X, class State, class AllKeys>
  auto through(Loc loc, X x, State state, const AllKeys& keys) const {
    if constexpr (I == sizeof...(Layers)) {
      return std::pair<X, State>{std::move(x), std::move(state)};
    } else {
      using L = std::tuple_element_t<I, std::tuple<Layers...>>;
      const L& layer = std::get<I>(layers);
      constexpr bool stateful = !std::is_same_v<State, None>;
      constexpr bool keyed = !std::is_same_v<AllKeys, None>;
      if constexpr (stateful && keyed && std::is_invocable_v<const L&, X, State, Key>) {
        auto [y, next] = detail::call_layer(layer, loc, std::move(x), std::move(state),
                                            keys[static_cast<Dim>(I)]);
        return through<I + 1>(loc, std::move(y), std::move(next), keys);
      } else if constexpr (stateful && std::is_invocable_v<const L&, X, State>) {
        auto [y, next] = detail::call_layer(layer, loc, std::move(x), std::move(state));
        return through<I + 1>(loc, std::move(y), std::move(next), keys);
      } else if constexpr (keyed && std::is_invocable_v<const L&, X, Key>) {
        return through<I + 1>(
            loc, detail::call_layer(layer, loc, std::move(x), keys[static_cast<Dim>(I)]),
            std::move(state), keys);
      } else {
        static_assert(std::is_invocable_v<const L&, X>,
                      "gnomon::nn::Sequential: a layer cannot be called with what it is given. "
                      "Layers that keep a state need one, net(x, state), and those that draw need "
                      "a key, net(x, key) or net(x, state, key)");
        return through<I + 1>(loc, detail::call_layer(layer, loc, std::move(x)), std::move(state),
                              keys);
      }
    }
  }
};

}  // namespace gnomon::nn
#pragma GCC visibility pop
