// codegen/analysis/updates.h -- carried arrays of which an iteration writes slices only.
#pragma once
#include <map>
#include <vector>

#include "codegen/analysis/backward_slice.h"

namespace gnomon {

/// The dynamic_update_slices between a carried value and its next one, in front of, between and
/// behind loops that carry it on. Each writes its slice into the memory of its operand: O(slice),
/// however large the array is.
class Updates {
 public:
  Updates() = default;
  /// `carried`: this many inputs of the graph are carried values, and as many outputs the next
  /// ones.
  Updates(const Graph&, const Uses&, std::size_t carried);

  bool contains(ValueId output) const { return operands_.count(output) > 0; }
  std::vector<ValueId> outputs() const;
  const std::map<ValueId, ValueId>& operands() const { return operands_; }  // by output

  /// Other lanes may not read what a lane of the update overwrites: what is computed from the array
  /// itself goes to memory, to be stored by a kernel in front. False when there was nothing to do.
  bool store_operands(const Placement&, std::vector<bool>& in_memory, const Equation& update) const;
  /// Somebody reads the operand of the update `output` too late: views of it are put in memory, to
  /// be stored in time, or else the update makes a copy.
  void read_earlier(const Placement&, std::vector<bool>& in_memory, ValueId output);

 private:
  bool reads_chain(const Placement&, ValueId v, std::size_t chain) const;
  bool aligned(const Placement&, ValueId v, const Equation& update, std::size_t chain) const;

  std::map<ValueId, ValueId> operands_;
  std::map<ValueId, std::size_t> chain_of_;  // which carried value's memory a value lies in
};

/// Puts the views of `old` that somebody may look at when it is overwritten already in memory, to
/// be stored in time. False when there are none.
bool store_views(const Placement&, std::vector<bool>& in_memory, ValueId old);

}  // namespace gnomon
