// codegen/program/effect_table.cpp -- records in the order of the program, as lines and errors.
#include "codegen/program/effect_table.h"

#include <algorithm>

#include "codegen/base/array_text.h"
#include "codegen/program/print_format.h"
#include "shaders/support/check.h"

namespace gnomon {
namespace {

/// The arrays of one statement, by lane and record.
class Records {
 public:
  Records(const Statement& s, std::span<const HostArray> all)
      : s_(s), arrays_(all.subspan(s.first, s.count)) {
    for (Dim d : s.lanes) lanes_ *= d;
  }

  Dim lanes() const { return lanes_; }
  /// How often it ran, or how many elements failed.
  Dim count(Dim lane) const { return arrays_[0].integer(lane); }
  /// Records that were kept.
  Dim kept(Dim lane) const { return std::min(count(lane), std::max<Dim>(s_.rows, 1)); }
  Dim first_failed(Dim lane) const { return arrays_[1].integer(lane); }

  HostArray value(std::size_t i, Dim lane, Dim record) const {
    HostArray r(s_.values[i]);
    const Dim row = s_.rows > 0 ? lane * (s_.rows + 1) + record : lane;
    std::copy_n(arrays_[1 + i].bytes.data() + static_cast<std::size_t>(row) * r.bytes.size(),
                r.bytes.size(), r.bytes.data());
    return r;
  }

  Dim step(std::uint32_t loop, Dim lane, Dim record) const {
    const bool print = s_.kind == Statement::Kind::print;
    const HostArray& steps = arrays_[(print ? 1 + s_.values.size() : 2) + loop];
    return steps.integer(print ? lane * (s_.rows + 1) + record : lane);
  }

  std::vector<Dim> lane_index(Dim lane) const {
    std::vector<Dim> r(s_.lanes.size());
    for (std::size_t i = r.size(); i-- > 0; lane /= s_.lanes[i]) r[i] = lane % s_.lanes[i];
    return r;
  }

  std::vector<Dim> time(Dim lane, Dim record) const {
    const std::vector<Dim> at = lane_index(lane);
    std::vector<Dim> r;
    for (const TimePart& part : s_.time) switch (part.kind) {
        case TimePart::Kind::position:
          r.push_back(part.value);
          break;
        case TimePart::Kind::step:
          r.push_back(step(static_cast<std::uint32_t>(part.value), lane, record));
          break;
        case TimePart::Kind::lane:
          r.push_back(at[static_cast<std::size_t>(part.value)]);
          break;
      }
    return r;
  }

 private:
  const Statement& s_;
  std::span<const HostArray> arrays_;
  Dim lanes_ = 1;
};

std::string tuple(const std::vector<Dim>& index) {
  std::string r;
  for (Dim i : index) r += (r.empty() ? "" : ",") + std::to_string(i);
  return index.size() == 1 ? r : "[" + r + "]";
}

std::string line(const Statement& s, const Records& records, Dim lane, Dim record) {
  const effects::Format format = effects::parse_format(s.text, s.loc);
  std::string r = format.texts[0];
  for (std::size_t i = 0; i < s.values.size(); ++i) {
    const HostArray value = records.value(i, lane, record);
    const std::string each = effects::element_format(format.specs[i], value.aval.dtype, s.loc);
    r += (each.empty() ? to_string(value) : to_string(value, each)) + format.texts[i + 1];
  }
  return r;
}

/// "message: 3 elements were true, the first at index [1,2], in element 5, step 17 (demo.cpp:66)".
std::string failure(const Statement& s, const Records& records, Dim lane) {
  Dim total = 0, failed_lanes = 0;
  for (Dim l = 0; l < records.lanes(); ++l) {
    total += records.count(l);
    failed_lanes += records.count(l) > 0;
  }
  const Shape& shape = s.values[0].shape;
  std::string where;
  if (shape.rank() > 0 && shape.size() > 0) {
    Dim rest = records.first_failed(lane);
    std::vector<Dim> index(static_cast<std::size_t>(shape.rank()));
    for (int i = shape.rank(); i-- > 0; rest /= shape[i])
      index[static_cast<std::size_t>(i)] = rest % shape[i];
    where += " at index " + tuple(index);
  }
  if (!s.lanes.empty())
    where += (where.empty() ? " in element " : ", in element ") + tuple(records.lane_index(lane)) +
             " of the vmap";
  if (s.loops > 0) {
    std::vector<Dim> steps;
    for (std::uint32_t i = 0; i < s.loops; ++i) steps.push_back(records.step(i, lane, 0));
    where += std::string(where.empty() ? " in" : ", in") + " step " + tuple(steps);
  }
  std::string r = "gnomon::error_if: " + s.text;
  if (!where.empty())
    r += "; true " +
         (total == 1 ? std::string("once,")
                     : std::to_string(total) + " times" +
                           (failed_lanes > 1 ? " in " + std::to_string(failed_lanes) + " elements"
                                             : std::string()) +
                           ", first") +
         where;
  if (s.loc.line > 0) r += " (" + to_string(s.loc) + ")";
  return r;
}

}  // namespace

Report EffectTable::read(std::span<const HostArray> all) const {
  GNOMON_CHECK(all.size() == arrays, "as many arrays as statements record");
  struct Event {
    std::vector<Dim> time;
    const Statement* statement = nullptr;
    Dim lane = 0, record = 0;
  };
  std::vector<Event> lines;
  std::optional<Event> failed;
  std::vector<std::string> notes;
  for (const Statement& s : statements) {
    const Records records(s, all);
    Dim dropped = 0;
    for (Dim lane = 0; lane < records.lanes(); ++lane) {
      if (s.kind == Statement::Kind::error_if) {
        if (records.count(lane) == 0) continue;
        Event e{records.time(lane, 0), &s, lane, 0};
        if (!failed || e.time < failed->time) failed = std::move(e);
        continue;
      }
      const Dim kept = records.kept(lane);
      dropped += records.count(lane) - kept;
      for (Dim record = 0; record < kept; ++record)
        lines.push_back({records.time(lane, record), &s, lane, record});
    }
    if (dropped > 0)
      notes.push_back("gnomon::debug::print: " + std::to_string(dropped) + " records of \"" +
                      s.text + "\" dropped; raise JitOptions::print_bytes to keep them" +
                      (s.loc.line > 0 ? " (" + to_string(s.loc) + ")" : std::string()));
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Event& a, const Event& b) { return a.time < b.time; });
  Report report;
  for (const Event& e : lines)
    report.lines.push_back(line(*e.statement, Records(*e.statement, all), e.lane, e.record));
  for (std::string& note : notes) report.lines.push_back(std::move(note));
  if (failed) {
    const Statement& s = *failed->statement;
    report.failure = failure(s, Records(s, all), failed->lane);
  }
  return report;
}

}  // namespace gnomon
