// codegen/primitives/elementwise/bitwise.cpp -- bit operations of integers; and, or, xor and not of
// bool as well.
#include <bit>

#include "codegen/primitives/families.h"

namespace gnomon {
using namespace rules;
using kernel::Builder;
using kernel::Op;
using kernel::Value;

namespace {

// Shift counts are taken modulo the width, as the kernel IR does.
template <class T>
T shift_left(T a, T count) {
  return static_cast<T>(static_cast<std::uint64_t>(a)
                        << (static_cast<std::uint64_t>(count) % (8 * sizeof(T))));
}
template <class T>
T shift_right(T a, T count) {
  return static_cast<T>(a >> (static_cast<std::uint64_t>(count) % (8 * sizeof(T))));
}

}  // namespace

const Primitive and_p =
    binary<and_p, Accepts::bits, [](auto a, auto b) { return static_cast<decltype(a)>(a & b); },
           k_binary<Op::band>, no_derivative, no_derivative>("and");
const Primitive or_p =
    binary<or_p, Accepts::bits, [](auto a, auto b) { return static_cast<decltype(a)>(a | b); },
           k_binary<Op::bor>, no_derivative, no_derivative>("or");
const Primitive xor_p =
    binary<xor_p, Accepts::bits, [](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); },
           k_binary<Op::bxor>, no_derivative, no_derivative>("xor");
const Primitive not_p = unary<not_p, Accepts::bits,
                              [](auto a) {
                                if constexpr (std::is_same_v<decltype(a), bool>)
                                  return !a;
                                else
                                  return static_cast<decltype(a)>(~a);
                              },
                              k_unary<Op::bnot>, no_derivative>("not");

const Primitive shl_p =
    binary<shl_p, Accepts::integers, [](auto a, auto b) { return shift_left(a, b); },
           k_binary<Op::shl>, no_derivative, no_derivative>("shl");
const Primitive shr_p =
    binary<shr_p, Accepts::integers, [](auto a, auto b) { return shift_right(a, b); },
           k_binary<Op::shr>, no_derivative, no_derivative>("shr");
const Primitive popcount_p = unary<popcount_p, Accepts::integers,
                                   [](auto a) {
                                     return static_cast<decltype(a)>(std::popcount(
                                         static_cast<std::make_unsigned_t<decltype(a)>>(a)));
                                   },
                                   k_unary<Op::popcount>, no_derivative>("popcount");

}  // namespace gnomon
