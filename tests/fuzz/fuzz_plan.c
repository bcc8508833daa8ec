/* libFuzzer target: any bytes, as a plan for three fixed networks. A plan that
 * is accepted is laid out, written and read back. Build with
 * clang -fsanitize=fuzzer,address,undefined. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/networks.h"

#include "predictor/layout.h"

static const char *const cfgs[] = {
    /* a chain that shrinks to 8 x 6 */
    "[net]\nheight=64\nwidth=48\nchannels=3\n"
    "[convolutional]\nfilters=8\nsize=3\npad=1\n[maxpool]\nsize=2\nstride=2\n"
    "[convolutional]\nfilters=17\nsize=3\npad=1\n[maxpool]\nsize=2\nstride=2\n"
    "[convolutional]\nfilters=5\nsize=5\nstride=2\npad=1\n[convolutional]\nfilters=4\nsize=1\n",
    /* edges across cuts, and layers that cannot be tiled */
    "[net]\nheight=20\nwidth=28\nchannels=3\n"
    "[convolutional]\nfilters=24\nsize=3\npad=1\n[convolutional]\nfilters=96\nsize=1\n"
    "[route]\nlayers=-1,-2\n[convolutional]\nfilters=24\nsize=3\nstride=2\npad=1\n"
    "[shortcut]\nfrom=0\n[reorg]\nstride=2\n[convolutional]\nfilters=8\nsize=3\npad=1\n"
    "[upsample]\nstride=2\n[route]\nlayers=-1,3\n[dropout]\n"
    "[convolutional]\nfilters=12\nsize=1\n[yolo]\nclasses=1\nnum=2\n",
    /* a large map, so that tiles can be many */
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
    struct mafat_shape out = n->layers[g->end - 1].out;
    require(g->first == at && g->end > at);
    check_bounds(g->row_bounds, g->n_rows, out.h);
    check_bounds(g->col_bounds, g->n_cols, out.w);
    at = g->end;
  }
  require(at == plan->n_layers);
}

/* Reading back what is written gives the same groups, boundaries, algorithms, and places of weights. */
static void check_rewriting(const struct mafat_network *n, const struct mafat_plan *plan)
{
  static char text[1 << 17];
  struct mafat_plan *again = NULL;
  size_t length = mafat_plan_write(plan, n, text, sizeof text);
  if (length >= 1 << 16) return; /* longer than a plan may be */
  require(strlen(text) == length);
  require(mafat_plan_read(&again, text, n, plan->n_layers, NULL, NULL) == MAFAT_OK);
  require(again->n_groups == plan->n_groups);
  for (int i = 0; i < plan->n_groups; i++) {
    const struct mafat_group *a = &plan->groups[i], *b = &again->groups[i];
    require(a->first == b->first && a->end == b->end);
    require(a->n_rows == b->n_rows && a->n_cols == b->n_cols);
    require(a->rows == b->rows && a->panels == b->panels && a->apart == b->apart && a->weights == b->weights);
    require(a->ring == b->ring && a->loaded_kb == b->loaded_kb);
    require(!memcmp(a->row_bounds, b->row_bounds, (size_t)(a->n_rows + 1) * sizeof(int)));
    require(!memcmp(a->col_bounds, b->col_bounds, (size_t)(a->n_cols + 1) * sizeof(int)));
  }
  require(!memcmp(plan->algorithms, again->algorithms, (size_t)plan->n_layers * sizeof *plan->algorithms));
  require(!memcmp(plan->residence, again->residence, (size_t)plan->n_layers * sizeof *plan->residence));
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
