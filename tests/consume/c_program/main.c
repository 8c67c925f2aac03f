// tests/consume/c_program/main.c -- a C11 program on the C interface: runs a neural ODE that was
// saved elsewhere and compares it with the numbers beside it.
#include <gnomon/gnomon.c.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 8

static int failures = 0;

static void check(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "not so: %s (%s)\n", what, gnomon_last_error());
  ++failures;
}

static void require(gnomon_status status, const char* what) {
  if (status == GNOMON_OK) return;
  fprintf(stderr, "%s: status %d: %s\n", what, (int)status, gnomon_last_error());
  exit(1);
}

static void wants(gnomon_status got, gnomon_status wanted, const char* text) {
  if (got == wanted && strstr(gnomon_last_error(), text) != NULL) return;
  fprintf(stderr, "wanted status %d and `%s`, got %d and `%s`\n", (int)wanted, text, (int)got,
          gnomon_last_error());
  ++failures;
}

// What goes wrong is a status with a text, whatever is passed.
static void try_mistakes(gnomon_runtime* rt, gnomon_program* program, gnomon_array** arguments) {
  gnomon_program* none = NULL;
  gnomon_array* made = NULL;
  gnomon_array* results[2] = {NULL, NULL};
  gnomon_argument about = GNOMON_ARGUMENT_INIT;
  const int64_t shape[1] = {3};
  const float x[3] = {1, 2, 3};
  wants(gnomon_program_load(rt, "nothing.gnomon", NULL, &none), GNOMON_FILE, "cannot be read");
  wants(gnomon_program_load_memory(rt, x, sizeof x, NULL, &none), GNOMON_FILE, "12 bytes");
  wants(gnomon_program_load(NULL, "a", NULL, &none), GNOMON_USAGE, "`runtime` is null");
  wants(gnomon_program_load(rt, "a", NULL, NULL), GNOMON_USAGE, "`out` is null");
  wants(gnomon_program_argument(program, 0, 99, &about), GNOMON_USAGE, "there is no array 99");
  wants(gnomon_program_argument(program, 7, 0, &about), GNOMON_USAGE, "there is no entry 7");
  about.size = 0;
  wants(gnomon_program_argument(program, 0, 0, &about), GNOMON_USAGE, "INIT macro");
  wants(gnomon_array_create(rt, GNOMON_F32, 1, shape, x, 8, &made), GNOMON_USAGE,
        "f32[3] has 12 bytes and 8 are given");
  wants(gnomon_array_create(rt, (gnomon_dtype)77, 1, shape, x, 12, &made), GNOMON_USAGE,
        "there is no dtype 77");
  wants(gnomon_call(program, "other", arguments, 5, results, 2), GNOMON_USAGE,
        "there is no entry `other`");
  wants(gnomon_call(program, NULL, arguments, 4, results, 2), GNOMON_USAGE, "takes 5 arrays");
  wants(gnomon_call(program, NULL, arguments, 5, results, 1), GNOMON_USAGE, "room for 1");
  check(none == NULL && made == NULL && results[0] == NULL, "mistakes make nothing");
  gnomon_array_destroy(NULL);
  gnomon_program_destroy(NULL);
  gnomon_runtime_destroy(NULL);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  check(gnomon_version() == GNOMON_C_VERSION, "header and library are of one version");
  gnomon_runtime_options options = GNOMON_RUNTIME_OPTIONS_INIT;
  gnomon_runtime* rt = NULL;
  gnomon_program* program = NULL;
  require(gnomon_runtime_create(&options, &rt), "gnomon_runtime_create");
  require(gnomon_program_load(rt, argv[1], NULL, &program), "gnomon_program_load");
  check(gnomon_program_entries(program) == 1, "one function");
  const char* name = NULL;
  uint32_t count = 0, results_count = 0;
  require(gnomon_program_entry(program, 0, &name, &count, &results_count), "gnomon_program_entry");
  check(strcmp(name, "solve") == 0 && count == 5 && results_count == 2, "solve takes 5, gives 2");

  FILE* file = fopen(argv[2], "rb");
  if (file == NULL) return 2;
  gnomon_array* arguments[MOST] = {NULL};
  gnomon_array* results[2] = {NULL, NULL};
  for (uint32_t i = 0; i < count && i < MOST; ++i) {
    gnomon_argument about = GNOMON_ARGUMENT_INIT;
    require(gnomon_program_argument(program, 0, i, &about), "gnomon_program_argument");
    printf("%s: rank %u, %llu bytes\n", about.path, about.rank, (unsigned long long)about.bytes);
    void* elements = malloc(about.bytes);
    check(fread(elements, 1, about.bytes, file) == about.bytes, "the numbers are there");
    require(gnomon_array_create(rt, about.dtype, about.rank, about.shape, elements, about.bytes,
                                &arguments[i]),
            "gnomon_array_create");
    free(elements);
  }
  float wanted[2], y[2] = {0, 0};
  int32_t steps = 0;
  check(fread(wanted, sizeof(float), 2, file) == 2, "the results are there");
  fclose(file);

  require(gnomon_call(program, "solve", arguments, count, results, 2), "gnomon_call");
  require(gnomon_array_read(rt, results[0], y, sizeof y), "gnomon_array_read");
  require(gnomon_array_read(rt, results[1], &steps, sizeof steps), "gnomon_array_read");
  printf("%s: y = %.6f %.6f after %d steps, %.6f %.6f wanted\n", gnomon_runtime_device(rt), y[0],
         y[1], (int)steps, wanted[0], wanted[1]);
  check(fabsf(y[0] - wanted[0]) < 2e-5f && fabsf(y[1] - wanted[1]) < 2e-5f, "the numbers agree");
  check(steps > 3, "it took steps");
  check(gnomon_runtime_modules_emitted(rt) == 0, "no SPIR-V was generated");
  try_mistakes(rt, program, arguments);

  // In any order: what is still needed is kept.
  gnomon_program_destroy(program);
  gnomon_runtime_destroy(rt);
  for (uint32_t i = 0; i < count && i < MOST; ++i) gnomon_array_destroy(arguments[i]);
  for (int i = 0; i < 2; ++i) gnomon_array_destroy(results[i]);
  return failures == 0 ? 0 : 1;
}
