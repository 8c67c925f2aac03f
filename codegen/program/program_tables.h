// codegen/program/program_tables.h -- tables of program.fbs that several forms of files share.
// Includes what flatc generates, so it is for the sources beside it alone.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "codegen/program/program_file.h"
#include "program_generated.h"

namespace gnomon::tables {

namespace fb = ::flatbuffers;

/// Throws FileError in the name of the function that reads.
[[noreturn]] void damaged(const std::string& what);

fb::Offset<file::Aval> write(fb::FlatBufferBuilder&, const Aval&);
/// Throws InternalError for a program with a complaint.
fb::Offset<file::ProgramFile> write(fb::FlatBufferBuilder&, const ProgramFile&);

/// Throws FileError for what is no array's type, or larger than any memory.
Aval read(const file::Aval&);
/// Throws FileError for everything but a program without complaint, with well-formed modules.
ProgramFile read(const file::ProgramFile&);

/// While it lives, what this thread reads is paid for: a table that many others name is read for
/// each of them, so a small file could make its reader take all memory there is. Without one
/// nothing is counted.
class Budget {
 public:
  explicit Budget(std::uint64_t bytes) : left_(bytes), outer_(current()) { current() = this; }
  ~Budget() { current() = outer_; }
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;
  /// Throws FileError when there is not so much left.
  static void take(std::uint64_t count, std::uint64_t size) {
    Budget* const budget = current();
    if (budget == nullptr) return;
    if (count > budget->left_ / size) damaged("it says more than its bytes can");
    budget->left_ -= count * size;
  }

 private:
  static Budget*& current();
  std::uint64_t left_;
  Budget* outer_;
};

inline std::string read(const fb::String* s) {
  if (s == nullptr) return {};
  Budget::take(s->size(), 1);
  return s->str();
}

/// The verifier of FlatBuffers 2.0 looks where a list lies, not whether its elements, which may
/// want more than its length does, are aligned there.
template <class T>
void check_alignment(const fb::Vector<T>* list) {
  constexpr std::size_t wanted = alignof(std::remove_pointer_t<T>);
  if (list->size() > 0 && reinterpret_cast<std::uintptr_t>(list->Data()) % wanted != 0)
    damaged("a list lies where its elements cannot");
}

/// Every element of a list by a function that gives its table.
template <class T, class F>
auto write_each(fb::FlatBufferBuilder& builder, const std::vector<T>& list, F write) {
  std::vector<decltype(write(list[0]))> all;
  for (const T& element : list) all.push_back(write(element));
  return builder.CreateVector(all);
}

template <class T, class F>
auto read_each(const fb::Vector<T>* list, F read) {
  std::vector<decltype(read(list->Get(0)))> result;
  if (list == nullptr) return result;
  check_alignment(list);
  Budget::take(list->size(), sizeof(result[0]));
  result.reserve(list->size());
  for (const auto* element : *list) result.push_back(read(element));
  return result;
}

/// A list of numbers.
template <class T>
std::vector<T> read_numbers(const fb::Vector<T>* list) {
  if (list == nullptr) return {};
  check_alignment(list);
  Budget::take(list->size(), sizeof(T));
  return {list->begin(), list->end()};
}

std::vector<std::byte> read_bytes(const fb::Vector<std::uint8_t>*);

/// Bounds every offset; `name` of the tables inside is as it is.
template <class Root>
const Root& verified(std::span<const std::byte> bytes, const char* identifier) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  // A table and the offset that leads there take 8 bytes. Where many offsets lead to one table,
  // which no writer does, a small file could keep the verifier busy for hours.
  constexpr fb::uoffset_t depth = 64;
  const auto most_tables = static_cast<fb::uoffset_t>(bytes.size() / 8 + 1);
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) damaged("it is too large");
  fb::Verifier verifier(data, bytes.size(), depth, most_tables);
  if (!verifier.VerifyBuffer<Root>(identifier)) damaged("an offset points outside of it");
  return *fb::GetRoot<Root>(data);
}

}  // namespace gnomon::tables
