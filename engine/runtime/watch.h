// engine/runtime/watch.h -- who wants to know how far a call is, or to end it.
#pragma once
#include <optional>

#include "gnomon/progress.h"

namespace gnomon {

struct Watch {
  std::optional<CancelToken> token;
  std::optional<CancelToken> call_token;  // of this call alone
  StepHandler on_step;
  Handler<bool()> ends;  // whether calls are to end; must not call the Runtime

  bool any() const { return token.has_value() || call_token.has_value() || on_step || ends; }
  bool cancelled() const {
    return (token && token->cancelled()) || (call_token && call_token->cancelled()) ||
           (ends && ends());
  }
};

}  // namespace gnomon
