// samples/recompilation/cases.h -- functions that are called again and again, and what each call
// led to.
#pragma once
#include <gnomon/gnomon.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

enum Way { hit, shared, compiled, ways };

/// Calls, by what they led to: nothing, a trace whose graph was compiled already, or a program.
struct Case {
  std::string name;
  std::array<std::vector<double>, ways> us = {};

  void call(gnomon::Runtime&, const std::function<void()>& f);
  double median(Way) const;
  bool is(std::size_t hits, std::size_t shares, std::size_t programs) const {
    return us[hit].size() == hits && us[shared].size() == shares && us[compiled].size() == programs;
  }
};

/// All cases, so many calls of each.
std::vector<Case> run_all(gnomon::Runtime&, int calls);
/// The message of one trace too many, which leaves the function as it was.
std::string refused(gnomon::Runtime&);
