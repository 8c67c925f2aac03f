// codegen/checks/check_buffers.cpp -- replays a graph with tags that go with the elements of
// buffers.
//
// What descends from a buffer has an array of i32 beside it, of its shape, that every move moves
// alike: ~p is the element at place p of the buffer while nobody wrote it, p once somebody did (p
// counts over all buffers), `elsewhere` an element of another array. So a write is one where the
// tag that arrives differs from the one it finds, and a second one where what it finds is written;
// both cost the slice. Statements do the rest: loops, branches and lanes are
// optimize/lower_effects's affair.
#include "codegen/checks/check_buffers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "codegen/lax/positions.h"
#include "codegen/operations/buffer.h"
#include "codegen/operations/effects.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/buffer_origins.h"
#include "codegen/transforms/control_trace.h"
#include "codegen/transforms/inline_calls.h"

namespace gnomon {
namespace {

using control::joined;
using control::part;

constexpr double elsewhere = 0x7fffffff;

/// What goes with an array that descends from a buffer.
struct Mark {
  Array tags;
  std::size_t buffer = 0;
  Loc read;  // where it was taken out of the buffer; without line: it is the buffer itself
};
struct MarkedArray {
  Array array;
  std::optional<Mark> mark;
};
using MarkedArrays = std::vector<MarkedArray>;

Arrays arrays_of(const MarkedArrays& values) {
  Arrays r;
  for (const MarkedArray& v : values) r.push_back(v.array);
  return r;
}

Array tags_of(const MarkedArray& v) {
  return v.mark ? v.mark->tags : lax::full({DType::i32, v.array.shape()}, elsewhere);
}

Loc read_of(const MarkedArray& v) { return v.mark ? v.mark->read : Loc{}; }

bool is_scatter(const Primitive* p) {
  return p == &scatter_set_p || p == &scatter_add_p || p == &scatter_mul_p || p == &scatter_min_p ||
         p == &scatter_max_p;
}

class Checker {
 public:
  explicit Checker(const Graph& g) : origins_(g) {}
  bool idle() const { return origins_.buffers().empty(); }

  Graph check(const Graph& g) {
    Trace t;
    MarkedArrays inputs;
    for (ValueId v : g.inputs) inputs.push_back({t.input(g.avals[v]), {}});
    const MarkedArrays outputs = replay(g, inputs, t);
    // What was taken out of a buffer leaves the program: nobody can check it later.
    for (const MarkedArray& v : outputs)
      if (read_of(v).line > 0) require_written(*v.mark, v.mark->read);
    return t.finish(arrays_of(outputs));
  }

 private:
  // -- errors

  /// One axis in front for the elements of the vmaps around, as statements have it. A value without
  /// is the same for all of them.
  Array by_lane(const Array& a) const {
    Dim lanes = 1, front = 1;
    for (const Lanes& l : lanes_) lanes *= l.count;
    int axis = 0;
    while (axis < a.rank() && front < lanes) front *= a.shape()[axis++];
    if (front != lanes) return lax::insert_axis(a, 0, lanes);
    return lax::reshape(a, a.shape().part(axis, a.rank()).with_inserted(0, lanes));
  }

  void fail_where(const Array& bad, std::size_t buffer, const std::string& what,
                  const std::string& remedy, Loc loc) {
    if (blind_ > 0 || bad.size() == 0) return;
    const BufferOrigins::Buffer& b = origins_.buffers()[buffer];
    StatementParams p;
    p.text = "buffer: " + what + " (buffer " + to_string(b.aval) +
             (b.loc.line > 0 ? " made at " + to_string(b.loc) : std::string()) + "); " + remedy;
    for (const Lanes& l : lanes_) {
      p.lanes.push_back(l.count);
      p.inside.push_back(loops_ - l.loops);
    }
    emit(error_if_p, std::move(p), {lanes_.empty() ? bad : by_lane(bad)}, loc);
  }

  void require_written(const Mark& mark, Loc loc) {
    fail_where(lax::lt(mark.tags, lax::zeros_like(mark.tags)), mark.buffer,
               "an element is read before it was written",
               "write it first, or choose with `where` before computing", loc);
  }

  // -- equations

  static bool reads(const Equation& e, std::size_t operand, const MarkedArrays& in) {
    if (e.primitive->lower.statement || hands_on(e, operand)) return false;
    if (e.primitive == &while_p || e.primitive == &scan_p) return false;
    if (e.primitive == &cond_p) return operand == 0;
    // An element that a write brings may be one that it puts back.
    const bool brought = (e.primitive == &dynamic_update_slice_p && operand == 1) ||
                         (e.primitive == &scatter_set_p && operand == 2);
    return !brought || !in[0].mark;
  }

  MarkedArrays replay(const Graph& g, const MarkedArrays& inputs, Trace& t) {
    MarkedArrays env(g.avals.size());
    std::vector<bool> required(g.avals.size(), false);
    for (std::size_t i = 0; i < inputs.size(); ++i) env[g.inputs[i]] = inputs[i];
    for (const Equation& e : g.equations) {
      t.loc = e.loc;
      MarkedArrays in;
      for (ValueId v : e.inputs) in.push_back(env[v]);
      for (std::size_t i = 0; i < in.size(); ++i) {
        if (!in[i].mark || !reads(e, i, in) || required[e.inputs[i]]) continue;
        required[e.inputs[i]] = true;
        const Mark& m = *in[i].mark;
        require_written(m, m.read.line > 0 ? m.read : e.loc);
      }
      const MarkedArrays out = results(e, in);
      for (std::size_t i = 0; i < out.size(); ++i) env[e.outputs[i]] = out[i];
    }
    MarkedArrays outputs;
    for (ValueId v : g.outputs) outputs.push_back(env[v]);
    return outputs;
  }

  MarkedArrays results(const Equation& e, const MarkedArrays& in) {
    if (e.primitive == &while_p || e.primitive == &scan_p) return loop(e, in);
    if (e.primitive == &cond_p) return branches(e, in);
    MarkedArrays r;
    for (const Array& a : emit(*e.primitive, e.params, arrays_of(in), e.loc)) r.push_back({a, {}});
    if (e.primitive == &buffer_p) {
      const std::size_t number = origins_.number(e);
      r[0].mark = Mark{unwritten(origins_.buffers()[number]), number, {}};
    }
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (!in[i].mark || !hands_on(e, i)) continue;
      r[0].mark = in[i].mark;
      r[0].mark->tags = moved(e, in);
      const bool part =
          e.primitive == &slice_p || e.primitive == &dynamic_slice_p || e.primitive == &gather_p;
      if (part && r[0].mark->read.line == 0) r[0].mark->read = e.loc;
      break;
    }
    return r;
  }

  static Array unwritten(const BufferOrigins::Buffer& b) {
    const Shape& shape = b.aval.shape;
    const Array place =
        lax::add(lax::iota(DType::i32, Shape(shape.size()), 0),
                 lax::full({DType::i32, Shape(shape.size())}, static_cast<double>(b.first)));
    return lax::reshape(lax::unary(not_p, place), shape);
  }

  /// The tags of the result of an operation that hands elements on.
  Array moved(const Equation& e, const MarkedArrays& in) {
    Arrays operands = arrays_of(in);
    for (std::size_t i = 0; i < in.size(); ++i)
      if (hands_on(e, i)) operands[i] = tags_of(in[i]);
    if (e.primitive == &dynamic_update_slice_p) return updated(e, in, operands);
    if (is_scatter(e.primitive)) return scattered(e, in, operands);
    if (e.primitive == &pad_p) operands[1] = lax::scalar(DType::i32, elsewhere);
    if (e.primitive != &gather_p) return emit1(*e.primitive, e.params, operands, e.loc);
    return found(operands[0], operands[1], e.params.as<GatherParams>());
  }

  /// Tags at indices; what is read where nothing is is of elsewhere.
  static Array found(const Array& tags, const Array& indices, GatherParams p) {
    const Dim length = tags.shape()[p.axis];
    const Aval result{DType::i32,
                      rules::gathered_shape(tags.shape(), indices.shape(), p.axis, p.batch_dims)};
    if (length == 0) return lax::full(result, elsewhere);
    const bool fills = p.mode == GatherMode::fill;
    p.mode = GatherMode::clip;
    const Array r = emit1(gather_p, p, {tags, indices}, {});
    if (!fills) return r;
    const Array inside = positions::in_range(indices, length, {});
    return lax::select(positions::over_rows(inside, result.shape, p.axis, p.batch_dims, {}), r,
                       lax::full(result, elsewhere));
  }

  /// What tags become where an element is written over another, and the error where that one was
  /// written, or where it is written repeatedly (`again`, in either case only where it counts).
  Array written(const Mark& onto, const Array& old, const MarkedArray& brought,
                const std::optional<Array>& counts, const std::optional<Array>& again, Loc loc) {
    const Array zero = lax::zeros_like(old);
    const Array empty = lax::lt(old, zero);
    Array second = lax::unary(not_p, empty);
    if (again) second = emit1(or_p, {}, {second, *again}, {});
    if (counts) second = lax::logical_and(second, *counts);
    Array next = emit1(max_p, {}, {old, lax::unary(not_p, old)}, {});
    if (brought.mark) {
      // An element that comes back to its place.
      const Array back = lax::logical_and(lax::eq(brought.mark->tags, old),
                                          lax::lt(old, lax::full_like(old, elsewhere)));
      second = lax::logical_and(second, lax::unary(not_p, back));
      next = lax::select(back, old, next);
    }
    fail_where(second, onto.buffer, "an element is written a second time",
               "write each element once, or use zeros for what changes", loc);
    return next;
  }

  Array updated(const Equation& e, const MarkedArrays& in, Arrays operands) {
    const int batch_dims = e.params.as<DynamicUpdateSliceParams>().batch_dims;
    const Shape& update = in[1].array.shape();
    const Array starts_first = operands[1];
    operands.erase(operands.begin() + 1);
    const DynamicSliceParams slice{update.part(batch_dims, update.rank()), batch_dims};
    const Array old = emit1(dynamic_slice_p, slice, operands, {});
    operands.insert(operands.begin() + 1, written(*in[0].mark, old, in[1], {}, {}, e.loc));
    return emit1(dynamic_update_slice_p, e.params, operands, {});
  }

  Array scattered(const Equation& e, const MarkedArrays& in, const Arrays& operands) {
    const auto& p = e.params.as<ScatterParams>();
    const Array &tags = operands[0], &indices = operands[1];
    const Shape& shape = in[2].array.shape();
    if (shape.size() == 0 || tags.size() == 0) return tags;
    const auto over = [&](const Array& a) {
      return positions::over_rows(a, shape, p.axis, p.batch_dims, {});
    };
    const Array old = found(tags, indices, {p.axis, p.batch_dims, GatherMode::clip});
    const Array inside = over(positions::in_range(indices, tags.shape()[p.axis], {}));
    if (e.primitive != &scatter_set_p) {
      const Array missing = lax::logical_and(inside, lax::lt(old, lax::zeros_like(old)));
      require_written({lax::select(missing, old, lax::zeros_like(old)), in[0].mark->buffer, {}},
                      e.loc);
    }
    // How many indices name an element.
    Shape along = indices.shape();
    along[p.batch_dims] = tags.shape()[p.axis];
    const ScatterParams flat{p.batch_dims, p.batch_dims};
    const Array named =
        emit1(scatter_add_p, flat,
              {lax::full({DType::i32, along}, 0), indices, lax::full_like(indices, 1)}, {});
    const Array count = found(named, indices, {p.batch_dims, p.batch_dims, GatherMode::clip});
    const Array repeated = over(lax::lt(lax::full_like(count, 1), count));
    const Array next = written(*in[0].mark, old, in[2], inside, repeated, e.loc);
    return emit1(scatter_set_p, ScatterParams{p.axis, p.batch_dims}, {tags, indices, next}, {});
  }

  // -- loops and branches

  /// Elements of a vmap, each in loops and branches of its own.
  struct Lanes {
    Dim count = 0;
    int loops = 0;  // around those
  };

  /// Goes into a loop or branch over `lanes` and returns how to come out again.
  struct Inside {
    Inside(Checker& c, Dim lanes, bool loop) : checker(c), before(c.lanes_), deeper(loop) {
      Dim around = 1;
      for (const Lanes& l : before) around *= l.count;
      unrelated = lanes > 0 && lanes % around != 0;
      if (unrelated) ++c.blind_;
      if (!unrelated && lanes > around) c.lanes_.push_back({lanes / around, c.loops_});
      if (!unrelated && lanes == 1 && before.empty()) c.lanes_.push_back({1, c.loops_});
      c.loops_ += deeper;
    }
    ~Inside() {
      checker.loops_ -= deeper;
      checker.lanes_ = std::move(before);
      if (unrelated) --checker.blind_;
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    Checker& checker;
    std::vector<Lanes> before;
    bool deeper = false, unrelated = false;
  };

  static Origins origins_of(const MarkedArrays& values) {
    Origins r;
    for (const MarkedArray& v : values) r.push_back(v.mark ? Origin(v.mark->buffer) : std::nullopt);
    return r;
  }

  /// A value that comes with tags, or without.
  static MarkedArray with_tags(const Array& a, const Origin& origin, const Arrays& tags,
                               std::size_t& next, Loc read) {
    if (!origin) return {a, {}};
    return {a, Mark{tags[next++], *origin, read}};
  }

  /// The body of a loop with tags, and what came out of it when it was recorded.
  struct MarkedBody {
    control::Part part;
    MarkedArrays out;
    std::vector<std::size_t> rows;  // outputs behind the carried ones that have tags
  };

  /// `tags`: of carried values, of sequences; inputs behind each of these, and outputs likewise.
  MarkedBody marked_body(const Equation& e, const MarkedArrays& in, const Origins& origins,
                         const std::array<Arrays, 2>& tags) {
    const LoopOperands split = loop_operands(e);
    const std::size_t own = split.carried, sequences = split.sequences;
    MarkedBody r;
    Trace t;
    t.loc = e.loc;
    const auto inputs = [&](const Arrays& like, bool rows_of) {
      Arrays made;
      for (const Array& a : like)
        made.push_back(t.input({a.dtype(), rows_of ? a.shape().without(0) : a.shape()}));
      return made;
    };
    const Arrays all = arrays_of(in);
    MarkedArrays inner;
    std::size_t first = 0;
    for (const bool row : {false, true}) {
      const std::size_t count = row ? sequences : own;
      const Arrays own_in = inputs(part(all, first, count), row);
      const Arrays tags_in = inputs(tags[row], row);
      for (std::size_t i = 0, next = 0; i < count; ++i)
        inner.push_back(
            with_tags(own_in[i], origins[first + i], tags_in, next, read_of(in[first + i])));
      first += count;
    }
    for (; first < in.size(); ++first)
      inner.push_back({t.input(in[first].array.aval()), in[first].mark});
    const Dim lanes = e.primitive == &scan_p ? 0 : e.params.as<WhileParams>().lanes;
    const Inside around(*this, lanes, true);
    r.out = replay(split.body, inner, t);
    Arrays next = part(arrays_of(r.out), 0, own);
    for (std::size_t i = 0; i < own; ++i)
      if (origins[i]) next.push_back(tags_of(r.out[i]));
    next = joined(std::move(next), part(arrays_of(r.out), own, r.out.size() - own));
    for (std::size_t i = own; i < r.out.size(); ++i)
      if (r.out[i].mark) {
        r.rows.push_back(i);
        next.push_back(r.out[i].mark->tags);
      }
    r.part = control::finish(t, next);
    return r;
  }

  /// Parameters of the loop that has `body`.
  static Params with_body(const Equation& e, control::Part& body,
                          const std::array<Arrays, 2>& tags) {
    if (e.primitive == &scan_p) {
      auto p = e.params.as<ScanParams>();
      p.body = control::share(std::move(body.graph));
      p.carried += static_cast<int>(tags[0].size());
      p.sequences += static_cast<int>(tags[1].size());
      return Params(std::move(p));
    }
    auto p = e.params.as<WhileParams>();
    const auto carried = static_cast<std::size_t>(p.carried);
    p.body = control::share(std::move(body.graph));
    p.condition = control::share(control::widened(*p.condition, carried, tags[0], body.captures));
    p.carried += static_cast<int>(tags[0].size());
    return Params(std::move(p));
  }

  /// Carried values and sequences take their tags along behind them; those of constants are
  /// captured.
  MarkedArrays loop(const Equation& e, const MarkedArrays& in) {
    const LoopOperands split = loop_operands(e);
    const std::size_t own = split.carried, sequences = split.sequences;
    const Origins origins = origins_.of_body(e, origins_of(in));
    std::array<Arrays, 2> tags;  // of carried values, of sequences
    for (std::size_t i = 0; i < own + sequences; ++i)
      if (origins[i]) tags[i >= own].push_back(tags_of(in[i]));
    MarkedBody body = marked_body(e, in, origins, tags);
    const MarkedArrays& out = body.out;

    const Arrays all = arrays_of(in);
    const Arrays constants = part(all, own + sequences, in.size() - own - sequences);
    Arrays operands = joined(part(all, 0, own), tags[0]);
    operands = joined(joined(std::move(operands), part(all, own, sequences)), tags[1]);
    operands = joined(joined(std::move(operands), constants), body.part.captures);
    const Arrays results = emit(*e.primitive, with_body(e, body.part, tags), operands, e.loc);
    MarkedArrays r;
    std::size_t next = own;
    for (std::size_t i = 0; i < own; ++i) {
      const Loc read = read_of(in[i]).line > 0 ? read_of(in[i]) : read_of(out[i]);
      r.push_back(with_tags(results[i], origins[i], results, next, read));
    }
    for (std::size_t i = own; i < out.size(); ++i) r.push_back({results[tags[0].size() + i], {}});
    next = tags[0].size() + out.size();
    for (const std::size_t i : body.rows)
      r[i].mark = Mark{results[next++], out[i].mark->buffer, out[i].mark->read};
    return r;
  }

  MarkedArrays branches(const Equation& e, const MarkedArrays& in) {
    auto p = e.params.as<CondParams>();
    const Origins origins = origins_.of_outputs(e, origins_of(in));
    const Arrays operands = arrays_of(in);
    std::vector<Loc> read(origins.size());
    std::vector<control::Part> parts(p.branches.size());
    for (std::size_t b = 0; b < parts.size(); ++b) {
      Trace t;
      t.loc = e.loc;
      MarkedArrays inner;
      for (std::size_t i = 1; i < in.size(); ++i)
        inner.push_back({t.input(in[i].array.aval()), in[i].mark});
      const Inside around(*this, p.lanes, false);
      const MarkedArrays out = replay(*p.branches[b], inner, t);
      Arrays all = arrays_of(out);
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (origins[i]) all.push_back(tags_of(out[i]));
        if (read[i].line == 0) read[i] = read_of(out[i]);
      }
      parts[b] = control::finish(t, all);
    }
    std::vector<control::Part*> pointers;
    for (control::Part& each : parts) pointers.push_back(&each);
    const Arrays constants = control::share_captures(pointers, in.size() - 1);
    for (std::size_t b = 0; b < parts.size(); ++b)
      p.branches[b] = control::share(std::move(parts[b].graph));
    const Arrays results = emit(cond_p, std::move(p), joined(operands, constants), e.loc);
    MarkedArrays r;
    std::size_t next = origins.size();
    for (std::size_t i = 0; i < origins.size(); ++i)
      r.push_back(with_tags(results[i], origins[i], results, next, read[i]));
    return r;
  }

  const BufferOrigins origins_;
  std::vector<Lanes> lanes_;  // around, outermost first
  int loops_ = 0;             // around
  int blind_ = 0;             // in how many loops and branches of lanes that no statement can name
};

}  // namespace

Graph check_buffers(const Graph& whole) {
  const Graph graph = inline_calls(whole);
  Checker checker(graph);
  return checker.idle() ? graph : checker.check(graph);
}

}  // namespace gnomon
