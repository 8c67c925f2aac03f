// tests/aot/main.cpp -- runs the tests apart from the user's cache.
#include <gtest/gtest.h>

#include "tests/support/platform.h"

int main(int argc, char** argv) {
  gnomon::testing::set_variable("GNOMON_CACHE", "off");
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
