// engine/include/gnomon/operators.h -- linear operators: everything of gnomon/operators/.
#pragma once
#include "gnomon/operators/algebra.h"
#include "gnomon/operators/derivative.h"
#include "gnomon/operators/eigen.h"
#include "gnomon/operators/gallery.h"
#include "gnomon/operators/kinds.h"
#include "gnomon/operators/krylov.h"
#include "gnomon/operators/matrix_market.h"
#include "gnomon/operators/operator.h"
#include "gnomon/operators/preconditioner.h"
#include "gnomon/operators/solve.h"
#include "gnomon/operators/sparse.h"
#include "gnomon/operators/structured.h"
