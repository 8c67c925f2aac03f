// tests/oracle/table.cpp -- the families.
#include "table.h"

namespace oracle {

std::vector<Family> table() {
  return {elementary(),      special(),        activations(), ieee(),          integers(),
          shapes(),          making(),         reductions(),  statistics(),    running_along(),
          products(),        sorting(),        indexing(),    windows(),       fourier(),
          complex_numbers(), linear_algebra(), control(),     random_numbers()};
}

}  // namespace oracle
