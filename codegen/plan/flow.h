// codegen/plan/flow.h -- which steps run after which, where gates decide.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

namespace gnomon {

/// Control flow over steps that are written down one after the other. A *stretch* is what runs from
/// a place on without a decision: the steps up to the next gate, which belongs to it.
class Flow {
 public:
  using Label = std::uint32_t;

  Flow() : here_(fresh()), start_(here_) {}

  /// A place that will be known later; one that never is lies behind everything.
  Label fresh();
  /// Control that reaches `from` goes on at `to`.
  void join(Label from, Label to);
  /// Where control is after what has been written down.
  Label here() const { return here_; }
  void go_on_at(Label l) { here_ = l; }

  /// `index` is written down: control that is here runs it and goes on behind it.
  void step(std::uint32_t index);
  /// The same for a gate, which goes on at one of `targets`.
  void gate(std::uint32_t index, std::vector<Label> targets);

  const std::vector<std::uint32_t>& steps() const { return steps_; }
  const std::map<std::uint32_t, std::vector<Label>>& gates() const { return gates_; }
  Label start() const { return start_; }
  std::vector<std::uint32_t> stretch(Label) const;
  /// Whether control can leave without a gate having the last word.
  bool ends_openly() const;

 private:
  struct Target {
    enum class Kind : std::uint8_t { unknown, label, step } kind = Kind::unknown;
    std::uint32_t index = 0;
  };
  Label root(Label) const;
  void arrive(std::uint32_t index);

  std::vector<Target> labels_;
  Label here_, start_;
  std::vector<std::uint32_t> steps_;
  std::map<std::uint32_t, Label> next_;  // per step that is no gate
  std::map<std::uint32_t, std::vector<Label>> gates_;
};

}  // namespace gnomon
