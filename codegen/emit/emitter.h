// codegen/emit/emitter.h -- turns graph values into kernel values, one element at a time, on
// demand.
//
// A kernel asks for the elements it stores; each element asks its equation's element rule, which
// asks for operand elements at positions it computes. Everything is memoised by (value, position),
// so shared sub-expressions appear once. What is asked for is emitted at the outermost open region
// where its position is known: loop-invariant code leaves loops by construction.
//
// A value that is read many times and costs something is computed once per lane into a *tile*:
// scalars when small, else a private array, else scratch memory with the lane axis innermost.
// Carried values of loops are tiles too.
//
// Lane locality needs no analysis of its own: a kernel over a lane axis may touch a carried value
// only at its own lane; asking for another lane's element throws NotLaneLocal, and the caller
// chooses another mapping.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/analysis/in_place.h"
#include "codegen/analysis/layout.h"
#include "codegen/analysis/uses.h"
#include "codegen/graph/element.h"
#include "codegen/graph/graph.h"
#include "codegen/program/target.h"
#include "shaders/support/hash_chains.h"
#include "shaders/support/small_vector.h"

namespace gnomon {

/// Thrown while emitting: this region communicates along the lane axis.
struct NotLaneLocal {
  std::string why;
};
/// Thrown while emitting: the kernel would be unreasonably large. The caller fuses less.
struct KernelTooLarge {};
/// Thrown while emitting: products of a kernel with vectors of its lanes cannot all be written out,
/// or would be for each of many scalars.
struct ProductsTooLong {};
/// One value as one lane holds it: every axis but the pinned one.
struct Tile {
  enum class Kind : std::uint8_t { elements, private_array, buffer };
  Kind kind = Kind::elements;
  DType dtype = DType::f32;
  Shape shape;
  int pinned = -1;  // axis whose coordinate is the lane; -1: none, the lane holds all of it
  kernel::Values elements;
  std::uint32_t memory = 0;  // private array or kernel buffer
  /// A buffer that shows a value of the graph: how it lies there. None: as in scratch memory.
  std::optional<Layout> layout;
  std::optional<std::uint32_t>
      spill;  // elements copied to this private array, for dynamic indexing
  Dim count() const {
    return pinned >= 0 ? shape.size() / std::max<Dim>(1, shape[pinned]) : shape.size();
  }
  /// Whether both are one array.
  bool is_array_of(const Tile& other) const {
    return kind != Kind::elements && kind == other.kind && memory == other.memory;
  }
};

/// A place in device memory and what lies where in it.
struct MemoryRef {
  std::uint32_t buffer = 0;
  Layout layout;
};

class Emitter;

/// Evaluation of one graph at one place of the kernel.
class Frame {
 public:
  using Source = std::function<kernel::Value(const Index&)>;

  Frame(Emitter& emitter, const Graph& graph);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  void bind(ValueId v, Source source);
  /// Where values come from that are bound in no other way; an empty source for those that an
  /// equation defines.
  void bind_rest(std::function<Source(ValueId)> rest) { rest_ = std::move(rest); }
  void bind(ValueId v, Tile tile);
  /// A value that lives in memory although an equation of this graph defines it (another kernel
  /// computed it).
  void bind_memory(ValueId v, MemoryRef memory);
  /// Rows of a stacked scan output go straight to memory.
  void store_directly(ValueId v, MemoryRef memory) { direct_[v] = std::move(memory); }

  /// Whether a loop has left `v` in this very array.
  bool lies_in(ValueId v, const Tile&) const;

  /// Memory where the history that a loop carries out may lie all the while.
  void offer_home(ValueId v, MemoryRef memory) { homes_[v] = std::move(memory); }
  /// Whether it does; `v` was forced.
  bool is_at_home(ValueId v) const { return direct_.contains(v); }

  /// The loop that gives `v` may work in the memory of what it carries in, which `v` shares: nobody
  /// needs that one afterwards. `among`: the kernel's equations; outlives this. To be forced before
  /// anything else is asked for.
  void offer_takeover(ValueId v, MemoryRef memory, const std::set<std::uint32_t>& among) {
    takeovers_[v] = std::move(memory);
    among_ = &among;
  }

  kernel::Value element(ValueId v, const Index& index);
  /// Makes sure the loop that defines `v` is emitted (its direct stores happen).
  void force(ValueId v);
  /// Whether the loop or branch that defines `v` leaves it in an array.
  bool is_array(ValueId v);

 private:
  friend class Emitter;
  friend class EquationContext;
  friend class ScanRows;
  friend class WhileGraphs;
  using Tiles = std::vector<std::optional<Tile>>;

  /// Whether coordinates were computed further in than the flat form that they turned out to have:
  /// what follows from the position belongs where the flat form is, and cannot use them.
  bool flat_further_out(const Index&) const;
  kernel::Value compute(ValueId v, const Index& index);
  kernel::Value rule(ValueId v, const Equation&, const Index& index);
  bool worth_a_tile(ValueId v, const Index& index) const;
  Tile& materialise(ValueId v, const Index& index);
  const Equation* shown_product(ValueId v) const;
  /// Elements of `v` that are best computed side by side; 0: as many as suit the driver.
  Dim neighbours(ValueId v) const;
  Dim terms_of(const Equation& product) const;
  /// Whether every element of a product with a vector that the lane holds is written out.
  bool is_written_out(const Equation& product) const;
  /// A product whose sums are added up while the elements of one operand, which nobody else needs,
  /// are computed: that one is in no array then.
  struct Summed {
    ValueId vector = 0, matrix = 0;
    int axis = 0, matrix_axis = 0;  // that is summed over
    int pinned = -1;                // the lane axis of the result
  };
  std::optional<Summed> summed_by(const Equation&) const;
  /// The product that `v` is to be summed up for as it is computed; null: none.
  const Equation* sums_of(ValueId v) const;
  void sum_while_computing(const Equation&);
  /// What is done with the elements of a value as a tile of it is filled.
  std::unordered_map<ValueId, std::function<void(const Index&, kernel::Value)>> also_;
  /// Whether the lane has `v` in registers or a private array.
  bool holds(ValueId v) const;
  Tiles& results(std::size_t equation);
  /// An array of which nobody looks at what it begins with.
  bool is_empty(ValueId v) const;
  Tiles emit_while(const Equation&);
  /// The body of a loop may overwrite what it carries. `running`: the lanes of a loop in whose body
  /// one invocation holds all lanes, of which only some take the step.
  void own_carried(std::size_t count, const Tile* running);
  /// Emits the loops that work in the memory of a carried value, in order, before anything else of
  /// the body is asked for.
  void run_loops_in_place();
  struct Taken {
    std::vector<std::optional<Tile>> tiles;  // per carried value: the memory that it takes over
    std::vector<SliceChain> chains;          // what has to be written there first
  };
  /// What a loop takes over. `pinned`: the lane axis of its arrays. What else is computed from them
  /// is done.
  Taken take_over(const Equation&, std::size_t carried,
                  const std::function<int(const Aval&)>& pinned);
  void write_before(const Taken&);
  /// An array that a loop of this body may overwrite, as far as it is nobody else's.
  std::optional<Tile> own_array(ValueId v);
  /// Computes all elements of `v` here, like a lane axis of `pinned` has it.
  void hold(ValueId v, int pinned);
  /// The kernel's buffer for what a loop carries out, if it lies in memory as a tile in scratch
  /// memory does: every lane's part, where it begins unwritten, or the whole in a kernel of one
  /// lane.
  std::optional<std::uint32_t> take_home(ValueId output, const Tile&);
  Tiles emit_scan(const Equation&);
  Tile emit_scatter(const Equation&, int pinned);
  kernel::Value emit_cond(const Equation&, std::size_t output, const Index&);
  std::optional<Tiles> try_cond_tiles(const Equation&);
  Tiles all_branches(const Equation&);
  kernel::Value takes(const Equation&, std::size_t output, const Index&, std::size_t branch);
  Source parent_source(ValueId v);
  void bind_constants(Frame& inner, const Equation&, std::size_t first_input,
                      std::size_t first_constant);
  kernel::Value branch_index(const Equation&, std::size_t output, const Index&);
  kernel::Values choose(kernel::Value index, bool boolean, std::size_t branches,
                        const std::function<kernel::Values(std::size_t)>& branch);

  Emitter& e_;
  const Graph& graph_;
  std::uint32_t base_depth_;
  std::shared_ptr<const Uses> uses_;
  std::unordered_map<ValueId, Source> sources_;  // empty when an equation defines it
  std::function<Source(ValueId)> rest_;
  std::unordered_map<ValueId, Tile> tiles_;  // inputs given as tiles and materialised values
  std::unordered_map<ValueId, MemoryRef> direct_, homes_, takeovers_;
  const std::set<std::uint32_t>* among_ = nullptr;
  std::size_t owned_ = 0;  // so many inputs are carried values that may be overwritten
  std::optional<Tile> running_;
  std::set<std::uint32_t> open_;  // loops that wait for what has to come before them
  std::unordered_map<std::size_t, Tiles> results_;  // per structured equation
  using Position = SmallVector<kernel::Value, 4>;   // flat, or coordinates
  struct Memo {
    ValueId of;
    Position position;
    kernel::Value value;
  };
  HashChains<Memo> memo_;
};

/// State of one kernel under construction.
class Emitter {
 public:
  Emitter(kernel::Builder& builder, const Target& device) : k(builder), target(device) {}

  kernel::Builder& k;
  const Target& target;
  kernel::Value lane;  // invalid: the kernel has no lane axis (sequential)
  Dim lanes = 0;
  const kernel::Team* team = nullptr;  // invocations that share a lane
  bool pins = true;       // a value whose axis runs with the lanes is held by each lane for itself
  Dim scalar_limit = 64;  // tiles up to this many elements are scalars
  Dim private_limit = 1024;  // and up to this many a private array
  Dim unroll_limit = 16;     // ranges up to this length are written out
  /// Products of up to this many terms are written out where the lane holds one operand: what is
  /// read of a private array at a computed position is a gather on CPU drivers.
  Dim product_limit = 0;
  Dim written_terms = 0;             // of them so far
  bool writes_products = false;      // all of them, or none
  std::size_t value_limit = 200000;  // instructions beyond which the kernel is too large

  /// Scratch memory this kernel needs: kernel buffer and number of elements.
  struct Scratch {
    std::uint32_t buffer;
    DType dtype;
    Dim elements;
  };
  std::vector<Scratch> scratch;

  // ---- memory
  kernel::Value load(const MemoryRef&, const Shape&, const Index&);
  void store(const MemoryRef&, const Shape&, const Index&, kernel::Value);

  // ---- tiles
  Tile make_tile(DType, const Shape&, int pinned, bool writable);
  Index tile_index(const Tile&, kernel::Value residual) const;
  kernel::Value tile_offset(const Tile&, const Index&) const;
  kernel::Value tile_load(Tile&, const Index&);
  kernel::Value tile_load_at(const Tile&, kernel::Value residual);
  void tile_store(const Tile&, kernel::Value residual, kernel::Value value, kernel::Value mask);
  /// Fills a tile. Scalars unrolled, arrays by a loop, of whose trips each does as many elements as
  /// suit the driver, or `together` where that is more and divides evenly.
  void fill(Tile&, const std::function<kernel::Value(const Index&)>& value, Dim together = 0);
  /// How many of `count` elements a trip of a loop over them does.
  Dim elements_of_trip(Dim count, Dim together) const;
  /// for residual in 0..count-1, a few unrolled.
  void for_each(Dim count, const std::function<void(kernel::Value)>& body, Dim together = 0);
  /// Pinned axis of a position: the axis whose coordinate is the lane.
  int pinned_axis(const Index&) const;
  /// Where a carried or stacked value of `shape` has its lane axis: `axis` if its length is the
  /// number of lanes.
  int lane_axis(const Shape& shape, int axis) const;

  std::shared_ptr<const Uses> uses_of(const Graph&);
  /// What is known of a graph already; outlives this.
  void know_uses(const Graph&, const Uses&);

 private:
  kernel::Value position_in(const MemoryRef&, const Shape&, const Index&);

  std::unordered_map<const Graph*, std::shared_ptr<const Uses>> uses_;
};

}  // namespace gnomon
