/* libFuzzer target: reads any bytes as a plan for three fixed networks. For an accepted plan, makes
 * the memory layout, and checks that writing and reading the plan gives an equal plan. Build with
 * clang -fsanitize=fuzzer,address,undefined. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/networks.h"
#include "tests/fuzz/mutate.h"

#include "predictor/layout/layout.h"
#include "predictor/planning/planning.h"

static const char *const cfgs[] = {
    /* a chain that shrinks to 8 x 6 */
    "[net]\nheight=64\nwidth=48\nchannels=3\n"
    "[convolutional]\nfilters=8\nsize=3\npad=1\n[maxpool]\nsize=2\nstride=2\n"
    "[convolutional]\nfilters=17\nsize=3\npad=1\n[maxpool]\nsize=2\nstride=2\n"
    "[convolutional]\nfilters=5\nsize=5\nstride=2\npad=1\n[convolutional]\nfilters=4\nsize=1\n",
    /* edges between groups, and layers that cannot be tiled */
    "[net]\nheight=20\nwidth=28\nchannels=3\n"
    "[convolutional]\nfilters=24\nsize=3\npad=1\n[convolutional]\nfilters=96\nsize=1\n"
    "[route]\nlayers=-1,-2\n[convolutional]\nfilters=24\nsize=3\nstride=2\npad=1\n"
    "[shortcut]\nfrom=0\n[reorg]\nstride=2\n[convolutional]\nfilters=8\nsize=3\npad=1\n"
    "[upsample]\nstride=2\n[route]\nlayers=-1,3\n[dropout]\n"
    "[convolutional]\nfilters=12\nsize=1\n[yolo]\nclasses=1\nnum=2\n",
    /* a large map, so that there can be many tiles */
    "[net]\nheight=700\nwidth=900\nchannels=1\n"
    "[convolutional]\nfilters=1\nsize=3\npad=1\n[maxpool]\nsize=3\nstride=1\n[avgpool]\n"
    "[connected]\noutput=10\n[softmax]\n",
};

enum { N_CFGS = sizeof cfgs / sizeof *cfgs };

static struct mafat_network *networks[N_CFGS];

static void check_bounds(const int *bounds, int n, int extent)
{
  require(bounds[0] == 0 && bounds[n] == extent);
  for (int i = 0; i < n; i++) require(bounds[i] < bounds[i + 1]);
}

static void check_groups(const struct mafat_network *n, const struct mafat_plan *plan)
{
  int at = 0;
  for (int i = 0; i < plan->n_groups; i++) {
    const struct mafat_group *g = &plan->groups[i];
    struct mafat_shape out = n->layers[plan->members[g->at.end - 1]].out;
    require(g->at.begin == at && g->at.end > at);
    for (; at < g->at.end; at++)
      require(plan->group_of[plan->members[at]] == i && plan->group_of[plan->order[at]] == i);
    if (g->cut.kind != MAFAT_CUT_GRID) continue;
    check_bounds(g->row_bounds, g->cut.as.grid.n_rows, out.h);
    check_bounds(g->col_bounds, g->cut.as.grid.n_cols, out.w);
  }
  require(at == plan->n_layers);
}

/* Checks that two plans made from one text divide a group in the same way. */
static void check_cuts(const struct mafat_group *a, const struct mafat_group *b)
{
  const struct mafat_grid *x = &a->cut.as.grid, *y = &b->cut.as.grid;
  require(a->cut.kind == b->cut.kind);
  if (a->cut.kind == MAFAT_CUT_ROWS)
    require(a->cut.as.rows.least == b->cut.as.rows.least &&
            a->cut.as.rows.early == b->cut.as.rows.early &&
            a->cut.as.rows.partitioned == b->cut.as.rows.partitioned);
  if (a->cut.kind == MAFAT_CUT_SPLIT) require(a->cut.as.split.n == b->cut.as.split.n);
  if (a->cut.kind == MAFAT_CUT_PANELS) require(a->cut.as.panels.apart == b->cut.as.panels.apart);
  if (a->cut.kind != MAFAT_CUT_GRID) return;
  require(x->n_rows == y->n_rows && x->n_cols == y->n_cols && x->balanced == y->balanced);
  require(!memcmp(a->row_bounds, b->row_bounds, (size_t)(x->n_rows + 1) * sizeof(int)));
  require(!memcmp(a->col_bounds, b->col_bounds, (size_t)(x->n_cols + 1) * sizeof(int)));
}

static void check_same(const struct mafat_plan *plan, const struct mafat_plan *again)
{
  require(again->n_groups == plan->n_groups);
  for (int i = 0; i < plan->n_groups; i++) {
    const struct mafat_group *a = &plan->groups[i], *b = &again->groups[i];
    require(a->at.begin == b->at.begin && a->at.end == b->at.end);
    require(a->weights.placement == b->weights.placement);
    require(a->weights.ring == b->weights.ring && a->weights.loaded_kb == b->weights.loaded_kb);
    check_cuts(a, b);
  }
  require(!memcmp(plan->members, again->members, (size_t)plan->n_layers * sizeof *plan->members));
  require(!memcmp(plan->algorithms, again->algorithms,
                  (size_t)plan->n_layers * sizeof *plan->algorithms));
  require(
      !memcmp(plan->placement, again->placement, (size_t)plan->n_layers * sizeof *plan->placement));
}

/* Making the plan again from its spec, and from the spec's text, gives the same groups,
 * boundaries, algorithms and weight placement. */
static void check_rewriting(const struct mafat_network *n, const struct mafat_plan *plan)
{
  static char text[1 << 17];
  struct mafat_plan *again = NULL;
  struct mafat_spec *spec = NULL;
  require(mafat_plan_spec(&spec, plan, n) == MAFAT_OK);
  require(mafat_plan_make(&again, spec, n, plan->n_layers, NULL, NULL) == MAFAT_OK);
  check_same(plan, again);
  mafat_plan_close(&again);
  size_t length = mafat_spec_write(spec, text, sizeof text);
  mafat_spec_close(&spec);
  if (length >= 1 << 16) return; /* plans have at most 65,535 characters */
  require(strlen(text) == length);
  require(mafat_plan_read(&again, text, n, plan->n_layers, NULL, NULL) == MAFAT_OK);
  check_same(plan, again);
  mafat_plan_close(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  if (!networks[0]) make_networks(cfgs, N_CFGS, networks);
  char *text = malloc(n + 1);
  if (!text) abort();
  if (n) memcpy(text, bytes, n);
  text[n] = '\0';
  for (int i = 0; i < N_CFGS; i++) {
    struct mafat_diagnostic d = {""};
    struct mafat_plan *plan = NULL;
    struct mafat_layout *layout = NULL;
    int code = mafat_plan_read(&plan, text, networks[i], networks[i]->n_layers, NULL, &d);
    require((code == MAFAT_OK) == (plan != NULL));
    if (plan) {
      check_groups(networks[i], plan);
      check_rewriting(networks[i], plan);
      code = mafat_layout_make(&layout, networks[i], plan, &d);
    }
    require(code == MAFAT_OK || d.text[0]);
    mafat_layout_close(&layout);
    mafat_plan_close(&plan);
  }
  free(text);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed)
{
  return mutate_plan(data, n, most, seed);
}
