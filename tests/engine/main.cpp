// tests/engine/main.cpp -- runs the tests apart from the user's cache: they neither find programs
// there nor leave any.
#include <gtest/gtest.h>

#include "tests/engine/child.h"
#include "tests/support/platform.h"

int main(int argc, char** argv) {
  gnomon::testing::set_variable("GNOMON_CACHE", "off");
  if (gnomon::testing::is_child(argc, argv)) return gnomon::testing::child(argv[2]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
