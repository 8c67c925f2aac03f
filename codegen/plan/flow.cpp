// codegen/plan/flow.cpp -- labels, and walks along them.
#include "codegen/plan/flow.h"

#include "shaders/support/check.h"

namespace gnomon {

Flow::Label Flow::fresh() {
  labels_.emplace_back();
  return static_cast<Label>(labels_.size() - 1);
}

Flow::Label Flow::root(Label l) const {
  while (labels_[l].kind == Target::Kind::label) l = labels_[l].index;
  return l;
}

void Flow::join(Label from, Label to) {
  from = root(from);
  to = root(to);
  if (from == to) return;
  GNOMON_CHECK(labels_[from].kind == Target::Kind::unknown, "control goes two ways at once");
  labels_[from] = {Target::Kind::label, to};
}

void Flow::arrive(std::uint32_t index) {
  Target& t = labels_[root(here_)];
  GNOMON_CHECK(t.kind == Target::Kind::unknown, "a step behind a jump is never reached");
  t = {Target::Kind::step, index};
  steps_.push_back(index);
}

void Flow::step(std::uint32_t index) {
  arrive(index);
  next_[index] = here_ = fresh();
}

void Flow::gate(std::uint32_t index, std::vector<Label> targets) {
  arrive(index);
  gates_[index] = std::move(targets);
}

std::vector<std::uint32_t> Flow::stretch(Label l) const {
  std::vector<std::uint32_t> r;
  while (true) {
    const Target& t = labels_[root(l)];
    if (t.kind != Target::Kind::step) return r;
    r.push_back(t.index);
    if (gates_.contains(t.index)) return r;
    GNOMON_CHECK(r.size() <= steps_.size(), "a loop without a gate");
    l = next_.at(t.index);
  }
}

bool Flow::ends_openly() const {
  const auto open = [&](Label l) {
    const auto s = stretch(l);
    return !s.empty() && !gates_.contains(s.back());
  };
  if (open(start_)) return true;
  for (const auto& [index, targets] : gates_)
    for (Label l : targets)
      if (open(l)) return true;
  return false;
}

}  // namespace gnomon
