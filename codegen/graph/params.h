// codegen/graph/params.h -- static parameters of an equation: any reflected aggregate, erased.
//
// A parameter struct is an aggregate whose fields are bool, integers, double, enums with a `name`
// function, DType, Shape, std::vector<int>, std::vector<Dim>, std::vector<bool>,
// std::optional<int>, std::string, GraphPtr or Literal. Equality, hash and text (print and parse)
// are derived from its fields; doubles compare by bits.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

#include "codegen/base/param_fields.h"
#include "codegen/graph/literal.h"
#include "shaders/support/check.h"

namespace gnomon {

class Params {
 public:
  Params() = default;  // no parameters
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, Params>) Params(T value)
      : model_(std::make_shared<Model<T>>(std::move(value))) {}  // NOLINT: implicit on purpose

  /// The parameters as T; an InternalError when they are something else.
  template <class T>
  const T& as() const {
    GNOMON_CHECK(model_ && model_->type() == typeid(T),
                 std::string("parameters are not a ") + typeid(T).name());
    return static_cast<const Model<T>&>(*model_).value;
  }
  bool empty() const { return model_ == nullptr; }
  bool operator==(const Params& other) const;
  std::uint64_t hash() const;
  /// "axes=(0,1) keep=true"; sub-graphs print as indented blocks by the graph printer, which visits
  /// `fields`.
  void print(ParamPrinter& printer) const {
    if (model_) model_->print(printer);
  }
  /// Sub-graphs among the fields, in field order.
  std::vector<GraphPtr> graphs() const;
  /// The same with other sub-graphs, as many and in the order of `graphs`.
  Params with_graphs(const std::vector<GraphPtr>&) const;

 private:
  struct Base {
    virtual ~Base() = default;
    virtual const std::type_info& type() const = 0;
    virtual bool equal(const Base&) const = 0;
    virtual std::uint64_t hash() const = 0;
    virtual void print(ParamPrinter&) const = 0;
    virtual void graphs(std::vector<GraphPtr>&) const = 0;
    virtual Params with_graphs(const std::vector<GraphPtr>&) const = 0;
  };
  template <class T>
  struct Model final : Base {
    explicit Model(T v) : value(std::move(v)) {}
    const std::type_info& type() const override { return typeid(T); }
    bool equal(const Base& o) const override {
      return o.type() == typeid(T) &&
             param_fields::equal(value, static_cast<const Model&>(o).value);
    }
    std::uint64_t hash() const override { return param_fields::hash(value); }
    void print(ParamPrinter& p) const override { param_fields::print(value, p); }
    void graphs(std::vector<GraphPtr>& out) const override { param_fields::graphs(value, out); }
    Params with_graphs(const std::vector<GraphPtr>& graphs) const override {
      T copy = value;
      param_fields::replace_graphs(copy, graphs);
      return Params(std::move(copy));
    }
    T value;
  };
  std::shared_ptr<const Base> model_;
};

/// Parses the text of `print` into a T: what a primitive's entry hands to the graph parser.
template <class T>
Params parse_params(ParamParser& parser) {
  T value{};
  param_fields::parse(value, parser);
  return Params(std::move(value));
}

}  // namespace gnomon
