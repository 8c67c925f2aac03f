// codegen/optimize/lower_effects.cpp -- replays a graph with its statements turned into carried
// values.
#include "codegen/optimize/lower_effects.h"

#include <algorithm>
#include <limits>

#include "codegen/graph/effects.h"
#include "codegen/graph/evaluate.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/effects.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_trace.h"
#include "codegen/transforms/inline_calls.h"

namespace gnomon {
namespace {

using control::joined;
using control::part;

constexpr Dim no_bound = std::numeric_limits<Dim>::max();

Dim times(Dim a, Dim b) {
  if (a == 0 || b == 0) return 0;
  return a > no_bound / b ? no_bound : a * b;
}

// ---- which statements there are

/// What is around the equations of a graph.
struct Around {
  std::vector<TimePart> time;
  std::vector<std::size_t> loops;  // where in `time` the position of each loop is
  Dim most = 1;                    // times the graph runs, at most
};

class Collector {
 public:
  Collector(const LowerEffectsOptions& options, EffectTable& effects)
      : options_(options), effects_(effects) {}

  void graph(const Graph& g, const Around& around) {
    for (std::size_t i = 0; i < g.equations.size(); ++i) {
      const Equation& e = g.equations[i];
      if (!has_effects(e)) continue;
      Around here = around;
      here.time.push_back({TimePart::Kind::position, static_cast<Dim>(i)});
      if (e.primitive->lower.statement) {
        statement(g, e, here);
      } else if (e.primitive == &cond_p) {
        const auto& branches = e.params.as<CondParams>().branches;
        for (std::size_t b = 0; b < branches.size(); ++b) {
          Around branch = here;
          branch.time.push_back({TimePart::Kind::position, static_cast<Dim>(b)});
          graph(*branches[b], branch);
        }
      } else {
        here.loops.push_back(here.time.size() - 1);
        here.time.push_back({TimePart::Kind::step, static_cast<Dim>(around.loops.size())});
        const bool scan = e.primitive == &scan_p;
        const Dim trips =
            scan ? e.params.as<ScanParams>().length : e.params.as<WhileParams>().max_steps;
        here.most = times(around.most, trips < 0 ? no_bound : trips);
        graph(scan ? *e.params.as<ScanParams>().body : *e.params.as<WhileParams>().body, here);
      }
    }
  }

 private:
  void statement(const Graph& g, const Equation& e, const Around& around) {
    const auto& p = e.params.as<StatementParams>();
    Statement s;
    s.kind = e.primitive == &print_p ? Statement::Kind::print : Statement::Kind::error_if;
    s.text = p.text;
    s.loc = e.loc;
    s.lanes = p.lanes;
    s.loops = static_cast<std::uint32_t>(around.loops.size());
    for (ValueId v : e.inputs) {
      s.values.push_back(g.avals[v]);
      if (!p.lanes.empty()) s.values.back().shape.erase(0);
    }
    // Lanes stand behind the position of the outermost loop that each of them runs apart.
    std::vector<std::size_t> behind;
    for (const int wanted : p.inside) {
      const auto inside = std::min(static_cast<std::size_t>(wanted), around.loops.size());
      behind.push_back(inside == 0 ? around.time.size() - 1
                                   : around.loops[around.loops.size() - inside]);
    }
    for (std::size_t i = 0; i < around.time.size(); ++i) {
      s.time.push_back(around.time[i]);
      for (std::size_t k = 0; k < behind.size(); ++k)
        if (behind[k] == i) s.time.push_back({TimePart::Kind::lane, static_cast<Dim>(k)});
    }
    const bool print = s.kind == Statement::Kind::print;
    if (s.loops > 0) s.rows = print ? rows(s, p, around.most) : 1;
    s.first = effects_.arrays;
    s.count = (print ? 1 + s.values.size() : 2) + s.loops;
    effects_.arrays += s.count;
    effects_.statements.push_back(std::move(s));
  }

  Dim rows(const Statement& s, const StatementParams& p, Dim most) const {
    std::uint64_t row = std::uint64_t{4} * s.loops;
    for (const Aval& a : s.values)
      row += static_cast<std::uint64_t>(a.shape.size()) * size_of(a.dtype);
    // A few lanes get no more than sixteen would: nobody reads a million lines.
    const auto lanes =
        static_cast<std::uint64_t>(std::max<Dim>(16, effects::lane_count(p).value_or(1)));
    const auto room = static_cast<Dim>(options_.bytes / (row * lanes));
    const Dim rows = std::clamp<Dim>(std::min(room, most), 1, 1 << 24);
    // What a lane carries in up to 64 elements are scalars, of which a record would select one:
    // drivers take seconds to compile that for more than a few.
    constexpr Dim few = 8, in_memory = 64;
    return rows > few && rows < in_memory && room >= 2 * few ? in_memory : rows;
  }

  const LowerEffectsOptions& options_;
  EffectTable& effects_;
};

// ---- the graph that records them

/// A statement of a graph that runs at most once each time the graph does.
struct Said {
  std::size_t statement = 0;
  std::optional<Array> flag;  // whether it did, by lane; nothing: it did
  Arrays values;
};

class Recorder {
 public:
  explicit Recorder(const EffectTable& effects) : all_(effects.statements), states_(all_.size()) {}

  Graph record(const Graph& g) {
    Trace t;
    Arrays inputs;
    for (ValueId v : g.inputs) inputs.push_back(t.input(g.avals[v]));
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (all_[i].loops > 0) states_[i] = nothing_yet(all_[i]);
    std::vector<Said> said;
    Arrays outputs = replay(g, inputs, t, said);
    for (const Said& s : said) states_[s.statement] = told_once(s);
    for (const Arrays& state : states_) outputs = joined(std::move(outputs), state);
    return t.finish(outputs);
  }

 private:
  // -- shapes

  static Shape laned(const Statement& s, Shape shape) {
    Dim n = 1;
    for (Dim d : s.lanes) n *= d;
    return s.lanes.empty() ? shape : shape.with_inserted(0, n);
  }
  static int lane_axes(const Statement& s) { return s.lanes.empty() ? 0 : 1; }
  static Aval counter(const Statement& s) { return {DType::i32, laned(s, {})}; }

  static Arrays nothing_yet(const Statement& s) {
    Arrays r{lax::full(counter(s), 0)};
    if (s.kind == Statement::Kind::error_if) {
      r.resize(2 + s.loops, lax::full(counter(s), 0));
      return r;
    }
    for (const Aval& a : s.values)
      r.push_back(lax::full({a.dtype, laned(s, a.shape.with_inserted(0, s.rows + 1))}, 0));
    for (std::uint32_t i = 0; i < s.loops; ++i)
      r.push_back(lax::full({DType::i32, laned(s, Shape(s.rows + 1))}, 0));
    return r;
  }

  /// [n, ...] as [lanes, n / lanes, ...], so that a loop or branch of fewer lanes can carry it.
  static Array split(const Array& a, Dim lanes) {
    if (lanes == 0 || a.shape()[0] == lanes) return a;
    Shape shape = a.shape().with_inserted(0, lanes);
    shape[1] /= lanes;
    return lax::reshape(a, shape);
  }
  static Array merged(const Array& a, const Shape& shape) { return lax::reshape(a, shape); }

  /// The step of a loop around it, for each lane of the statement.
  static Array step_of(const Statement& s, const Array& step) {
    const Shape shape = laned(s, {});
    if (step.shape() == shape) return step;
    if (step.rank() == 0) return lax::broadcast(step, shape, {});
    const Dim outer = step.shape()[0];
    return lax::reshape(lax::broadcast(step, {outer, shape[0] / outer}, {0}), shape);
  }

  // -- what a statement leaves

  static Array as_count(const Array& flag) { return lax::convert(flag, DType::i32); }

  /// {how many elements are true, which is the first}, by lane.
  static Arrays failures(const Statement& s, const Said& said) {
    const Shape shape = laned(s, {});
    const Dim size = s.values[0].shape.size();
    if (size == 0) return {lax::full({DType::i32, shape}, 0), lax::full({DType::i32, shape}, 0)};
    const int axis = lane_axes(s);
    const Array flat =
        lax::convert(lax::reshape(said.values[0], shape.with_inserted(axis, size)), DType::i32);
    Array hits = lax::sum(flat, {axis});
    const Array first = emit1(argmax_p, AxisParams{axis}, {flat}, {});
    if (said.flag) hits = lax::mul(hits, as_count(*said.flag));
    return {hits, first};
  }

  Arrays told_once(const Said& said) const {
    const Statement& s = all_[said.statement];
    if (s.kind == Statement::Kind::error_if) return failures(s, said);
    Arrays r{said.flag ? as_count(*said.flag) : lax::full(counter(s), 1)};
    return joined(std::move(r), said.values);
  }

  Arrays with_record(const Arrays& state, const Said& said) const {
    const Statement& s = all_[said.statement];
    Arrays steps;
    for (const Array& step : steps_) steps.push_back(step_of(s, step));
    if (s.kind == Statement::Kind::error_if) {
      const Arrays found = failures(s, said);
      const Array zero = lax::full(counter(s), 0);
      const Array fresh = lax::logical_and(lax::eq(state[0], zero), lax::lt(zero, found[0]));
      Arrays r{lax::add(state[0], found[0]), lax::select(fresh, found[1], state[1])};
      for (std::size_t i = 0; i < steps.size(); ++i)
        r.push_back(lax::select(fresh, steps[i], state[2 + i]));
      return r;
    }
    // What has no room, or was not said, goes to the last row.
    const Array last = lax::full(counter(s), static_cast<double>(s.rows));
    Array row = emit1(min_p, {}, {state[0], last}, {});
    if (said.flag) row = lax::select(*said.flag, row, last);
    const auto written = [&](const Array& rows, const Array& value) {
      const int axis = lane_axes(s);
      Arrays in{rows, lax::reshape(value, value.shape().with_inserted(axis, 1)), row};
      for (int a = axis + 1; a < rows.rank(); ++a) in.push_back(lax::full(counter(s), 0));
      return emit1(dynamic_update_slice_p, DynamicUpdateSliceParams{axis}, in, {});
    };
    const Array one = said.flag ? as_count(*said.flag) : lax::full(counter(s), 1);
    Arrays r{lax::add(state[0], one)};
    for (const Array& value : said.values) r.push_back(written(state[r.size()], value));
    for (const Array& step : steps) r.push_back(written(state[r.size()], step));
    return r;
  }

  // -- states as values that loops and branches carry

  /// Statements with a number in [first, end).
  struct Range {
    std::size_t first = 0, end = 0;
  };

  /// The states of those that are in a loop further inside than here.
  Arrays looped(Range range, Dim lanes) const {
    Arrays r;
    for (std::size_t i = range.first; i < range.end; ++i)
      if (all_[i].loops > steps_.size())
        for (const Array& a : states_[i]) r.push_back(split(a, lanes));
    return r;
  }
  /// The opposite, from `arrays[at]` on.
  void set_looped(Range range, const Arrays& arrays, std::size_t at) {
    for (std::size_t i = range.first; i < range.end; ++i)
      if (all_[i].loops > steps_.size())
        for (Array& a : states_[i]) a = merged(arrays[at++], a.shape());
  }

  static std::size_t statements_in(const Equation& e) {
    std::size_t n = e.primitive->lower.statement ? 1 : 0;
    for (const GraphPtr& sub : e.params.graphs())
      for (const Equation& inner : sub->equations) n += statements_in(inner);
    return n;
  }

  // -- replay

  /// The graph's outputs in the active trace; what it says itself is appended to `said`, what loops
  /// in it say is in their states.
  Arrays replay(const Graph& g, const Arrays& inputs, Trace& t, std::vector<Said>& said) {
    Arrays env(g.avals.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) env[g.inputs[i]] = inputs[i];
    for (const Equation& e : g.equations) {
      t.loc = e.loc;
      Arrays in;
      for (ValueId v : e.inputs) in.push_back(env[v]);
      Arrays out;
      if (!has_effects(e))
        out = emit(*e.primitive, e.params, in, e.loc);
      else if (e.primitive->lower.statement)
        said.push_back({next_++, std::nullopt, in});
      else if (e.primitive == &cond_p)
        out = branches(e, in, said);
      else
        out = loop(e, in);
      for (std::size_t i = 0; i < out.size(); ++i) env[e.outputs[i]] = out[i];
    }
    Arrays outputs;
    for (ValueId v : g.outputs) outputs.push_back(env[v]);
    return outputs;
  }

  /// A loop carries its own values, the states of the statements in it, and its step.
  Arrays loop(const Equation& e, const Arrays& in) {
    const bool scan = e.primitive == &scan_p;
    const LoopOperands split = loop_operands(e);
    const Graph& body = split.body;
    const std::size_t own = split.carried, sequences = split.sequences;
    const Dim lanes = scan ? 0 : e.params.as<WhileParams>().lanes;
    const Range range{next_, next_ + statements_in(e)};
    const Aval step_type{DType::i32, lanes > 0 ? Shape(lanes) : Shape()};
    const Arrays more = joined(looped(range, lanes), {lax::full(step_type, 0)});

    const std::vector<Arrays> outside = states_;
    control::Part made;
    {
      Trace t;
      t.loc = e.loc;
      const Arrays own_in = control::inputs_like(t, part(in, 0, own));
      const Arrays more_in = control::inputs_like(t, more);
      Arrays rest;
      for (std::size_t i = own; i < in.size(); ++i) {
        Aval a = in[i].aval();
        if (i < own + sequences) a.shape.erase(0);
        rest.push_back(t.input(a));
      }
      set_looped(range, more_in, 0);
      steps_.push_back(more_in.back());
      std::vector<Said> said;
      const Arrays out = replay(body, joined(own_in, rest), t, said);
      for (const Said& s : said) states_[s.statement] = with_record(states_[s.statement], s);
      steps_.pop_back();
      Arrays next = joined(part(out, 0, own), looped(range, lanes));
      next.push_back(lax::add(more_in.back(), 1.0));
      made = control::finish(t, joined(std::move(next), part(out, own, out.size() - own)));
    }
    states_ = outside;

    const Arrays operands = joined(
        joined(joined(part(in, 0, own), more), part(in, own, in.size() - own)), made.captures);
    const int carried_now = static_cast<int>(own + more.size());
    Params params;
    if (scan) {
      auto p = e.params.as<ScanParams>();
      p.body = control::share(std::move(made.graph));
      p.carried = carried_now;
      params = Params(std::move(p));
    } else {
      auto p = e.params.as<WhileParams>();
      p.body = control::share(std::move(made.graph));
      p.condition = control::share(control::widened(*p.condition, own, more, made.captures));
      p.carried = carried_now;
      params = Params(std::move(p));
    }
    const Arrays out = emit(*e.primitive, std::move(params), operands, e.loc);
    set_looped(range, out, own);
    return joined(part(out, 0, own), part(out, own + more.size(), out.size() - own - more.size()));
  }

  /// Branches give their own results, then for every statement of any of them whether it ran and
  /// its values, then the states of statements in their loops.
  Arrays branches(const Equation& e, const Arrays& in, std::vector<Said>& said) {
    auto p = e.params.as<CondParams>();
    const Range range{next_, next_ + statements_in(e)};
    // Statements that are in no further loop down there hand out a flag and their values.
    std::vector<std::size_t> direct;
    for (std::size_t i = range.first; i < range.end; ++i)
      if (all_[i].loops == steps_.size()) direct.push_back(i);
    const auto flag_type = [&](std::size_t i) { return Aval{DType::boolean, laned(all_[i], {})}; };

    const std::vector<Arrays> outside = states_;
    std::vector<control::Part> parts(p.branches.size());
    for (std::size_t b = 0; b < parts.size(); ++b) {
      Trace t;
      t.loc = e.loc;
      std::vector<Said> here;
      Arrays out =
          replay(*p.branches[b], control::inputs_like(t, part(in, 1, in.size() - 1)), t, here);
      for (const std::size_t i : direct) {
        const auto found =
            std::find_if(here.begin(), here.end(), [&](const Said& s) { return s.statement == i; });
        const bool ours = found != here.end();
        out.push_back(
            split(ours && found->flag ? *found->flag : lax::full(flag_type(i), ours), p.lanes));
        for (std::size_t k = 0; k < all_[i].values.size(); ++k) {
          const Aval& a = all_[i].values[k];
          out.push_back(split(
              ours ? found->values[k] : lax::full({a.dtype, laned(all_[i], a.shape)}, 0), p.lanes));
        }
      }
      out = joined(std::move(out), looped(range, p.lanes));
      parts[b] = control::finish(t, out);
      states_ = outside;
    }

    std::vector<control::Part*> pointers;
    for (control::Part& each : parts) pointers.push_back(&each);
    const Arrays constants = control::share_captures(pointers, in.size() - 1);
    for (std::size_t b = 0; b < parts.size(); ++b)
      p.branches[b] = control::share(std::move(parts[b].graph));
    const Arrays out = emit(cond_p, std::move(p), joined(in, constants), e.loc);
    std::size_t at = e.outputs.size();
    for (const std::size_t i : direct) {
      Said s{i, merged(out[at++], flag_type(i).shape), {}};
      for (const Aval& a : all_[i].values)
        s.values.push_back(merged(out[at++], laned(all_[i], a.shape)));
      said.push_back(std::move(s));
    }
    set_looped(range, out, at);
    return part(out, 0, e.outputs.size());
  }

  const std::vector<Statement>& all_;
  std::vector<Arrays> states_;  // by statement, for those in loops: values of the newest trace
  Arrays steps_;                // of the loops around
  std::size_t next_ = 0;        // statement, in the order of the effect table
};

}  // namespace

LoweredEffects lower_effects(const Graph& whole, const LowerEffectsOptions& options) {
  LoweredEffects r;
  if (!has_effects(whole)) return {whole, {}};
  const Graph graph = inline_calls(whole);
  Collector(options, r.effects).graph(graph, {});
  r.graph = Recorder(r.effects).record(graph);
  return r;
}

Told tell(const Graph& graph, std::vector<HostArray> inputs, const LowerEffectsOptions& options) {
  const LoweredEffects lowered = lower_effects(graph, options);
  Told told{evaluate(lowered.graph, std::move(inputs)), {}};
  told.report =
      lowered.effects.read(std::span<const HostArray>(told.outputs).subspan(graph.outputs.size()));
  told.outputs.resize(graph.outputs.size());
  return told;
}

}  // namespace gnomon
