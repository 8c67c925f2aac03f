// codegen/base/array.cpp -- the handle: moving empties it; an empty one and a hole say so.
#include "gnomon/array.h"

#include <charconv>
#include <utility>

namespace gnomon {

Array::Array(Array&& other) noexcept
    : storage_(std::move(other.storage_)),
      trace_(std::exchange(other.trace_, 0)),
      value_(other.value_),
      aval_(other.aval_) {}

Array& Array::operator=(Array&& other) noexcept {
  if (this == &other) return *this;
  storage_ = std::move(other.storage_);
  trace_ = std::exchange(other.trace_, 0);
  value_ = other.value_;
  aval_ = other.aval_;
  return *this;
}

Array::Array(Aval aval, std::shared_ptr<Storage> storage)
    : storage_(std::move(storage)), aval_(aval) {}

Array::Array(std::uint64_t trace_serial, std::uint32_t value, Aval aval)
    : trace_(trace_serial), value_(value), aval_(aval) {}

Array Array::hole() { return Array(hole_serial, 0, {}); }

const Aval& Array::aval() const {
  if (empty()) {
    throw UsageError("gnomon: use of an empty Array (moved from, or never assigned)");
  }
  if (is_hole()) {
    throw UsageError(
        "gnomon: use of a hole, an Array that was left out of its tree (by tree::filter or "
        "tree::separate, or as the derivative of an integer array); tree::combine fills holes");
  }
  return aval_;
}

Dim Array::dim(int axis, Loc loc) const {
  const int n = rank();
  if (axis < -n || axis >= n) {
    const std::string text = to_string(aval());
    usage_error("Array::dim",
                n == 0 ? "axis " + std::to_string(axis) + " of " + text + ", which has no axes"
                       : "axis " + std::to_string(axis) + " is out of range for " + text +
                             "; axes are " + std::to_string(-n) + " to " + std::to_string(n - 1),
                loc);
  }
  return shape()[axis < 0 ? axis + n : axis];
}

void Array::require_concrete(const char* op, Loc loc) const {
  if (concrete()) return;
  usage_error(op,
              "this " + to_string(aval()) +
                  " is traced and has no elements yet; return it from the traced function and ask "
                  "the result",
              loc);
}

bool Array::is_ready(Loc loc) const {
  require_concrete("is_ready", loc);
  return storage_->is_ready();
}

const Array& Array::block_until_ready(Loc loc) const {
  require_concrete("block_until_ready", loc);
  storage_->block_until_ready();
  return *this;
}

std::string to_string(const Scalar& x) {
  if (x.kind == Scalar::Kind::boolean) return x.integer ? "true" : "false";
  if (x.beyond_i64) return std::to_string(static_cast<std::uint64_t>(x.integer));
  if (x.kind == Scalar::Kind::integer) return std::to_string(x.integer);
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, x.floating);
  return {text, end.ptr};
}

std::string to_string(const Aval& aval) { return to_string(aval.dtype, aval.shape); }

}  // namespace gnomon
