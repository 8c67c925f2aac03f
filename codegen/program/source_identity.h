// codegen/program/source_identity.h -- which compiler this is.
#pragma once
#include <string_view>

namespace gnomon {

/// The version of the project and a hash of the sources of codegen and shaders: programs of equal
/// identity, graph, Target and options are equal. Generated when they are built.
std::string_view source_identity();

}  // namespace gnomon
