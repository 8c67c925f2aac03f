// engine/include/gnomon/operators/operator.h -- Operator: a matrix that is known by its products.
//
// The vectors of an operator are trees of float arrays; as a matrix it has a column for every
// number of the tree it takes and a row for every number of the tree it gives, arrays in order,
// each by rows. What an operator is made of (operators/kinds.h) is a tree itself: a Dense or a Csr
// is passed to a jitted function, mapped by vmap and differentiated in like any struct of arrays,
// and becomes an Operator where one is asked for. An Operator is a value of the function that makes
// it and goes no further than that function.
//
//   auto step = jit(rt, [](const operators::Dense& a, const Array& d, const Array& b) {
//     const operators::Operator shifted = a + operators::Diagonal{d};
//     return shifted.mv(b);
//   });
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/array.h"
#include "gnomon/handler.h"
#include "gnomon/ops.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon::operators {

/// What is promised of a matrix. Nothing of it is checked beyond what costs nothing; algebra keeps
/// what follows (the sum of symmetric operators is symmetric).
struct Tags {
  bool symmetric = false;
  bool positive_semidefinite = false;  // and symmetric
  bool negative_semidefinite = false;  // and symmetric
  bool diagonal = false;
  bool tridiagonal = false;
  bool lower_triangular = false, upper_triangular = false;
  bool unit_diagonal = false;  // ones on the diagonal
  bool operator==(const Tags&) const = default;

  /// Symmetric by its own tag or by another one.
  bool is_symmetric() const {
    return symmetric || positive_semidefinite || negative_semidefinite || diagonal;
  }
};
/// "symmetric, positive semidefinite"; "none".
std::string to_string(const Tags&);

/// The vectors that an operator takes or gives: the types of the arrays of a tree, in order.
struct Space {
  std::vector<Aval> arrays;
  /// How many numbers a vector has.
  Dim size() const;
  /// What all arrays promote to.
  DType dtype() const;
  bool operator==(const Space&) const = default;
};
/// "f32[3], f32[2,2]".
std::string to_string(const Space&);

/// How an operator is computed: what a new kind of operator derives from. Everything but a product
/// has a default that is made of products.
///
/// A *block* of vectors carries them along a last axis: an array x[n] becomes [n, k].
class Map {
 public:
  using Arrays = std::vector<Array>;

  Map(Space in, Space out, Tags tags, std::string name)
      : in_(std::move(in)), out_(std::move(out)), tags_(tags), name_(std::move(name)) {}
  Map(const Map&) = delete;
  Map& operator=(const Map&) = delete;
  virtual ~Map() = default;

  const Space& in() const { return in_; }
  const Space& out() const { return out_; }
  const Tags& tags() const { return tags_; }
  /// What messages call it: "Dense".
  const std::string& name() const { return name_; }

  /// A x; linear in x. Types are checked by Operator.
  virtual Arrays mv(const Arrays& x, Loc) const = 0;
  /// A X for a block; by default mv of every vector.
  virtual Arrays mm(const Arrays& x, Loc) const;
  /// A^T; null: by transposing the graph of mv.
  virtual std::shared_ptr<const Map> transpose(Loc) const { return nullptr; }
  /// The matrix [rows, columns]; by default the product with the identity.
  virtual Array as_matrix(Loc) const;
  /// The diagonal [rows] of a square operator where it costs less than products with all unit
  /// vectors.
  virtual std::optional<Array> diagonal(Loc) const { return std::nullopt; }
  /// Bands below, on and above the diagonal of a tridiagonal operator, [n - 1], [n], [n - 1],
  /// where they are stored.
  struct Bands {
    Array lower, diag, upper;
  };
  virtual std::optional<Bands> bands(Loc) const { return std::nullopt; }

 private:
  Space in_, out_;
  Tags tags_;
  std::string name_;
};

/// A linear map from one space to another. Copies share.
class Operator {
 public:
  using Arrays = std::vector<Array>;

  Operator(std::shared_ptr<const Map> map);  // NOLINT: implicit, as its kinds are

  const Space& in() const { return map_->in(); }
  const Space& out() const { return map_->out(); }
  Dim rows() const { return out().size(); }
  Dim columns() const { return in().size(); }
  bool square() const { return in() == out(); }
  const Tags& tags() const { return map_->tags(); }
  const Map& map() const { return *map_; }
  const std::shared_ptr<const Map>& shared() const { return map_; }

  /// A x for a tree x of the space the operator takes. The result is an Array where the operator
  /// gives one array, else a tree like x: then A has to be square.
  /// Throws UsageError naming both types when x is of another space.
  template <class X>
  X mv(const X& x, Loc loc = Loc::here()) const {
    static_assert(!std::is_arithmetic_v<X>, "gnomon::operators: a vector is an Array or a tree");
    if constexpr (std::is_same_v<X, Arrays>)
      return product(x, loc);
    else
      return tree::with_leaves(as_result(x, loc), product(tree::leaves(x), loc));
  }
  /// A X for a block: the vectors of a tree along a last axis of each of its arrays, [n, k] for
  /// vectors [n]. Result as that of mv.
  template <class X>
  X mm(const X& x, Loc loc = Loc::here()) const {
    if constexpr (std::is_same_v<X, Arrays>)
      return block_product(x, loc);
    else
      return tree::with_leaves(as_result(x, loc), block_product(tree::leaves(x), loc));
  }

  /// A^T. Of a symmetric operator that operator.
  Operator transpose(Loc loc = Loc::here()) const;
  /// The matrix [rows, columns]: as many products as there are columns, where it is not stored.
  Array as_matrix(Loc loc = Loc::here()) const;
  /// The diagonal [rows]. Where neither stored nor implied it takes a product with every unit
  /// vector. Throws UsageError for an operator that is not square.
  Array diagonal(Loc loc = Loc::here()) const;

  /// The same operator with these promises added.
  /// Throws UsageError for promises that contradict each other or need a square operator.
  Operator tagged(Tags, Loc loc = Loc::here()) const;

 private:
  template <class X>
  const X& as_result(const X& x, Loc loc) const {
    if constexpr (!std::is_same_v<X, Array>) require_same_trees(loc);
    return x;
  }
  void require_same_trees(Loc) const;
  Arrays product(const Arrays&, Loc) const;
  Arrays block_product(const Arrays&, Loc) const;

  std::shared_ptr<const Map> map_;
};

/// Throws UsageError "gnomon::<op>: ..." unless the operator is square.
void require_square(std::string_view op, const Operator&, Loc);
/// The same unless a preconditioner, where there is one, takes what the operator gives and gives
/// what it takes.
void require_preconditioner(std::string_view op, const Operator&,
                            const std::optional<Operator>& preconditioner, Loc);

}  // namespace gnomon::operators
#pragma GCC visibility pop
