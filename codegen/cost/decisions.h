// codegen/cost/decisions.h -- what the compiler decides about values of its graphs, one by one.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/graph/graph.h"

namespace gnomon {

/// What is asked about a value, or about the equation that gives it.
enum class Question : std::uint8_t {
  split,      // a long reduction, product or convolution: in stages
  row_kept,   // of a loop that a later one would compute again: written for it
  in_memory,  // by a kernel of its own, or in each that reads it
  kernels,    // the iterations of a loop, or one lane does them all
  rows,       // with sums over them: each by one lane or team, which walks it again and again
  workgroup,  // of lanes that share what they read
  written,    // products with vectors that a lane holds: without loops
};

struct Decision {
  Question question = Question::split;
  std::uint64_t graph = 0;  // its structural hash
  ValueId value = 0;
  bool answer = false;
  std::string about;  // "exp %7:f32[64,64] (model.cpp:12)"

  bool same_as(const Decision& other) const {
    return question == other.question && graph == other.graph && value == other.value;
  }
};

/// "in memory", "computed where it is read".
std::string_view answer_text(Question, bool answer);

/// The decisions of one compile, each once however often it was asked for; one of them can be taken
/// otherwise.
class Decisions {
 public:
  Decisions() = default;
  explicit Decisions(Decision otherwise) : otherwise_(std::move(otherwise)) {}

  /// What to do where the cost model says `chosen`.
  bool answer(Question, const Graph&, ValueId, bool chosen);
  const std::vector<Decision>& all() const { return all_; }

 private:
  std::optional<Decision> otherwise_;
  std::vector<Decision> all_;
};

/// What to do where the cost model says `chosen`, which nobody else has a say in when there are no
/// decisions to write to.
inline bool decide(Decisions* decisions, Question question, const Graph& g, ValueId v,
                   bool chosen) {
  return decisions == nullptr ? chosen : decisions->answer(question, g, v, chosen);
}

}  // namespace gnomon
