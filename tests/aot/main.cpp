// tests/aot/main.cpp -- runs the tests apart from the user's cache.
#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  setenv("GNOMON_CACHE", "off", 1);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
