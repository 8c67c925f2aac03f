// codegen/include/gnomon/handler.h -- a function that somebody else calls, kept as long as needed.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

#pragma GCC visibility push(default)
namespace gnomon {

/// Copies share the function. An empty one must not be called.
template <class Signature>
class Handler;
template <class R, class... A>
class Handler<R(A...)> {
 public:
  Handler() = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, Handler> && std::is_invocable_r_v<R, F&, A...>)
      Handler(F f)  // NOLINT: implicit on purpose
      : object_(std::make_shared<F>(std::move(f))), call_([](void* object, A... a) -> R {
          return (*static_cast<F*>(object))(std::forward<A>(a)...);
        }) {}
  explicit operator bool() const { return call_ != nullptr; }
  R operator()(A... a) const { return call_(object_.get(), std::forward<A>(a)...); }

 private:
  std::shared_ptr<void> object_;
  R (*call_)(void*, A...) = nullptr;
};

}  // namespace gnomon
#pragma GCC visibility pop
