// codegen/graph/text.h -- graphs as text, both ways.
//
//   graph(%0: f32[8,4], %1: i32[]) {
//     %2: f32[8] = sum[axes=(1)] %0              ; demo.cpp:12
//     %3: f32[8], %4: i32[] = while[condition=graph(%0: f32[8], %1: i32[]) {
//       ...
//     } body=graph(...) {...} carried=2 max_steps=-1 lanes=0] %2 %1
//     return %3 %4
//   }
//
// Values are numbered per graph. `;` starts a comment; source lines are comments and do not come
// back from parsing. Parameters are the fields of the operation's parameter struct; one that is
// left out keeps its default.
#pragma once
#include <string>
#include <string_view>

#include "codegen/base/text_reader.h"
#include "codegen/graph/graph.h"

namespace gnomon {

struct GraphTextOptions {
  int indent = 0;
  bool source_lines = true;
};

std::string print(const Graph&, GraphTextOptions = {});

/// Throws ParseError for text that is no graph: unknown operations, undefined or redefined values,
/// types that the operation's shape rule contradicts.
Graph parse_graph(std::string_view text);

}  // namespace gnomon
