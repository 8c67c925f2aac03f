// codegen/cost/decisions.cpp -- decisions by name.
#include "codegen/cost/decisions.h"

#include <algorithm>

#include "codegen/graph/primitive.h"

namespace gnomon {
namespace {

std::string about(const Graph& g, ValueId v) {
  std::string s;
  Loc loc;
  for (const Equation& e : g.equations)
    if (std::find(e.outputs.begin(), e.outputs.end(), v) != e.outputs.end()) {
      s = std::string(e.primitive->name) + " ";
      loc = e.loc;
    }
  s += "%" + std::to_string(v) + ":" + to_string(g.avals[v].dtype, g.avals[v].shape);
  return loc.line == 0 ? s : s + " (" + to_string(loc) + ")";
}

}  // namespace

std::string_view answer_text(Question question, bool answer) {
  switch (question) {
    case Question::split:
      return answer ? "in stages" : "in one piece";
    case Question::row_kept:
      return answer ? "kept for the later loop" : "computed again by the later loop";
    case Question::in_memory:
      return answer ? "in memory" : "computed where it is read";
    case Question::kernels:
      return answer ? "kernels for each iteration" : "a lane does all iterations";
    case Question::rows:
      return answer ? "by rows" : "element by element";
    case Question::written:
      return answer ? "written out" : "by loops";
    case Question::workgroup:
      return answer ? "by workgroups" : "by lanes that share nothing";
  }
  return "";
}

bool Decisions::answer(Question question, const Graph& g, ValueId v, bool chosen) {
  Decision d{question, structural_hash(g), v, chosen, {}};
  const bool changed = otherwise_ && d.same_as(*otherwise_);
  if (std::none_of(all_.begin(), all_.end(), [&](const Decision& k) { return k.same_as(d); })) {
    d.about = about(g, v);
    all_.push_back(std::move(d));
  }
  return changed ? !otherwise_->answer : chosen;
}

}  // namespace gnomon
