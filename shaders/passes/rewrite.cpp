// shaders/passes/rewrite.cpp -- one case per kind of instruction for copying it.
#include "shaders/passes/rewrite.h"

#include <optional>

#include "shaders/support/check.h"

namespace gnomon::kernel {

bool writes(Op op) {
  return op == Op::store || op == Op::private_store || op == Op::shared_store || is_atomic(op) ||
         is_collective(op);
}

void copy_header(const Kernel& source, Builder& out) {
  Kernel& k = out.kernel();
  k.group_size = source.group_size;
  k.parameters = source.parameters;
  k.buffers = source.buffers;
  k.privates = source.privates;
  k.shareds = source.shareds;
}

Value emit_like(Builder& out, const Kernel& source, const Instruction& i, std::span<const Value> x,
                std::uint8_t width) {
  std::optional<Builder::Exactly> exactly;
  if (i.exact) exactly.emplace(out);
  if (i.line != 0) {
    const SourceLine& at = source.lines[i.line - 1];
    out.at_line(at.file.c_str(), at.line);
  }
  const auto number = static_cast<std::uint32_t>(i.immediate);
  const auto mask = [&](std::size_t k) { return x.size() > k ? x[k] : Value{}; };
  const auto scalar = [&] { return source.type(i.results[0]).scalar; };
  switch (i.op) {
    case Op::constant:
      return out.constant({scalar(), width}, i.immediate);
    case Op::parameter:
      return out.parameter(number);
    case Op::lane:
    case Op::invocation:
    case Op::group_index:
    case Op::local_index:
      return out.source(i.op);
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::rem:
    case Op::minimum:
    case Op::maximum:
    case Op::pow:
    case Op::atan2:
    case Op::band:
    case Op::bor:
    case Op::bxor:
    case Op::shl:
    case Op::shr:
    case Op::mul_high:
      return out.binary(i.op, x[0], x[1]);
    case Op::neg:
    case Op::abs:
    case Op::floor:
    case Op::ceil:
    case Op::round_even:
    case Op::trunc:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::exp:
    case Op::exp2:
    case Op::log:
    case Op::log2:
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::sinh:
    case Op::cosh:
    case Op::tanh:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::bnot:
    case Op::popcount:
    case Op::is_nan:
    case Op::is_inf:
      return out.unary(i.op, x[0]);
    case Op::fma:
      return out.fma(x[0], x[1], x[2]);
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
      return out.compare(i.op, x[0], x[1]);
    case Op::select:
      return out.select(x[0], x[1], x[2]);
    case Op::convert:
      return out.convert(x[0], scalar());
    case Op::bitcast:
      return out.bitcast(x[0], scalar());
    case Op::low_word:
      return out.low_word(x[0]);
    case Op::high_word:
      return out.high_word(x[0]);
    case Op::from_words:
      return out.from_words(x[0], x[1], scalar());
    case Op::splat:
      return out.splat(x[0], width);
    case Op::extract:
      return out.extract(x[0], number);
    case Op::construct:
      return out.construct(x);
    case Op::any:
      return out.any(x[0]);
    case Op::all:
      return out.all(x[0]);
    case Op::load:
      return out.load(number, x[0], width, mask(1));
    case Op::store:
      out.store(number, x[0], x[1], mask(2));
      return {};
    case Op::private_load:
      return out.private_load(number, x[0], width);
    case Op::private_store:
      out.private_store(number, x[0], x[1], mask(2));
      return {};
    case Op::shared_load:
      return out.shared_load(number, x[0], width);
    case Op::shared_store:
      out.shared_store(number, x[0], x[1], mask(2));
      return {};
    case Op::atomic_add:
    case Op::atomic_and:
    case Op::atomic_or:
      return out.atomic(i.op, number, x[0], x[1]);
    case Op::subgroup_index:
    case Op::subgroup_count:
    case Op::subgroup_first:
      return out.subgroup(i.op);
    case Op::subgroup_add:
    case Op::subgroup_min:
    case Op::subgroup_max:
    case Op::subgroup_and:
    case Op::subgroup_or:
      return out.subgroup(i.op, x[0]);
    case Op::barrier:
      out.barrier();
      return {};
    case Op::loop:
    case Op::if_:
      break;
  }
  GNOMON_CHECK(false, "`" + std::string(name(i.op)) + "` has regions and is not copied alone");
  return {};
}

void Rewriter::copy(const Region& region) {
  for (const Instruction& i : region.body) visit(i);
}

void Rewriter::copy(const Instruction& i) {
  const Values operands = mapped(i.operands);
  if (i.op == Op::loop) {
    const auto enter = [&](const Region& region, std::span<const Value> carried) {
      map(region.arguments, carried);
      copy(region);
      return mapped(region.yields);
    };
    map(i.results,
        out_.loop(
            operands, i.immediate,
            [&](std::span<const Value> carried) { return enter(i.regions[0], carried)[0]; },
            [&](std::span<const Value> carried) { return enter(i.regions[1], carried); }));
  } else if (i.op == Op::if_) {
    const auto side = [&](const Region& region) {
      copy(region);
      return mapped(region.yields);
    };
    map(i.results,
        out_.if_(
            operands[0], [&] { return side(i.regions[0]); }, [&] { return side(i.regions[1]); }));
  } else {
    const std::uint8_t width =
        i.results.empty() ? std::uint8_t{1} : source_.type(i.results[0]).width;
    const Value result = emit_like(out_, source_, i, operands, width);
    if (!i.results.empty()) map(i.results[0], result);
  }
}

Values Rewriter::mapped(std::span<const Value> values) const {
  Values out;
  out.reserve(values.size());
  for (Value v : values) out.push_back(mapped(v));
  return out;
}

void Rewriter::map(std::span<const Value> from, std::span<const Value> to) {
  for (std::size_t k = 0; k < from.size(); ++k) map(from[k], to[k]);
}

}  // namespace gnomon::kernel
