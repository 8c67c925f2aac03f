// engine/runtime/frames.cpp -- finding the call of an earlier frame.
#include "engine/runtime/frames.h"

#include <algorithm>
#include <utility>

#include "gnomon/aot.h"  // what applications link is visible where it is declared

namespace gnomon::detail {
namespace {

/// As tree::detail::append_key and visit_arrays, in one walk.
struct Reader final : tree::Visitor {
  Reader(std::string& b, std::vector<const Array*>& a) : bytes(b), arrays(a) {}
  void leaf(const Array& a) override {
    bytes.push_back(a.is_hole() ? '\1' : '\0');
    if (!a.is_hole()) arrays.push_back(&a);
  }
  void value(const tree::StaticValue& x) override { x.append_key(x.value, bytes); }
  void count(std::size_t n) override { tree::detail::append_count(bytes, n); }
  void presence(bool present) override { tree::detail::append_bytes(bytes, present); }
  std::string& bytes;
  std::vector<const Array*>& arrays;
};

bool same_owner(const std::weak_ptr<Storage>& a, const std::shared_ptr<Storage>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

void Frames::read(std::span<const TypedTree> trees) {
  statics_.clear();
  arrays_.clear();
  Reader reader(statics_, arrays_);
  for (std::size_t i = 0; i < trees.size(); ++i) {
    tree::detail::append_bytes(statics_, trees[i].type);
    trees[i].tree.walk_by(reader);
    if (i == 0) results_ = arrays_.size();
  }
}

bool Frames::fits(const Line& line) const {
  if (line.arrays.size() != arrays_.size() || line.statics != statics_) return false;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const Array& a = *arrays_[i];
    const Known& known = line.arrays[i];
    // A storage may have been an array of another type before, which gave it away.
    if (!a.concrete() || !same_owner(known.storage, a.storage()) || known.aval != a.aval())
      return false;
  }
  return true;
}

RecordedCall* Frames::again(VkCommandBuffer commands, std::span<const TypedTree> trees) {
  const std::lock_guard lock(mutex_);
  if (lines_.empty()) return nullptr;
  read(trees);
  for (const Line& line : lines_) {
    if (!fits(line)) continue;
    return line.executable->record_again(commands, line.executable, line.bound, arrays_, results_,
                                         line.captures);
  }
  return nullptr;
}

RecordedCall* Frames::record(VkCommandBuffer commands,
                             const std::shared_ptr<Executable>& executable,
                             std::span<const Array> inputs, std::vector<Array>& outputs,
                             std::span<const TypedTree> trees) {
  const bool all_there =
      std::none_of(outputs.begin(), outputs.end(), [](const Array& a) { return a.empty(); });
  Line line;
  RecordedCall& call = executable->record(commands, inputs, outputs, &line.bound);
  const std::lock_guard lock(mutex_);
  read(trees);
  // What was made of numbers alone is another array on the device.
  const bool as_given = std::all_of(arrays_.begin(), arrays_.end(), [](const Array* a) {
    return a->concrete() && !a->storage()->unplaced();
  });
  if (!all_there || !as_given || line.bound.entry == 0) return &call;
  line.statics = statics_;
  for (const Array* a : arrays_) line.arrays.push_back({a->storage(), a->aval()});
  const auto arguments = static_cast<std::ptrdiff_t>(arrays_.size() - results_);
  line.captures.assign(inputs.begin() + arguments, inputs.end());
  line.executable = executable;
  const auto known =
      std::find_if(lines_.begin(), lines_.end(), [&](const Line& l) { return fits(l); });
  if (known != lines_.end())
    *known = std::move(line);
  else if (lines_.size() < most_lines)
    lines_.push_back(std::move(line));
  else
    lines_[oldest_++ % most_lines] = std::move(line);
  return &call;
}

std::shared_ptr<Frames> make_frames() { return std::make_shared<Frames>(); }

Recording replay(Frames& frames, VkCommandBuffer commands, std::span<const TypedTree> trees) {
  return Recording(frames.again(commands, trees));
}

Recording record(Frames& frames, VkCommandBuffer commands,
                 const std::shared_ptr<Executable>& executable, std::span<const Array> inputs,
                 std::vector<Array>& outputs, std::span<const TypedTree> trees) {
  return Recording(frames.record(commands, executable, inputs, outputs, trees));
}

}  // namespace gnomon::detail
