/* Small networks with weights, a picture and floats for them, in a folder of a test's own; and
 * opening them as a program does that has the public header alone. */
#ifndef MAFAT_TESTS_SUPPORT_API_H
#define MAFAT_TESTS_SUPPORT_API_H

#include "include/mafat_plan.h"

#include <check.h>

/* The process also has the sanitizer's shadow memory. */
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

/* A case of the suite in which these files are there. */
TCase *api_case(Suite *suite, const char *name, double seconds);

/* The path of a file with this text. */
const char *api_cfg(const char *text);
/* Weights of the three networks have different lengths: the file is cut to what is asked for. */
void api_cut_weights(int floats);

struct mafat_model *api_open_model(const char *cfg, const char *plan);
struct mafat_dry_run *api_open_dry_run(const char *cfg, const struct mafat_model_options *options);

/* The parts of what is predicted are all of it. */
void api_check_sum(const struct mafat_memory_facts *m);

#endif
