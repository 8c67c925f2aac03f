// tests/compile_fail/self/planted.cpp -- cases for the check itself: one right, two wrong on
// purpose.

// CASE 1: expect "a number, not a name; (see above)"
#ifdef CASE_1
static_assert(sizeof(int) == 0, "a number, not a name; (see above)");
#endif

// CASE 2: expect "never printed"
#ifdef CASE_2
static_assert(sizeof(int) != 0, "never printed");
#endif

// CASE 3: expect "other words"
#ifdef CASE_3
static_assert(sizeof(int) == 0, "not these");
#endif
