/* Goes through the steps of a plan and acquires and releases their weights, without computing. Each
 * slice must equal the same slice of weights that are all kept in memory. Included by the suites in
 * tests/unit/weights. */
#ifndef MAFAT_TESTS_SUPPORT_WEIGHT_WALKS_H
#define MAFAT_TESTS_SUPPORT_WEIGHT_WALKS_H

#include "runner/weights/weights.h"
#include "tests/support/support.h"

/* Opens the weights of the first n_layers, all kept in memory. A failure fails the test. */
struct mafat_weights *test_open_kept(const char *path, const struct mafat_network *n, int n_layers);

/* An arena that has only buffers for weights, with guard bytes between them. test_check_guards
 * checks that the guards are unchanged. */
struct test_arena {
  struct mafat_layout layout;
  struct mafat_buffer *buffers;
  int *weights_buffers;
  char *memory;
  size_t bytes;
};

struct test_arena test_make_arena(const struct mafat_network *n, const struct mafat_plan *plan);
void test_check_guards(const struct test_arena *a);
void test_free_arena(struct test_arena *a);

/* Returns the number of input channels (for layers with a weight matrix: of its inputs) that each
 * filter reads. */
int test_inputs_of(const struct mafat_layer *l);
/* Compares slices of a layer in `a` and `b`: the whole range of filters and channels, and parts
 * of it. */
void test_compare_layer(const struct mafat_network *n, int layer, const struct mafat_weights *a,
                        const struct mafat_weights *b, struct mafat_span filters,
                        struct mafat_span channels);

/* Goes once through the plan's steps. Compares the weights with `kept`; if `kept` is NULL, checks
 * that nothing is allocated. Returns the error that acquiring weights returned. */
int test_walk(const struct mafat_network *n, const struct mafat_plan *plan, struct mafat_weights *w,
              char *arena, const struct mafat_weights *kept, struct mafat_diagnostic *d);
/* Opens the weights for the plan and goes through its steps three times. Does nothing if the
 * kernel of the system lacks the method. */
void test_compare_run(const struct mafat_network *n, const struct mafat_plan *plan,
                      const char *path, enum mafat_read_queue_method method,
                      const struct mafat_weights *kept);

/* Returns the plan at index `text` (0 to TEST_N_PLACEMENTS - 1) of a list of plans with various
 * weight placements; NULL: the plan is invalid for the network. */
enum { TEST_N_PLACEMENTS = 6 };
struct mafat_plan *test_placement_plan_with(const struct mafat_network *n, int text,
                                            const struct mafat_plan_options *o);
struct mafat_plan *test_placement_plan(const struct mafat_network *n, int text, int n_threads,
                                       bool packed);

#endif
