/* Gives each test a temporary folder with weights, a picture and a file of raw floats, and opens
 * small networks with them through the public header. Included by the suites in tests/unit/api. */
#ifndef MAFAT_TESTS_SUPPORT_API_H
#define MAFAT_TESTS_SUPPORT_API_H

#include "include/mafat_plan.h"

#include <check.h>

/* A budget that is large enough for every test. With ThreadSanitizer the process needs far more,
 * because its shadow memory is counted. */
#ifdef __SANITIZE_THREAD__
#define API_MEMORY_BYTES ((size_t)64 << 30)
#else
#define API_MEMORY_BYTES ((size_t)1 << 30)
#endif

enum {
  API_INPUTS = 3 * 24 * 32, API_DETECTOR_LAYERS = 4, API_OUT_H = 12, API_OUT_W = 16,
  API_OUT_C = 14
};

extern const char api_detector[], api_classifier[], api_five_channels[]; /* texts of .cfg files */
extern char api_folder[64], api_weights[96], api_picture[96], api_raw[96];
extern float api_input[API_INPUTS];

/* Adds a test case to the suite. Before each test the folder and its files are made; afterwards
 * they are removed. `seconds`: time limit. */
TCase *api_case(Suite *suite, const char *name, double seconds);

/* Writes the text to net.cfg in the folder and returns the path, which is static. */
const char *api_cfg(const char *text);
/* Cuts the weights file after this many floats, because the length of a weights file must match
 * its network. */
void api_cut_weights(int floats);

struct mafat_model *api_open_model(const char *cfg, const char *plan);
struct mafat_dry_run *api_open_dry_run(const char *cfg, const struct mafat_model_options *options);

/* Checks that the parts of the predicted bytes add up to the predicted total. */
void api_check_sum(const struct mafat_memory_facts *m);

#endif
