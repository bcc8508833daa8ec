/* Runs a network with random weights by several plans, and computes hashes of its outputs, one for
 * each class of kernels: those that fuse a multiplication with an addition, and those that round
 * both. Called by golden.c. Reads the cfg, allocates, and writes weights to files in memory. */
#include "tests/golden/outputs.h"

#include "formats/darknet/darknet.h"
#include "predictor/planning/planning.h"
#include "runner/engine/executor.h"
#include "runner/weights/packer.h"
#include "tests/golden/hash.h"
#include "tests/golden/plans.h"
#include "tests/support/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_WEIGHTS = 20000000, MAX_SIDE = 96, SEED = 1 };

/* A network, its input, and its weights in a Darknet and in a packed file. */
struct bench {
  struct mafat_network *network;
  float *input;
  int fds[2];        /* of the Darknet and of the packed file */
  char paths[2][32]; /* of the same files */
  const struct mafat_kernels *kernels[GOLDEN_N_CLASSES]; /* NULL: none of this class */
};

static uint64_t count_weights(const struct mafat_network *n)
{
  uint64_t sum = 0;
  for (int l = 0; l < n->n_layers; l++) {
    struct mafat_weight_counts c = mafat_layer_weight_counts(&n->layers[l]);
    sum += c.biases + c.normalization + c.weights;
  }
  return sum;
}

/* ---- data shared by the runs ---- */

/* Reads the network again with a smaller input, if the cfg allows it. */
static int open_network(struct bench *b, const char *cfg, struct mafat_diagnostic *d)
{
  struct mafat_darknet_overrides overrides = {.width = MAX_SIDE, .height = MAX_SIDE};
  struct mafat_network *small;
  struct mafat_shape in = mafat_network_picture_shape(b->network);
  if (in.h <= MAX_SIDE && in.w <= MAX_SIDE) return MAFAT_OK;
  int code = mafat_darknet_read(&small, cfg, &overrides, NULL, d);
  if (code == MAFAT_ENOMEM) return code;
  if (code) return MAFAT_OK; /* keeps the cfg's size */
  mafat_network_close(&b->network);
  b->network = small;
  return MAFAT_OK;
}

static int make_input(struct bench *b, struct mafat_diagnostic *d)
{
  struct mafat_shape in = mafat_network_picture_shape(b->network);
  struct test_rng rng = test_rng(SEED + 1);
  size_t n = (size_t)in.h * (size_t)in.w * (size_t)in.c;
  b->input = malloc(n * sizeof *b->input);
  if (!b->input) return mafat_fail(d, MAFAT_ENOMEM, "out of memory");
  for (size_t i = 0; i < n; i++) b->input[i] = (float)(test_random(&rng) >> 8) / 16777216.0f;
  return MAFAT_OK;
}

static int make_weights(struct bench *b, struct mafat_diagnostic *d)
{
  b->fds[0] = test_random_weights(b->network, SEED);
  b->fds[1] = memfd_create("packed", 0);
  if (b->fds[0] < 0 || b->fds[1] < 0) return mafat_fail(d, MAFAT_EIO, "weights cannot be written");
  for (int i = 0; i < 2; i++)
    snprintf(b->paths[i], sizeof b->paths[i], "/proc/self/fd/%d", b->fds[i]);
  return mafat_packer_write(b->paths[0], b->network, NULL, b->fds[1], "packed", d);
}

static void find_kernels(struct bench *b)
{
  const struct mafat_kernels *best = mafat_kernels_find(NULL);
  b->kernels[GOLDEN_PLAIN] = mafat_kernels_find("portable");
  b->kernels[GOLDEN_FUSED] = best->fused ? best : NULL;
}

static void close_bench(struct bench *b)
{
  for (int i = 0; i < 2; i++)
    if (b->fds[i] >= 0) close(b->fds[i]);
  free(b->input);
  mafat_network_close(&b->network);
}

/* ---- runs ---- */

static int hash_outputs(uint64_t *hash, const struct mafat_executor *e,
                        const struct mafat_network *n, struct mafat_diagnostic *d)
{
  *hash = GOLDEN_HASH_START;
  for (int l = 0; l < n->n_layers; l++) {
    if (!mafat_network_is_output(n, n->n_layers, l)) continue;
    struct mafat_shape s = n->layers[l].out;
    size_t floats = (size_t)s.h * (size_t)s.w * (size_t)s.c;
    float *chw = malloc(floats * sizeof *chw);
    if (!chw) return mafat_fail(d, MAFAT_ENOMEM, "out of memory");
    mafat_executor_read_output(e, l, chw);
    *hash = golden_hash(*hash, chw, floats * sizeof *chw);
    free(chw);
  }
  return MAFAT_OK;
}

static int run(uint64_t *hash, const struct bench *b, const struct mafat_plan *plan,
               const struct mafat_layout *layout, struct mafat_weights *weights,
               const struct mafat_kernels *kernels, struct mafat_diagnostic *d)
{
  struct mafat_executor *e = NULL;
  struct mafat_executor_options options;
  mafat_executor_defaults(&options);
  options.kernels = kernels;
  int code = mafat_executor_open(&e, b->network, plan, layout, weights, &options, d);
  if (code == MAFAT_OK) {
    mafat_executor_set_input(e, b->input);
    code = mafat_executor_run(e, d);
  }
  if (code == MAFAT_OK) code = hash_outputs(hash, e, b->network, d);
  mafat_executor_close(&e);
  return code;
}

static void note(struct golden_outputs *o, enum golden_class class, int number, uint64_t hash)
{
  if (o->there[class] && o->hashes[class] != hash) o->differs = number;
  o->hashes[class] = hash;
  o->there[class] = true;
  o->runs++;
}

/* The portable level is slow, so it runs only the first plan and those with packed weights. */
static bool runs_plan(const struct golden_outputs *o, enum golden_class class,
                       const struct golden_request *r)
{
  return class != GOLDEN_PLAIN || !o->there[GOLDEN_PLAIN] || r->options.packed;
}

/* Runs a plan with the kernels of both classes. Opens its weights once. */
static int run_classes(struct golden_outputs *o, const struct bench *b, int number,
                       const struct golden_request *r, const struct mafat_plan *plan,
                       struct mafat_diagnostic *d)
{
  struct mafat_layout *layout = NULL;
  struct mafat_weights *weights = NULL;
  uint64_t hash = 0;
  int code = mafat_layout_make(&layout, b->network, plan, d);
  if (code == MAFAT_OK)
    code = mafat_weights_open(&weights, b->paths[r->options.packed], b->network, plan, layout, NULL,
                              NULL, d);
  for (int class = 0; class < GOLDEN_N_CLASSES && code == MAFAT_OK; class++) {
    if (!b->kernels[class] || !runs_plan(o, (enum golden_class)class, r)) continue;
    code = run(&hash, b, plan, layout, weights, b->kernels[class], d);
    if (code == MAFAT_OK) note(o, (enum golden_class)class, number, hash);
  }
  mafat_weights_close(&weights);
  mafat_layout_close(&layout);
  return code;
}

/* Runs the plans that have a fixed text and are marked `runs`. Skips a plan that the network cannot
 * have, as when it has more tiles than the small maps have pixels. */
static int run_plans(struct golden_outputs *o, const struct bench *b, struct mafat_diagnostic *d)
{
  struct golden_request r;
  int code = MAFAT_OK;
  for (int number = 0; number < GOLDEN_N_PLANS && code == MAFAT_OK; number++) {
    struct mafat_plan *plan;
    if (!golden_request_fixed(&r, number, b->network) || !r.runs) continue;
    code = mafat_plan_read(&plan, r.text, b->network, b->network->n_layers, &r.options, d);
    if (code == MAFAT_OK) code = run_classes(o, b, number, &r, plan, d);
    else if (code == MAFAT_EINVAL) code = MAFAT_OK;
    mafat_plan_close(&plan);
  }
  return code;
}

int golden_outputs_run(struct golden_outputs *o, bool *ran, const char *cfg,
                       struct mafat_diagnostic *d)
{
  struct bench b = {.fds = {-1, -1}};
  *o = (struct golden_outputs){.differs = -1};
  int code = mafat_darknet_read(&b.network, cfg, NULL, NULL, d);
  *ran = code == MAFAT_OK && count_weights(b.network) <= MAX_WEIGHTS;
  if (*ran) {
    find_kernels(&b);
    code = open_network(&b, cfg, d);
    if (code == MAFAT_OK) code = make_input(&b, d);
    if (code == MAFAT_OK) code = make_weights(&b, d);
    if (code == MAFAT_OK) code = run_plans(o, &b, d);
  }
  close_bench(&b);
  return code;
}
