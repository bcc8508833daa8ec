/* Runs all unit test suites, or only those named as arguments. --list prints the names. */
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Suites that write pictures with libjpeg and libpng or read JSON with json-c. A build for another
 * processor has only libc, so it leaves them out. */
#ifdef MAFAT_TESTS_WITHOUT_LIBRARIES
#define LIBRARY_SUITES(X)
#else
#define LIBRARY_SUITES(X) \
  X(image) X(image_damage) X(image_memory) X(image_scans) X(pictures) X(frames) X(output)
#endif

/* In the order of the source folders. */
#define SUITES(X) \
  X(box) \
  X(heap) X(allowance) \
  X(dtypes) X(quantization) X(sources) X(kinds) X(network) X(cfg) X(packed) X( \
      packed_graph) X(onnx) X(onnx_import) X(onnx_meaning) X(onnx_quantized) X(tflite) \
      X(tflite_import) X(tflite_meaning) X(tflite_quantized) X(tflite_hybrid) X(bounds) X( \
          op_schedule) X(packing) X(spec) X(plan) X(fusion) X(order) X(schedule) X(offsets) \
          X(layout) X(parts) X(predict) X(latency) X(paper) X(transfers) X(greedy) X(best) X( \
              sequence) X(least) X(sharing) X(fdt) X(motes) X(searches) X(together) X(depthwise) \
              X(reads) X(weights) X(constants) X(streaming) X(narrow) X(activations) \
                  X(packed_integers) X(functions) X(rearrange) X(resample) X(normalize) X(matmul) \
                      X(gather) X(topk) X(split) X(postprocess) X(fan_out) X(integer_rule) \
                          X(integer_functions) X(integer_matmul) X(integer_rearrange) \
                              X(integer_graphs) X(allocation) X(team) X(kernels) X(winograd) \
                                  X(windows) X(blends) X(joins) X(floors) X(executor) X(separable) \
                                      X(ranks) X(rank_identity) X(rank_choice) X(suppress) \
                                          X(option) X(names) X(calibration) X(plan_timer) X(model) \
                                              X(layers) X(threads) X(cancel) X(api) X(api_runs) \
                                                  X(api_dry_runs) X(api_packs) X(files) X(detect) \
                                                      X(detect_choice) X(classify) X(heads) \
                                                          X(budget) X(headroom) X(lock) \
                                                              X(footprint) X(arena) X(raw_input) \
                                                                  X(ports) X(http) X(route) \
                                                                      X(room) LIBRARY_SUITES(X)

#define DECLARE(name) Suite *name##_suite(void);
SUITES(DECLARE)

static const struct {
  const char *name;
  Suite *(*make)(void);
} suites[] = {
#define ENTRY(name) {#name, name##_suite},
    SUITES(ENTRY)
};

static int is_wanted(const char *name, int argc, char **argv)
{
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], name) == 0) return 1;
  return argc == 1;
}

/* Returns the first argument that is not the name of a suite, or NULL. */
static const char *find_unknown(int argc, char **argv)
{
  for (int i = 1; i < argc; i++) {
    bool known = false;
    for (size_t s = 0; s < sizeof suites / sizeof *suites; s++)
      known |= strcmp(argv[i], suites[s].name) == 0;
    if (!known) return argv[i];
  }
  return NULL;
}

static void list_suites(void)
{
  for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) puts(suites[i].name);
}

int main(int argc, char **argv)
{
  if (argc == 2 && strcmp(argv[1], "--list") == 0) {
    list_suites();
    return EXIT_SUCCESS;
  }
  const char *unknown = find_unknown(argc, argv);
  if (unknown) {
    fprintf(stderr, "unit_tests: expected names of suites, found '%s'; --list prints all\n",
            unknown);
    return 2;
  }
  SRunner *runner = srunner_create(NULL);
  for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
    if (is_wanted(suites[i].name, argc, argv)) srunner_add_suite(runner, suites[i].make());
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
