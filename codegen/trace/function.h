// codegen/trace/function.h -- a traced callable, for who looks into its graph.
#pragma once
#include "codegen/trace/trace.h"
#include "gnomon/detail/function.h"
