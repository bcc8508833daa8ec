/* Small networks with weights, a picture and floats in a temporary folder of each test, and
 * functions that open them through the public header. Included by the suites in tests/unit/api. */
#ifndef MAFAT_TESTS_SUPPORT_API_H
#define MAFAT_TESTS_SUPPORT_API_H

#include "include/mafat_plan.h"

#include <check.h>

/* ThreadSanitizer's shadow memory counts, too. */
#ifdef __SANITIZE_THREAD__
#define API_MEMORY_BYTES ((size_t)64 << 30)
#else
#define API_MEMORY_BYTES ((size_t)1 << 30)
#endif

enum {
  API_INPUTS = 3 * 24 * 32, API_DETECTOR_LAYERS = 4, API_OUT_H = 12, API_OUT_W = 16,
  API_OUT_C = 14
};

extern const char api_detector[], api_classifier[], api_five_channels[]; /* .cfg texts */
extern char api_folder[64], api_weights[96], api_picture[96], api_raw[96];
extern float api_input[API_INPUTS];

/* A case whose tests find these files; they are removed afterwards. */
TCase *api_case(Suite *suite, const char *name, double seconds);

/* Writes a file with this text and returns its path. */
const char *api_cfg(const char *text);
/* Truncates the weights file to this many floats: the three networks need different lengths. */
void api_cut_weights(int floats);

struct mafat_model *api_open_model(const char *cfg, const char *plan);
struct mafat_dry_run *api_open_dry_run(const char *cfg, const struct mafat_model_options *options);

/* Checks that the parts of the prediction add up to the whole. */
void api_check_sum(const struct mafat_memory_facts *m);

#endif
