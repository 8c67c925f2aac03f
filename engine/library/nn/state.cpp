// engine/library/nn/state.cpp -- the values of a State by place, and what is said of one that was
// used before.
#include "gnomon/state.h"

#include <algorithm>

namespace gnomon {
namespace {

/// "`norm.running`".
std::string named(const std::string& place) {
  return place.empty() ? "the layer's value" : "`" + place + "`";
}

std::string where(Loc loc) { return loc.line > 0 ? " (" + to_string(loc) + ")" : ""; }

std::string list(const detail::StateEntries& entries) {
  if (entries.empty()) return "nothing";
  std::string text;
  for (const detail::StateEntry& e : entries) text += (text.empty() ? "" : ", ") + named(e.place);
  return text;
}

detail::StateEntry* look_up(detail::StateEntries& entries, const std::string& place) {
  const auto at = std::find_if(entries.begin(), entries.end(),
                               [&](const detail::StateEntry& e) { return e.place == place; });
  return at == entries.end() ? nullptr : &*at;
}

/// A StateIndex in a model.
struct Found {
  std::string path;
  detail::StateMark* mark = nullptr;
  std::string* place = nullptr;
  std::vector<Array*> values = {};
};

/// All of them. Each has a mark, then a place, then a value, which is how a walk meets them.
std::vector<Found> indices(tree::detail::AnyTree model) {
  constexpr std::string_view mark_field = ".mark";
  std::vector<Found> found;
  const auto mark = [&](const void* value, const std::string& path) {
    found.push_back({path.substr(0, path.size() - mark_field.size()),
                     const_cast<detail::StateMark*>(static_cast<const detail::StateMark*>(value))});
  };
  tree::detail::visit_values(model, &tree::detail::type_identity<detail::StateMark>, "", mark);

  std::size_t next = 0;
  const auto place = [&](const void* value, const std::string& path) {
    if (next < found.size() && path == found[next].path + ".place")
      found[next++].place = const_cast<std::string*>(static_cast<const std::string*>(value));
  };
  tree::detail::visit_values(model, &tree::detail::type_identity<std::string>, "", place);

  std::size_t at = 0;
  const auto array = [&](const Array& a, const std::string& path) {
    for (std::size_t i = at; i < found.size(); ++i) {
      const std::string start = found[i].path + ".initial";
      const bool inside =
          path.starts_with(start) &&
          (path.size() == start.size() || path[start.size()] == '.' || path[start.size()] == '[');
      if (!inside) continue;
      found[i].values.push_back(const_cast<Array*>(&a));
      at = i;
      return;
    }
  };
  tree::detail::visit_arrays(model, true, "", array);
  return found;
}

std::string place_of(const std::string& path) {
  return path.starts_with('.') ? path.substr(1) : path;
}

}  // namespace

namespace detail {

std::string_view name(StateMark mark) {
  return mark == StateMark::initial ? "with its initial value" : "placed";
}

StateEntries initial_states(tree::detail::AnyTree model, bool strip, Loc loc) {
  const std::string op = strip ? "make_with_state" : "State";
  const std::vector<Found> found = indices(model);
  StateEntries entries;
  for (const Found& index : found) {
    const std::string place = place_of(index.path);
    if (*index.mark == StateMark::placed) {
      usage_error(op,
                  named(place) +
                      " has no initial value any more, make_with_state took it out; go on with the "
                      "State that it gave, or make the model anew",
                  loc);
    }
    StateEntry entry{place, {}};
    for (const Array* a : index.values) {
      if (a->empty() && !a->is_hole()) {
        usage_error(op, named(place) + " begins with an empty Array; give its StateIndex a value",
                    loc);
      }
      entry.values.push_back(*a);
    }
    entries.push_back(std::move(entry));
  }
  if (strip) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      *found[i].mark = StateMark::placed;
      *found[i].place = entries[i].place;
      for (Array* a : found[i].values) *a = Array::hole();
    }
  }
  return entries;
}

State placed_state(tree::detail::AnyTree model, Loc loc) {
  return State(initial_states(model, true, loc));
}

void check_same_state(const std::string& place, tree::detail::AnyTree before,
                      tree::detail::AnyTree now, const void* type, Loc loc) {
  const auto fail = [&](const std::string& path, const std::string& was, const std::string& is) {
    usage_error("State::set",
                named(path) + " is " + was + " in the state and " + is +
                    " in the new value; a state keeps its structure, shapes and dtypes",
                loc);
  };
  std::string a, b;
  tree::detail::append_key(before, type, a);
  tree::detail::append_key(now, type, b);
  if (a != b) {
    using Texts = std::vector<std::pair<std::string, std::string>>;
    const auto texts = [&](tree::detail::AnyTree tree) {
      Texts all;
      const auto add = [&](const std::string& path, const std::string& text) {
        all.emplace_back(path, text);
      };
      tree::detail::visit_statics(tree, place, add);
      return all;
    };
    const Texts old = texts(before), value = texts(now);
    for (std::size_t i = 0; i < std::max(old.size(), value.size()); ++i) {
      if (i >= old.size()) fail(value[i].first, "present", value[i].second);
      if (i >= value.size()) fail(old[i].first, old[i].second, "present");
      if (old[i] == value[i]) continue;
      fail(old[i].first, old[i].second,
           old[i].first == value[i].first ? value[i].second : "of another structure");
    }
    fail(place, "of one structure", "of another");  // a hole more
  }
  const std::vector<Array> old = tree::detail::arrays(before, false);
  const std::vector<Array> value = tree::detail::arrays(now, false);
  const std::vector<std::string> paths = tree::detail::leaf_paths(before, place);
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (value[i].empty()) fail(paths[i], to_string(old[i].aval()), "empty");
    if (old[i].aval() != value[i].aval())
      fail(paths[i], to_string(old[i].aval()), to_string(value[i].aval()));
  }
}

}  // namespace detail

struct State::Past {
  std::string updated;  // the index that was set
  Loc loc;
};

State::State(detail::StateEntries entries)
    : entries_(std::move(entries)), past_(std::make_shared<Past>()) {}

void State::take(State& from, Loc loc) noexcept {
  entries_ = std::move(from.entries_);
  past_ = from.past_;
  moved_ = from.moved_;
  gone_ = from.gone_;
  from.given_away(loc);
}

void State::given_away(Loc loc) noexcept {
  entries_.clear();
  if (!gone_) moved_ = loc;
  gone_ = true;
}

void State::check_unused(std::string_view op, const std::string& place, Loc loc) const {
  if (!gone_) return;
  const std::string asked =
      place.empty() ? "this state" : named(place) + " is asked of a state that";
  const bool updated = past_ && !past_->updated.empty();
  usage_error(op,
              asked + " was used before: " +
                  (updated ? named(past_->updated) + " was updated from it" + where(past_->loc)
                           : "it was moved away" + where(moved_)) +
                  "; go on with the State that came back",
              loc);
}

const detail::StateEntry& State::find(std::string_view op, detail::StateMark mark,
                                      const std::string& place, std::size_t arrays, Loc loc) const {
  check_unused(op, place, loc);
  if (mark == detail::StateMark::initial) {
    usage_error(op,
                "the StateIndex of this layer holds its initial value itself; pass the model "
                "through make_with_state, which gives it and its State",
                loc);
  }
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const detail::StateEntry& e) { return e.place == place; });
  if (at == entries_.end()) {
    usage_error(op,
                named(place) + " is not in this state, which has " + list(entries_) +
                    "; make_with_state gives a model and the State that belongs to it",
                loc);
  }
  if (at->values.size() != arrays) {
    usage_error(op,
                named(place) + " is " + std::to_string(at->values.size()) +
                    (at->values.size() == 1 ? " array" : " arrays") + " in this state and " +
                    std::to_string(arrays) +
                    " in the model; make_with_state gives a model and the State that belongs to it",
                loc);
  }
  for (const Array& a : at->values) {
    if (!a.empty() || a.is_hole()) continue;
    usage_error(op,
                named(place) +
                    " is asked of a state whose arrays were moved into the call of a compiled "
                    "function; go on with the State that it gave back",
                loc);
  }
  return *at;
}

State State::clone(Loc loc) const {
  check_unused("State::clone", "", loc);
  return past_ ? State(entries_) : State();
}

State State::with(const std::string& place, std::vector<Array> values, Loc loc) && {
  look_up(entries_, place)->values = std::move(values);
  if (past_) *past_ = {place, loc};
  State next(std::move(entries_));
  given_away(loc);
  return next;
}

State State::part(tree::detail::AnyTree module, Loc loc) const {
  check_unused("State::substate", "", loc);
  detail::StateEntries some;
  for (const Found& index : indices(module))
    some.push_back(find("State::substate", *index.mark, *index.place, index.values.size(), loc));
  return State(std::move(some));
}

State State::update(State part, Loc loc) && {
  check_unused("State::update", "", loc);
  part.check_unused("State::update", "", loc);
  detail::StateEntries all = entries_;
  for (detail::StateEntry& entry : part.entries_) {
    const auto& before =
        find("State::update", detail::StateMark::placed, entry.place, entry.values.size(), loc);
    detail::check_same_state(entry.place, tree::detail::AnyTree::of(before.values),
                             tree::detail::AnyTree::of(entry.values), nullptr, loc);
    look_up(all, entry.place)->values = std::move(entry.values);
    if (past_) *past_ = {entry.place, loc};
  }
  given_away(loc);
  return State(std::move(all));
}

std::vector<std::string> State::places() const {
  std::vector<std::string> names;
  for (const detail::StateEntry& e : entries_) names.push_back(e.place);
  return names;
}

}  // namespace gnomon
