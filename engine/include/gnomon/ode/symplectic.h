// engine/include/gnomon/ode/symplectic.h -- states of two halves that move along each other, and
// the methods that keep the structure of such motions.
//
//   struct State { Array v, x; };
//   const ode::PartitionedTerm spring(
//       ode::OdeTerm{[](const Array& t, const Array& x, const Array& k) { return -k * x; }},
//       ode::OdeTerm{[](const Array& t, const Array& v, const Array& k) { return v; }});
//   ode::diffeqsolve(spring, ode::Yoshida4(), 0.0, 1e4, 0.1, State{zeros({}), ones({})}, k)
//
// The error of the energy of such a solve does not grow with time, as long as steps are equal: with
// steps that a controller chooses it does.
#pragma once
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include "gnomon/ode/solvers.h"
#include "gnomon/ode/terms.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

namespace detail {

/// References to the members of a state that has two of them.
template <class Y>
auto members_of(const Y& y) {
  constexpr tree::Kind kind = tree::kind_of<Y>();
  if constexpr (kind == tree::Kind::tuple)
    return std::apply([](const auto&... member) { return std::tie(member...); }, y);
  else if constexpr (kind == tree::Kind::fields)
    return reflect::fields(y);
  else if constexpr (reflect::IsStdArray<Y>::value)
    return std::apply([](const auto&... member) { return std::tie(member...); }, y);
  else
    return std::tuple<>{};
}

/// The slope of one member of a state, from the other one; that of the other is 0.
template <std::size_t Which, class F>
struct Half {
  F vector_field;

  template <class Y, class Args>
  Y operator()(const Array& t, const Y& y, const Args& args) const {
    using Members = decltype(members_of(y));
    static_assert(std::tuple_size_v<Members> == 2,
                  "gnomon::ode::PartitionedTerm: the state has two members, {p, q}: the first term "
                  "moves p along q, the second one q along p");
    if constexpr (std::tuple_size_v<Members> == 2) {
      const Members members = members_of(y);
      const auto& other = std::get<1 - Which>(members);
      using Own = std::remove_cvref_t<std::tuple_element_t<Which, Members>>;
      using Other = std::remove_cvref_t<decltype(other)>;
      static_assert(std::is_invocable_v<const F&, const Array&, const Other&, const Args&>,
                    "gnomon::ode::PartitionedTerm: a vector field is called with (const Array& t, "
                    "const Other& other, const Args& args): the member of the state that it does "
                    "not move, and the args of diffeqsolve");
      using R = std::remove_cvref_t<
          std::invoke_result_t<const F&, const Array&, const Other&, const Args&>>;
      static_assert(std::is_same_v<R, Own>,
                    "gnomon::ode::PartitionedTerm: a vector field must return the type of the "
                    "member of the state that it moves");
      std::vector<Array> slope = tree::leaves(vector_field(t, other, args));
      const std::vector<Array> rest = tree::leaves(tree::zeros_like(other));
      slope.insert(Which == 0 ? slope.end() : slope.begin(), rest.begin(), rest.end());
      return tree::with_leaves(y, slope);
    } else {
      return y;
    }
  }
};

}  // namespace detail

/// dp = f(t, q, args) dt, dq = g(t, p, args) dt for a state {p, q}: a struct, pair or tuple of two
/// members of any types, of which each moves along the other one. Velocities and places, momenta
/// and positions: f gives forces, and g makes velocities of momenta.
///
/// f: (Array t, Q q, Args args) -> P; g: (Array t, P p, Args args) -> Q. Methods that take an
/// explicit and an implicit term take these; `to_ode` makes one term of both for all others.
template <class F, class G>
struct PartitionedTerm {
  detail::Half<0, F> first;
  detail::Half<1, G> second;
  PartitionedTerm(OdeTerm<F> f, OdeTerm<G> g)
      : first{std::move(f.vector_field)}, second{std::move(g.vector_field)} {}
};

/// The equation of the whole state.
template <class F, class G>
auto to_ode(PartitionedTerm<F, G> term) {
  return OdeTerm{[term = std::move(term)](const Array& t, const auto& y, const auto& args) {
    const std::vector<Array> p = tree::leaves(term.first(t, y, args));
    std::vector<Array> all = tree::leaves(term.second(t, y, args));
    const std::size_t half = tree::leaf_count(std::get<0>(detail::members_of(y)));
    for (std::size_t i = 0; i < half; ++i) all[i] = p[i];
    return tree::with_leaves(y, all);
  }};
}

namespace detail {

template <class F, class G>
std::tuple<const Half<0, F>&, const Half<1, G>&> fields_of(const PartitionedTerm<F, G>& term) {
  return {term.first, term.second};
}
template <class F, class G>
void add_drives(const PartitionedTerm<F, G>&, std::vector<Driven>& to) {
  to.resize(to.size() + 2);
}

/// Arrays in the first half of a state; 0 where it has no halves.
template <class Term, class Y>
std::size_t first_half_of(const Term&, const Y&) {
  return 0;
}
template <class F, class G, class Y>
std::size_t first_half_of(const PartitionedTerm<F, G>&, const Y& y) {
  if constexpr (std::tuple_size_v<decltype(members_of(y))> == 2)
    return tree::leaf_count(std::get<0>(members_of(y)));
  else
    return 0;
}

}  // namespace detail

/// A method that moves the halves of a PartitionedTerm's state in turn, which is symplectic where
/// the term is that of a Hamiltonian. One of those below. No error estimate (HalfSolver makes one).
///
/// Where fields depend on time each half has its own, which gets on with it.
class Symplectic : public Solver {
 protected:
  using Solver::Solver;
};

/// Order 1: p by f, then q by g of the new p, both at the time the step begins; linear between the
/// steps. Source: R. de Vogelaere, Methods of integration which preserve the contact transformation
/// property of the Hamilton equations, 1956.
struct SemiImplicitEuler : Symplectic {
  SemiImplicitEuler();
};
/// Order 2, time-reversible, as all below: p by half a step, q by one, p by the other half; f and g
/// once a step. Also leapfrog, Stoermer's method. Cubic between the steps, for an evaluation of g.
/// Source: L. Verlet, Phys. Rev. 159 (1967).
struct VelocityVerlet : Symplectic {
  VelocityVerlet();
};
/// Order 4: three steps of VelocityVerlet, one of them backwards. Source: H. Yoshida, Construction
/// of higher order symplectic integrators, Phys. Lett. A 150 (1990), equation 2.11.
struct Yoshida4 : Symplectic {
  Yoshida4();
};
/// Order 6: seven of them; between the steps the cubic is of order 3, see Solver. Source: as
/// Yoshida4, table 1, solution A.
struct Yoshida6 : Symplectic {
  Yoshida6();
};
/// Order 8: fifteen of them, and the same cubic. Source of the construction: as Yoshida4; of the
/// weights, the smallest ones: M. Suzuki, K. Umeno, Higher-order decomposition theory of
/// exponential operators and its applications to QMC and nonlinear dynamics, 1993; in E. Hairer, C.
/// Lubich, G. Wanner, Geometric Numerical Integration, 2nd edition, equation V.3.11.
struct Yoshida8 : Symplectic {
  Yoshida8();
};

}  // namespace gnomon::ode
#pragma GCC visibility pop
