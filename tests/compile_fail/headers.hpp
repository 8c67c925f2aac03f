// tests/compile_fail/headers.hpp -- what the cases include, precompiled once for all of them.
#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gnomon/gnomon.h"
