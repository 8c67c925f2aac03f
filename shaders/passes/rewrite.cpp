// shaders/passes/rewrite.cpp -- one case per kind of instruction for copying it.
#include "shaders/passes/rewrite.h"

#include <optional>

#include "shaders/support/check.h"

namespace gnomon::kernel {

void copy_header(const Kernel& source, Builder& out) {
  Kernel& k = out.kernel();
  out.expect_values(source.types.size());
  k.group_size = source.group_size;
  k.parameters = source.parameters;
  k.buffers = source.buffers;
  k.privates = source.privates;
  k.shareds = source.shareds;
}

namespace {

void count_uses(const Region& r, std::vector<std::uint32_t>& uses) {
  for (const Instruction& i : r.body) {
    for (Value v : i.operands) ++uses[v.index];
    for (const Region& inner : i.regions) count_uses(inner, uses);
  }
  for (Value v : r.yields) ++uses[v.index];
}

}  // namespace

std::vector<std::uint32_t> use_counts(const Kernel& k) {
  std::vector<std::uint32_t> uses(k.types.size(), 0);
  count_uses(k.body, uses);
  return uses;
}

namespace {

Value load_like(Builder& out, const Instruction& i, std::span<const Value> x, std::uint8_t width) {
  const auto array = static_cast<std::uint32_t>(i.immediate);
  switch (space(i.op)) {
    case Space::private_array:
      return out.private_load(array, x[0], width);
    case Space::shared_array:
      return out.shared_load(array, x[0], width);
    default:
      return out.load(array, x[0], width, x.size() > 1 ? x[1] : Value{});
  }
}

void store_like(Builder& out, const Instruction& i, std::span<const Value> x) {
  const auto array = static_cast<std::uint32_t>(i.immediate);
  const Value mask = x.size() > 2 ? x[2] : Value{};
  switch (space(i.op)) {
    case Space::private_array:
      return out.private_store(array, x[0], x[1], mask);
    case Space::shared_array:
      return out.shared_store(array, x[0], x[1], mask);
    default:
      return out.store(array, x[0], x[1], mask);
  }
}

}  // namespace

Value emit_like(Builder& out, const Kernel& source, const Instruction& i, std::span<const Value> x,
                std::uint8_t width) {
  std::optional<Builder::Exactly> exactly;
  if (i.exact) exactly.emplace(out);
  if (i.line != 0) {
    const SourceLine& at = source.lines[i.line - 1];
    out.at_line(at.file, at.line);
  }
  const auto number = static_cast<std::uint32_t>(i.immediate);
  const auto scalar = [&] { return source.type(i.results[0]).scalar; };
  switch (form(i.op)) {
    case Form::constant:
      return out.constant({scalar(), width}, i.immediate);
    case Form::parameter:
      return out.parameter(number);
    case Form::position:
      return out.source(i.op);
    case Form::unary:
    case Form::test:
      return out.unary(i.op, x[0]);
    case Form::binary:
      return out.binary(i.op, x[0], x[1]);
    case Form::ternary:
      return out.fma(x[0], x[1], x[2]);
    case Form::comparison:
      return out.compare(i.op, x[0], x[1]);
    case Form::select:
      return out.select(x[0], x[1], x[2]);
    case Form::convert:
      return out.convert(x[0], scalar());
    case Form::bitcast:
      return out.bitcast(x[0], scalar());
    case Form::word:
      return i.op == Op::low_word ? out.low_word(x[0]) : out.high_word(x[0]);
    case Form::from_words:
      return out.from_words(x[0], x[1], scalar());
    case Form::splat:
      return out.splat(x[0], width);
    case Form::extract:
      return out.extract(x[0], number);
    case Form::construct:
      return out.construct(x);
    case Form::horizontal:
      return i.op == Op::any ? out.any(x[0]) : out.all(x[0]);
    case Form::load:
      return load_like(out, i, x, width);
    case Form::store:
      store_like(out, i, x);
      return {};
    case Form::atomic:
      return out.atomic(i.op, number, x[0], x[1]);
    case Form::subgroup_position:
    case Form::subgroup_election:
      return out.subgroup(i.op);
    case Form::subgroup_reduction:
      return out.subgroup(i.op, x[0]);
    case Form::barrier:
      out.barrier();
      return {};
    case Form::loop:
    case Form::branch:
      break;
  }
  GNOMON_CHECK(false, "`" + std::string(name(i.op)) + "` has regions and is not copied alone");
  return {};
}

void Rewriter::copy(const Region& region) {
  out_.expect(region.body.size());
  for (const Instruction& i : region.body) visit(i);
}

void Rewriter::copy(const Instruction& i) {
  SmallVector<Value, 4> operands = i.operands;
  for (Value& v : operands) v = mapped(v);
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
