// engine/library/train/epoch.cpp -- the order of an epoch.
#include "gnomon/train/epoch.h"

#include <string>

#include "gnomon/error.h"
#include "gnomon/ops.h"

namespace gnomon::train::detail {

Array batch_rows(const std::vector<Array>& data, Key key, Dim batch, Loc loc) {
  const auto fail = [&](const std::string& what) { usage_error("train::epoch", what, loc); };
  if (data.empty()) fail("there are no arrays of examples");
  for (const Array& a : data)
    if (a.rank() == 0 || a.dim(0) != data[0].dim(0))
      fail("examples are rows, as many in each array, but there are " + to_string(data[0].aval()) +
           " and " + to_string(a.aval()));
  const Dim n = data[0].dim(0);
  if (batch < 1 || batch > n)
    fail("batches of " + std::to_string(batch) + " of " + std::to_string(n) +
         " examples; a batch has 1 or more and at most all");
  const Dim batches = n / batch;
  const Array order = random::permutation(std::move(key), n, loc);
  return reshape(slice_axis(order, 0, 0, batches * batch), {batches, batch});
}

}  // namespace gnomon::train::detail
