// engine/library/ode/method.h -- what the one integration loop asks of a method: arrays of states,
// without the types they had.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gnomon/ode/solve.h"
#include "gnomon/ode/solvers.h"

namespace gnomon::ode::detail {

/// The vector fields of a problem in the direction of integration: time always grows.
class Fields {
 public:
  /// `sign`: what times are multiplied by; nothing where the solve goes forward for sure.
  Fields(const Request& request, std::optional<Array> sign)
      : request_(request), sign_(std::move(sign)) {}

  std::size_t size() const { return request_.fields.size(); }
  Arrays operator()(std::size_t part, const Array& t, const Arrays& y) const;
  /// The sum of all terms.
  Arrays all(const Array& t, const Arrays& y) const;
  /// The user's time.
  Array time(const Array& t) const;

  const Request& request() const { return request_; }
  /// What drives a field; null: time.
  const Drive* drive(std::size_t part) const { return request_.drives[part].drive.get(); }
  /// The field of a driven part, which `product` multiplies with what its path did.
  Arrays factor(std::size_t part, const Array& t, const Arrays& y) const {
    return request_.fields[part](time(t), y);
  }

 private:
  const Request& request_;
  std::optional<Array> sign_;
};

/// Throws UsageError: what diffeqsolve was asked cannot be.
[[noreturn]] void fail(const Request&, const std::string& what);

/// The dtype of time: f64 where the state or a time is.
DType time_dtype(const Request&);
/// What times are multiplied by so that they grow; nothing where they do for sure.
std::optional<Array> direction(const Request&, DType time);

/// One step as a method sees it.
struct Span {
  Array t0, t1, h;
  std::optional<Array> index = {};  // i32[]: which step it is, where steps do not depend on errors
};

/// y(theta) - y(0) = sum over p of theta^(p + 1) powers[p].
using Polynomial = std::vector<Arrays>;

struct Stepped {
  Arrays y1;
  Arrays error;  // empty: no estimate
  Arrays state;  // what the next step begins with if this one is kept
  std::vector<Arrays> slopes;
  std::optional<Array> failed;       // bool[]: y1 means nothing
  std::optional<Array> evaluations;  // i32[], where their number is known only when it runs
  std::optional<Array> factor;       // of the step size, where the method chooses it
};

/// A method. Stateless: what it carries from step to step are arrays.
class Method {
 public:
  Method(std::string name, int order, double error_order)
      : name_(std::move(name)), order_(order), error_order_(error_order) {}
  virtual ~Method() = default;

  const std::string& name() const { return name_; }
  int order() const { return order_; }
  /// The exponent of the step size in the error estimate; 0: there is none.
  double error_order() const { return error_order_; }
  virtual std::size_t fields() const { return 1; }
  virtual bool can_fail() const { return false; }
  /// Whether a step looks at steps before it.
  virtual bool looks_back() const { return false; }
  /// Of the vector field: to begin with, and in each step.
  virtual int evaluations_to_begin() const = 0;
  virtual int evaluations_per_step() const = 0;
  /// Whether steps say how many evaluations they took, in place of `evaluations_per_step`.
  virtual bool counts_evaluations() const { return false; }

  /// The method for one request, where it depends on it: what it takes from the controller or the
  /// number of terms. Throws UsageError where the method does not go with the request.
  virtual std::shared_ptr<const Method> prepared(const Request&) const { return nullptr; }

  /// The method to step with when values between the steps are wanted; this one by default.
  virtual std::shared_ptr<const Method> with_interpolant() const { return nullptr; }

  /// The method that does not carry slopes from step to step, but evaluates the field once more;
  /// null: it carries none, or has to.
  virtual std::shared_ptr<const Method> without_slopes() const { return nullptr; }

  /// How many of the first steps are taken by another method, and which: one that carries the same.
  /// The loop for them is another one, so that later steps do not pay for it.
  virtual int starting_steps() const { return 0; }
  virtual std::shared_ptr<const Method> starter() const { return nullptr; }

  /// Whether it solves equations with driven parts, and only these.
  virtual bool is_driven() const { return false; }
  /// The method of this name for such equations; null: there is none.
  virtual std::shared_ptr<const Method> driven(const Request&) const { return nullptr; }
  /// The table, if it is an explicit Runge-Kutta method and nothing else.
  virtual const Tableau* table() const { return nullptr; }
  /// Throws UsageError for terms that it does not take.
  virtual void check_terms(const Request&) const;

  /// What the first step begins with, and one behind a jump.
  virtual Arrays begin(const Fields&, const Array& t, const Arrays& y) const = 0;
  /// The slope of all terms together, at what the first step begins with.
  virtual Arrays first_slope(const Fields& f, const Array& t, const Arrays& y,
                             const Arrays& begun) const {
    return begun.empty() ? f.all(t, y) : begun;
  }
  virtual Stepped step(const Fields&, const Span&, const Arrays& y, const Arrays& state) const = 0;
  virtual Polynomial interpolant(const Span&, const Arrays& y, const Stepped&) const = 0;

  /// Whether `undone` gives what a step began with, but for rounding.
  virtual bool is_reversible() const { return false; }
  /// What the step was given that led to these; `before`: where the step before it began, its own
  /// start if it is the first.
  struct Begun {
    Arrays y, state;
  };
  virtual Begun undone(const Fields&, const Span&, const Array& /*before*/, const Arrays& y1,
                       const Arrays& state1) const {
    return {y1, state1};
  }

 private:
  std::string name_;
  int order_;
  double error_order_;
};

/// y + h sum_j weights[j] slopes[j], array by array, each in its own dtype. Zero weights cost
/// nothing.
Arrays advance(const Arrays& y, const Array& h, const std::vector<double>& weights,
               const std::vector<Arrays>& slopes);
/// h sum_j weights[j] slopes[j].
Arrays weighted(const Array& h, const std::vector<double>& weights,
                const std::vector<Arrays>& slopes);
/// sum_j weights[j] slopes[j]; not all weights are 0.
Arrays combined(const std::vector<double>& weights, const std::vector<Arrays>& slopes);
/// y(theta).
Arrays evaluate(const Arrays& y, const Polynomial&, const Array& theta);
/// Where `condition` holds the first, else the second.
Arrays choose(const Array& condition, const Arrays& yes, const Arrays& no);

}  // namespace gnomon::ode::detail
