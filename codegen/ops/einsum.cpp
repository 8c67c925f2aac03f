// codegen/ops/einsum.cpp -- products named by letters, as dot_general of pairs.
//
// Every axis carries a label: a letter, or the place of an axis under `...` counted from the last
// one. All that follows works on labels.
#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "codegen/lax/align.h"
#include "codegen/trace/eager.h"
#include "gnomon/arrange.h"
#include "gnomon/ops.h"

namespace gnomon {
namespace {

using Label = int;  // a letter's code, or unnamed_axis + place from the end
constexpr Label unnamed_axis = 1000;
using Labels = std::vector<Label>;

bool has(const Labels& l, Label x) { return std::find(l.begin(), l.end(), x) != l.end(); }
int place(const Labels& l, Label x) {
  return static_cast<int>(std::find(l.begin(), l.end(), x) - l.begin());
}
std::string text(Label x) {
  return x < unnamed_axis ? std::string(1, static_cast<char>(x)) : "...";
}

/// An operand on its way: an array with one label per axis.
struct Factor {
  Array x;
  Labels labels;
};

class Einsum {
 public:
  Einsum(std::string_view subscripts, Loc loc) : text_(subscripts), loc_(loc) {}

  Array operator()(const std::vector<Operand>& operands) {
    read(operands);
    check_sizes();
    for (Factor& f : factors_) {
      take_diagonals(f);
      drop_stretched(f);
    }
    while (factors_.size() > 1) contract_best();
    Factor last = std::move(factors_[0]);
    sum_unneeded(last, {});
    return lax::convert(arranged(last), dtype_, loc_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    usage_error("einsum", "`" + text_ + "` " + what, loc_);
  }

  /// The labels of one term for an array of `rank` axes; -1 leaves the number of axes under `...`
  /// to `unnamed`.
  Labels labels_of(const std::string& term, int rank, int unnamed) const {
    const auto dots = term.find("...");
    std::string letters = term;
    if (dots != term.npos) letters.erase(dots, 3);
    for (char c : letters)
      if (!std::isalpha(static_cast<unsigned char>(c)))
        fail(std::string("holds `") + c + "`; write letters, as in `ij,jk->ik`");
    const int named = static_cast<int>(letters.size());
    if (rank >= 0 && (dots == term.npos ? named != rank : named > rank))
      fail("names " + std::to_string(named) + " axes of an array of rank " + std::to_string(rank));
    if (rank >= 0) unnamed = rank - named;
    Labels r;
    for (std::size_t i = 0; i <= letters.size(); ++i) {
      if (dots != term.npos && i == dots)
        for (int k = unnamed; k-- > 0;) r.push_back(unnamed_axis + k);
      if (i < letters.size()) r.push_back(letters[i]);
    }
    return r;
  }

  void read(const std::vector<Operand>& operands) {
    std::string s;
    for (char c : text_)
      if (c != ' ') s += c;
    const auto arrow = s.find("->");
    const std::string left = s.substr(0, arrow);
    std::vector<std::string> terms{""};
    for (char c : left) {
      if (c == ',')
        terms.emplace_back();
      else
        terms.back() += c;
    }
    if (terms.size() != operands.size())
      fail("names " + std::to_string(terms.size()) + " operands of " +
           std::to_string(operands.size()));
    DType t = align::common_dtype("einsum", operands);
    if (t == DType::boolean) t = DType::i32;
    dtype_ = t;
    t = align::summed_in(t);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const Array x = align::in_dtype("einsum", operands[i], t);
      factors_.push_back({x, labels_of(terms[i], x.rank(), 0)});
      for (Label l : factors_.back().labels)
        if (l >= unnamed_axis) unnamed_ = std::max(unnamed_, l - unnamed_axis + 1);
    }
    if (arrow == s.npos) {
      for (int k = unnamed_; k-- > 0;) result_.push_back(unnamed_axis + k);
      for (Label l = 0; l < unnamed_axis; ++l)
        if (std::count(left.begin(), left.end(), static_cast<char>(l)) == 1 && std::isalpha(l))
          result_.push_back(l);
    } else {
      result_ = labels_of(s.substr(arrow + 2), -1, unnamed_);
    }
    for (std::size_t i = 0; i < result_.size(); ++i) {
      const Label l = result_[i];
      if (std::count(result_.begin(), result_.end(), l) > 1)
        fail("repeats `" + gnomon::text(l) + "` in the result");
      if (std::none_of(factors_.begin(), factors_.end(),
                       [&](const Factor& f) { return has(f.labels, l); }))
        fail("has no `" + gnomon::text(l) + "` to give");
    }
  }

  void check_sizes() {
    for (const Factor& f : factors_)
      for (std::size_t a = 0; a < f.labels.size(); ++a) {
        const Dim d = f.x.shape()[static_cast<int>(a)];
        auto [it, fresh] = sizes_.try_emplace(f.labels[a], d);
        const bool stretches = f.labels[a] >= unnamed_axis && (d == 1 || it->second == 1);
        if (!fresh && it->second != d && !stretches)
          fail("gives `" + gnomon::text(f.labels[a]) + "` the lengths " +
               std::to_string(it->second) + " and " + std::to_string(d));
        if (stretches && it->second == 1) it->second = d;
      }
  }

  /// An axis for every label: a label that comes again takes the diagonal.
  void take_diagonals(Factor& f) const {
    for (std::size_t i = 0; i < f.labels.size();) {
      const auto again = std::find(f.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                   f.labels.end(), f.labels[i]);
      if (again == f.labels.end()) {
        ++i;
        continue;
      }
      const auto j = static_cast<int>(again - f.labels.begin());
      f.x = diagonal({f.x, loc_}, 0, static_cast<int>(i), j);
      const Label l = f.labels[i];
      f.labels.erase(again);
      f.labels.erase(f.labels.begin() + static_cast<std::ptrdiff_t>(i));
      f.labels.push_back(l);
    }
  }

  /// Axes of length 1 that stretch to another operand's are left out.
  void drop_stretched(Factor& f) const {
    for (std::size_t a = f.labels.size(); a-- > 0;) {
      const int axis = static_cast<int>(a);
      if (f.labels[a] < unnamed_axis || f.x.shape()[axis] == sizes_.at(f.labels[a])) continue;
      f.x = lax::reshape(f.x, f.x.shape().without(axis), loc_);
      f.labels.erase(f.labels.begin() + axis);
    }
  }

  /// Sums over the labels that neither the result nor `others` have.
  void sum_unneeded(Factor& f, const std::vector<const Factor*>& others) const {
    std::vector<int> axes;
    Labels kept;
    for (std::size_t a = 0; a < f.labels.size(); ++a) {
      const bool needed = has(result_, f.labels[a]) ||
                          std::any_of(others.begin(), others.end(),
                                      [&](const Factor* o) { return has(o->labels, f.labels[a]); });
      if (needed)
        kept.push_back(f.labels[a]);
      else
        axes.push_back(static_cast<int>(a));
    }
    f.x = lax::sum(f.x, std::move(axes), loc_);
    f.labels = std::move(kept);
  }

  /// The labels of the product of two factors: those that anything else still needs.
  bool survives(Label l, std::size_t i, std::size_t j) const {
    if (has(result_, l)) return true;
    for (std::size_t k = 0; k < factors_.size(); ++k)
      if (k != i && k != j && has(factors_[k].labels, l)) return true;
    return false;
  }

  double size(const Labels& labels) const {
    double n = 1;
    for (Label l : labels) n *= static_cast<double>(sizes_.at(l));
    return n;
  }

  /// How much larger the product of a pair is than its factors.
  double growth(std::size_t i, std::size_t j) const {
    Labels all = factors_[i].labels;
    for (Label l : factors_[j].labels)
      if (!has(all, l)) all.push_back(l);
    std::erase_if(all, [&](Label l) { return !survives(l, i, j); });
    return size(all) - size(factors_[i].labels) - size(factors_[j].labels);
  }

  void contract_best() {
    std::size_t first = 0, second = 1;
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < factors_.size(); ++i)
      for (std::size_t j = i + 1; j < factors_.size(); ++j)
        if (const double g = growth(i, j); g < best) {
          best = g;
          first = i;
          second = j;
        }
    std::vector<const Factor*> others;
    for (std::size_t k = 0; k < factors_.size(); ++k)
      if (k != first && k != second) others.push_back(&factors_[k]);
    Factor a = factors_[first], b = factors_[second];
    others.push_back(&b);
    sum_unneeded(a, others);
    others.back() = &a;
    sum_unneeded(b, others);

    DotParams p;
    Labels batch, left, right;
    for (std::size_t i = 0; i < a.labels.size(); ++i) {
      const Label l = a.labels[i];
      if (!has(b.labels, l)) {
        left.push_back(l);
        continue;
      }
      const bool kept = survives(l, first, second);
      if (kept) batch.push_back(l);
      (kept ? p.lhs_batch : p.lhs_contracting).push_back(static_cast<int>(i));
      (kept ? p.rhs_batch : p.rhs_contracting).push_back(place(b.labels, l));
    }
    for (Label l : b.labels)
      if (!has(a.labels, l)) right.push_back(l);
    Factor product{lax::dot_general(a.x, b.x, std::move(p), loc_), std::move(batch)};
    product.labels.insert(product.labels.end(), left.begin(), left.end());
    product.labels.insert(product.labels.end(), right.begin(), right.end());
    factors_.erase(factors_.begin() + static_cast<std::ptrdiff_t>(second));
    factors_[first] = std::move(product);
  }

  Array arranged(const Factor& f) const {
    std::vector<int> order;
    for (Label l : result_) order.push_back(place(f.labels, l));
    return lax::permute(f.x, std::move(order), loc_);
  }

  std::string text_;
  Loc loc_;
  std::vector<Factor> factors_;
  Labels result_;
  std::map<Label, Dim> sizes_;
  int unnamed_ = 0;
  DType dtype_ = DType::f32;  // of the result
};

}  // namespace

Array einsum(std::string_view subscripts, Operand a) { return Einsum(subscripts, a.loc())({a}); }
Array einsum(std::string_view subscripts, Operand a, Operand b) {
  return at_once("einsum", a.loc(), [&] { return Einsum(subscripts, a.loc())({a, b}); });
}
Array einsum(std::string_view subscripts, Operand a, Operand b, Operand c) {
  return at_once("einsum", a.loc(), [&] { return Einsum(subscripts, a.loc())({a, b, c}); });
}
Array einsum(std::string_view subscripts, const std::vector<Operand>& operands, Loc loc) {
  if (operands.empty()) usage_error("einsum", "needs at least one operand", loc);
  return at_once("einsum", loc, [&] { return Einsum(subscripts, loc)(operands); });
}

}  // namespace gnomon
