// engine/include/gnomon/gnomon.h -- everything a program needs: arrays, operations, transforms,
// running.
#pragma once
#include "gnomon/array.h"
#include "gnomon/control.h"
#include "gnomon/error.h"
#include "gnomon/indexing.h"
#include "gnomon/jit.h"
#include "gnomon/linalg.h"
#include "gnomon/numeric.h"
#include "gnomon/ops.h"
#include "gnomon/random.h"
#include "gnomon/runtime.h"
#include "gnomon/shape.h"
#include "gnomon/special.h"
#include "gnomon/transform.h"
#include "gnomon/tree.h"
