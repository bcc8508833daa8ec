/* Acquires and releases weights step by step and compares slices. Called by the suites in
 * tests/unit/weights. A difference fails the test. */
#include "tests/support/weight_walks.h"

#include "predictor/schedule/fetches.h"
#include "predictor/planning/planning.h"

#include "tests/support/failing_malloc.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mafat_diagnostic diagnostic;

struct mafat_weights *test_open_kept(const char *path, const struct mafat_network *n, int n_layers)
{
  struct mafat_weights *w;
  int code = mafat_weights_open_kept(&w, path, n, n_layers, NULL, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  return w;
}

/* ---- an arena with weights only ---- */

enum { GUARD = 4096 + 64 }; /* bytes between buffers, which no one may change; a multiple of 64 */

static int add_buffer(struct test_arena *a, size_t bytes)
{
  if (bytes == 0) return -1;
  a->buffers[a->layout.n_buffers] = (struct mafat_buffer){.offset = a->bytes, .bytes = bytes};
  a->bytes += (bytes + 63) / 64 * 64 + GUARD;
  return a->layout.n_buffers++;
}

struct test_arena test_make_arena(const struct mafat_network *n, const struct mafat_plan *plan)
{
  struct mafat_fetch_sizes sizes;
  struct test_arena a = {.bytes = GUARD};
  ck_assert_int_eq(mafat_fetches_size(n, plan, &sizes), MAFAT_OK);
  a.buffers = calloc((size_t)plan->n_layers + 3, sizeof *a.buffers);
  a.weights_buffers = calloc((size_t)plan->n_layers, sizeof *a.weights_buffers);
  for (int l = 0; l < plan->n_layers; l++)
    a.weights_buffers[l] = plan->placement[l] == MAFAT_LOADED
                               ? add_buffer(&a, mafat_packed_layer_bytes(&n->layers[l])) : -1;
  a.layout.ring_buffer =
      add_buffer(&a, sizes.ring_bytes ? sizes.ring_bytes + MAFAT_FETCH_ALIGNMENT : 0);
  a.layout.panel_buffer = add_buffer(&a, sizes.panel_bytes);
  a.layout.affine_buffer = add_buffer(&a, sizes.affine_bytes);
  a.layout.weights_buffers = a.weights_buffers;
  a.layout.buffers = a.buffers;
  a.memory = aligned_alloc(64, a.bytes);
  memset(a.memory, 0xa5, a.bytes);
  return a;
}

void test_check_guards(const struct test_arena *a)
{
  size_t at = 0;
  for (int b = 0; b <= a->layout.n_buffers; b++) {
    size_t end = b < a->layout.n_buffers ? a->buffers[b].offset : a->bytes;
    for (; at < end; at++)
      ck_assert_msg((unsigned char)a->memory[at] == 0xa5, "byte %zu before buffer %d", at, b);
    if (b < a->layout.n_buffers) at = end + (a->buffers[b].bytes + 63) / 64 * 64;
  }
}

void test_free_arena(struct test_arena *a)
{
  test_check_guards(a);
  free(a->memory);
  free(a->buffers);
  free(a->weights_buffers);
}

/* ---- comparison ---- */

int test_inputs_of(const struct mafat_layer *l)
{
  return mafat_layer_has_panels(l) ? mafat_layer_matrix(l).inputs : l->in.c;
}

static void compare_slices(const struct mafat_layer *l, int layer, const struct mafat_weights *a,
                           const struct mafat_weights *b, struct mafat_span filters,
                           struct mafat_span channels)
{
  struct mafat_weights_slice x, y;
  ck_assert_int_eq(mafat_weights_slice(a, layer, filters, channels, &x), MAFAT_OK);
  ck_assert_int_eq(mafat_weights_slice(b, layer, filters, channels, &y), MAFAT_OK);
  ck_assert_int_eq(x.width, y.width);
  size_t width = (size_t)x.width * sizeof(float), lanes = (size_t)x.width;
  size_t bytes =
      mafat_panel_offset(l, lanes, channels.end) - mafat_panel_offset(l, lanes, channels.begin);
  const void *of_a = x.narrow ? (const void *)x.narrow : x.weights,
             *of_b = y.narrow ? (const void *)y.narrow : y.weights;
  ck_assert_msg(memcmp(of_a, of_b, bytes) == 0, "layer %d: weights of filters %d.. channels %d..%d",
                layer, filters.begin, channels.begin, channels.end);
  if (channels.end == test_inputs_of(l))
    ck_assert_msg(memcmp(x.scale, y.scale, width) == 0 && memcmp(x.bias, y.bias, width) == 0,
                  "layer %d: scale and bias of filters %d..", layer, filters.begin);
  mafat_weights_release(a, &x);
  mafat_weights_release(b, &y);
}

void test_compare_layer(const struct mafat_network *n, int layer, const struct mafat_weights *a,
                        const struct mafat_weights *b, struct mafat_span filters,
                        struct mafat_span channels)
{
  const struct mafat_layer *l = &n->layers[layer];
  if (l->type == MAFAT_LOCAL || l->type == MAFAT_BATCHNORM) {
    struct mafat_weights_slice x, y;
    mafat_weights_slice(a, layer, filters, channels, &x);
    mafat_weights_slice(b, layer, filters, channels, &y);
    size_t bytes = mafat_packed_layer_bytes(l);
    ck_assert(memcmp(x.scale ? x.scale : x.bias, y.scale ? y.scale : y.bias, bytes) == 0);
    return;
  }
  for (int f = filters.begin; f < filters.end; f = mafat_panel_end(l, f)) {
    struct mafat_span panel = {f, mafat_min(mafat_panel_end(l, f), filters.end)};
    compare_slices(l, layer, a, b, panel, channels);
    if (l->type == MAFAT_CONNECTED || l->groups > 1) continue;
    for (int c = channels.begin, end; c < channels.end; c = end) {
      end = mafat_min(mafat_slice_end(mafat_layer_sources(l), c, 1), channels.end);
      compare_slices(l, layer, a, b, panel, mafat_span(c, end));
    }
  }
}

static void compare_step(const struct mafat_network *n, const struct mafat_plan *plan,
                         const struct mafat_step *step, const struct mafat_weights *w,
                         const struct mafat_weights *kept)
{
  if (step->kind != MAFAT_STEP_COMPUTE) return;
  for (int l = step->layer; l >= 0; l = plan->inner[l]) {
    const struct mafat_layer *layer = &n->layers[l];
    if (mafat_packed_layer_bytes(layer) == 0) continue;
    bool streamed = plan->placement[l] == MAFAT_STREAMED;
    test_compare_layer(n, l, w, kept, streamed ? step->filters : mafat_span(0, layer->out.c),
                  streamed ? step->channels : mafat_span(0, test_inputs_of(layer)));
  }
}

int test_walk(const struct mafat_network *n, const struct mafat_plan *plan, struct mafat_weights *w,
              char *arena, const struct mafat_weights *kept, struct mafat_diagnostic *d)
{
  struct mafat_schedule *s;
  struct mafat_step step;
  long unfreed;
  int code = MAFAT_OK;
  ck_assert_int_eq(mafat_schedule_open(&s, n, plan), MAFAT_OK);
  failing_malloc_arm(-1);
  mafat_weights_begin(w, arena);
  for (long long number = 0; code == MAFAT_OK && mafat_schedule_next(s, &step); number++) {
    code = mafat_weights_acquire(w, number, &step, d);
    if (code) break;
    if (kept) compare_step(n, plan, &step, w, kept);
    mafat_weights_release_step(w, &step);
  }
  if (code == MAFAT_OK) code = mafat_weights_end(w, d);
  else mafat_weights_stop(w);
  long allocations = failing_malloc_disarm(&unfreed);
  /* Check itself allocates memory when values are compared */
  if (!kept) ck_assert_int_eq(allocations, 0);
  mafat_schedule_close(&s);
  return code;
}

static const char *const plan_texts[] = {
    "panels:streamed", "rows4:streamed", "rows4:loaded/%d/panels:streamed",
    "2x2:loaded/%d/panels:loaded", "panels:apart:streamed", "1x1:loaded"};
_Static_assert(sizeof plan_texts / sizeof *plan_texts == TEST_N_PLACEMENTS, "a text for each");

struct mafat_plan *test_placement_plan_with(const struct mafat_network *n, int text,
                                            const struct mafat_plan_options *o)
{
  char plan_text[64];
  struct mafat_plan *plan;
  snprintf(plan_text, sizeof plan_text, plan_texts[text], n->n_layers / 3);
  int code = mafat_plan_read(&plan, plan_text, n, n->n_layers, o, &diagnostic);
  return code == MAFAT_OK ? plan : NULL; /* not every text fits every network */
}

struct mafat_plan *test_placement_plan(const struct mafat_network *n, int text, int n_threads,
                                       bool packed)
{
  struct mafat_plan_options o;
  mafat_plan_defaults(&o);
  o.n_threads = n_threads;
  o.packed = packed;
  return test_placement_plan_with(n, text, &o);
}

void test_compare_run(const struct mafat_network *n, const struct mafat_plan *plan,
                      const char *path, enum mafat_read_queue_method method,
                      const struct mafat_weights *kept)
{
  struct mafat_weights_options o = {.method = method};
  struct mafat_weights *w;
  struct test_arena a = test_make_arena(n, plan);
  int code = mafat_weights_open(&w, path, n, plan, &a.layout, &o, NULL, &diagnostic);
  if (code == MAFAT_EUNSUPPORTED && method != MAFAT_READS_AUTO) {
    test_free_arena(&a);
    return; /* the running Linux kernel lacks this method of reading */
  }
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  for (int run = 0; run < 3; run++) {
    memset(a.memory, 0xa5, a.bytes);
    code = test_walk(n, plan, w, a.memory, run == 1 ? NULL : kept, &diagnostic);
    ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
    test_check_guards(&a);
  }
  mafat_weights_close(&w);
  test_free_arena(&a);
}
