// codegen/checks/find_nonfinite.cpp -- evaluates a graph as its loops and branches would, and
// looks at every result.
#include "codegen/checks/find_nonfinite.h"

#include <algorithm>
#include <cmath>

#include "codegen/graph/effects.h"
#include "codegen/graph/evaluate.h"
#include "codegen/operations/control.h"
#include "codegen/operations/table.h"
#include "codegen/transforms/inline_calls.h"

namespace gnomon {
namespace {

using HostValues = std::vector<HostArray>;

struct Seen {
  bool nan = false, infinity = false;
};

/// The lanes that are in a loop or branch; none: whoever has an array counts.
using Lanes = std::vector<bool>;

/// Elements of lanes that do not count are left out.
Seen seen_in(const HostArray& a, const Lanes& lanes) {
  Seen s;
  if (!is_float(a.aval.dtype)) return s;
  const Shape& shape = a.aval.shape;
  const bool by_lane =
      !lanes.empty() && shape.rank() > 0 && shape[0] == static_cast<Dim>(lanes.size());
  const Dim row = by_lane && a.size() > 0 ? a.size() / shape[0] : 1;
  for (Dim i = 0; i < a.size(); ++i) {
    if (by_lane && !lanes[static_cast<std::size_t>(i / row)]) continue;
    const double x = a.number(i);
    s.nan |= std::isnan(x);
    s.infinity |= std::isinf(x);
  }
  return s;
}

/// Takes rows of `next` for the lanes that count.
void take(HostArray& value, const HostArray& next, const Lanes& lanes) {
  if (lanes.empty()) {
    value = next;
    return;
  }
  const std::size_t row = value.bytes.size() / lanes.size();
  for (std::size_t lane = 0; lane < lanes.size(); ++lane)
    if (lanes[lane])
      std::copy_n(next.bytes.data() + lane * row, row, value.bytes.data() + lane * row);
}

class Search {
 public:
  std::optional<Nonfinite> found;

  /// The outputs, unless something was found on the way.
  HostValues run(const Graph& g, const HostValues& inputs, const Lanes& lanes) {
    HostValues values(g.avals.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) values[g.inputs[i]] = inputs[i];
    for (const Equation& e : g.equations) {
      HostValues in;
      for (ValueId v : e.inputs) in.push_back(values[v]);
      HostValues out = results(g, e, in, lanes);
      if (found) return {};
      for (std::size_t i = 0; i < out.size(); ++i) values[e.outputs[i]] = std::move(out[i]);
    }
    HostValues outputs;
    for (ValueId v : g.outputs) outputs.push_back(values[v]);
    return outputs;
  }

 private:
  HostValues results(const Graph& g, const Equation& e, const HostValues& in, const Lanes& lanes) {
    if (e.primitive == &while_p) return loop(e, e.params.as<WhileParams>(), in, lanes);
    if (e.primitive == &scan_p) return scan(g, e, e.params.as<ScanParams>(), in, lanes);
    if (e.primitive == &cond_p) return branch(g, e.params.as<CondParams>(), e, in, lanes);
    std::vector<Aval> avals;
    for (ValueId v : e.outputs) avals.push_back(g.avals[v]);
    HostValues out = e.primitive->reference(e.params, avals, in);
    Seen before, after;
    for (const HostArray& a : in) {
      const Seen s = seen_in(a, lanes);
      before = {before.nan || s.nan, before.infinity || s.infinity};
    }
    for (const HostArray& a : out) {
      const Seen s = seen_in(a, lanes);
      after = {after.nan || s.nan, after.infinity || s.infinity};
    }
    const bool nan = after.nan && !before.nan;
    const bool infinity = after.infinity && !before.infinity && !before.nan;
    if ((nan || infinity) && !in.empty())
      found = Nonfinite{std::string(e.primitive->name), nan ? "a NaN" : "an infinity", e.loc, ""};
    return out;
  }

  void add(std::string place, const Equation& e) {
    if (!found) return;
    if (e.loc.line > 0) place += " at " + to_string(e.loc);
    found->where += ", in " + place;
  }

  HostValues loop(const Equation& e, const WhileParams& p, const HostValues& in,
                  const Lanes& lanes) {
    HostValues values = in;
    Lanes running(static_cast<std::size_t>(p.lanes), true);
    if (running.size() == lanes.size()) running = lanes;
    for (Dim step = 0; p.max_steps < 0 || step < p.max_steps; ++step) {
      const HostValues go = run(*p.condition, values, p.lanes > 0 ? running : lanes);
      bool any = false;
      if (!found) {
        for (std::size_t lane = 0; lane < running.size(); ++lane)
          running[lane] = running[lane] && go[0].integer(static_cast<Dim>(lane)) != 0;
        any = p.lanes > 0 ? std::find(running.begin(), running.end(), true) != running.end()
                          : go[0].integer(0) != 0;
      }
      if (!found && !any) break;
      const HostValues next =
          found ? HostValues{} : run(*p.body, values, p.lanes > 0 ? running : lanes);
      if (found) {
        add("step " + std::to_string(step) + " of the loop", e);
        return {};
      }
      for (std::size_t i = 0; i < next.size(); ++i)
        take(values[i], next[i], p.lanes > 0 ? running : Lanes{});
    }
    values.resize(static_cast<std::size_t>(p.carried));
    return values;
  }

  HostValues scan(const Graph& g, const Equation& e, const ScanParams& p, const HostValues& in,
                  const Lanes& lanes) {
    const auto carried = static_cast<std::size_t>(p.carried);
    const std::size_t constants = carried + static_cast<std::size_t>(p.sequences);
    HostValues values(in.begin(), in.begin() + p.carried);
    for (std::size_t i = carried; i < e.outputs.size(); ++i)
      values.emplace_back(g.avals[e.outputs[i]]);
    for (Dim step = 0; step < p.length; ++step) {
      const auto at = static_cast<std::size_t>(p.reverse ? p.length - 1 - step : step);
      HostValues inputs(values.begin(), values.begin() + p.carried);
      for (std::size_t i = carried; i < in.size(); ++i) {
        if (i >= constants) {
          inputs.push_back(in[i]);
          continue;
        }
        HostArray row(p.body->avals[p.body->inputs[i]]);
        std::copy_n(in[i].bytes.data() + at * row.bytes.size(), row.bytes.size(), row.bytes.data());
        inputs.push_back(std::move(row));
      }
      const HostValues next = run(*p.body, inputs, lanes);
      if (found) {
        add("step " + std::to_string(step) + " of the loop", e);
        return {};
      }
      for (std::size_t i = 0; i < next.size(); ++i)
        if (i < carried)
          values[i] = next[i];
        else
          std::copy_n(next[i].bytes.data(), next[i].bytes.size(),
                      values[i].bytes.data() + at * next[i].bytes.size());
    }
    return values;
  }

  HostValues branch(const Graph& g, const CondParams& p, const Equation& e, const HostValues& in,
                    const Lanes& lanes) {
    const HostValues operands(in.begin() + 1, in.end());
    const auto last = static_cast<Dim>(p.branches.size()) - 1;
    const auto taken = [&](Dim lane) {
      return static_cast<std::size_t>(std::clamp<Dim>(in[0].integer(lane), 0, last));
    };
    HostValues out;
    for (ValueId v : e.outputs) out.emplace_back(g.avals[v]);
    for (std::size_t b = 0; b < p.branches.size(); ++b) {
      Lanes here(static_cast<std::size_t>(p.lanes));
      for (std::size_t lane = 0; lane < here.size(); ++lane)
        here[lane] =
            taken(static_cast<Dim>(lane)) == b && (lanes.size() != here.size() || lanes[lane]);
      const bool any =
          p.lanes > 0 ? std::find(here.begin(), here.end(), true) != here.end() : taken(0) == b;
      if (!any) continue;
      const HostValues all = run(*p.branches[b], operands, p.lanes > 0 ? here : lanes);
      if (found) {
        add("branch " + std::to_string(b) + " of the choice", e);
        return {};
      }
      for (std::size_t i = 0; i < out.size(); ++i)
        take(out[i], all[i], p.lanes > 0 ? here : Lanes{});
    }
    return out;
  }
};

}  // namespace

std::optional<std::string_view> nonfinite(const HostArray& a) {
  const Seen s = seen_in(a, {});
  if (s.nan) return "a NaN";
  if (s.infinity) return "an infinity";
  return std::nullopt;
}

std::optional<Nonfinite> find_nonfinite(const Graph& g, const std::vector<HostArray>& inputs) {
  Search search;
  search.run(inline_calls(without_effects(g)), inputs, {});
  return search.found;
}

}  // namespace gnomon
