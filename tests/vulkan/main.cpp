// tests/vulkan/main.cpp -- runs the tests apart from the user's cache: they neither find programs
// there nor leave any.
#include <gtest/gtest.h>

#include "tests/support/platform.h"

#include "tests/vulkan/memory_child.h"

int main(int argc, char** argv) {
  gnomon::testing::set_variable("GNOMON_CACHE", "off");
  if (gnomon::testing::is_memory_child(argc, argv)) return gnomon::testing::memory_child(argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
