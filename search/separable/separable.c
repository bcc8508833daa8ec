/* The search "separable": makes a plan of the units (layers that are computed together) that
 * predictor/transfers chooses. Called by api/ through search/searches.c. Allocates from a heap of
 * its own, which it frees; the caller closes the front. */
#include "search/separable/separable.h"

#include "predictor/transfers/prices.h"
#include "predictor/transfers/units_spec.h"

enum { OBJECTIVE, FAST, N_WORDS };
enum { LATENCY, TRANSFERS }; /* objectives, in the order of their words */

#define WORD MAFAT_SEARCH_WORD
static const struct mafat_search_word words[N_WORDS] = {
    WORD(OBJECTIVE, "objective", CHOICE, "latency|transfers", "latency", 0, 0,
         "the fastest plan by the prediction, or the one that copies the\n"
         "fewest bytes between a fast memory and the rest\n"),
    WORD(FAST, "fast", SIZE, "SIZE", "64K", 1, 0,
         "size of the fast memory\n")};
#undef WORD

static int choose_by_bytes(struct mafat_transfers *t, const struct mafat_search_request *r,
                           const struct mafat_transfers_options *o)
{
  return mafat_transfers_choose(t, r->network, r->n_layers, o,
                                &(struct mafat_unit_price){mafat_unit_bytes, r->network});
}

static int choose_by_ms(struct mafat_transfers *t, const struct mafat_search_request *r,
                        const struct mafat_transfers_options *o, struct mafat_diagnostic *d)
{
  struct mafat_unit_latency latency;
  int code =
      mafat_unit_latency_open(&latency, r->network, r->n_layers, r->options, r->calibration, d);
  if (code) return code;
  code = mafat_transfers_choose(t, r->network, r->n_layers, o,
                                &(struct mafat_unit_price){mafat_unit_ms, &latency});
  for (int i = 0; i < t->n && code == MAFAT_OK; i++)
    t->units[i].extent = mafat_unit_fastest(&latency, &t->units[i]);
  mafat_unit_latency_close(&latency);
  return code;
}

static int find(struct mafat_front *front, const struct mafat_search_request *r,
                struct mafat_diagnostic *d)
{
  struct mafat_search_value values[N_WORDS];
  int code = mafat_search_words_read(values, &mafat_searching_separable, r->words, d);
  if (code) return code;
  struct mafat_transfers_options o = {.fast_bytes = values[FAST].bytes};
  struct mafat_transfers t;
  struct mafat_spec *spec = NULL;
  code = values[OBJECTIVE].choice == TRANSFERS ? choose_by_bytes(&t, r, &o)
                                               : choose_by_ms(&t, r, &o, d);
  if (code) return code;
  code = mafat_units_spec(&spec, r->network, r->n_layers, t.units, t.n, r->options->heap);
  if (code == MAFAT_OK) code = mafat_front_add(front, r, spec, d);
  if (code == MAFAT_OK && front->n == 0)
    code = mafat_fail(d, MAFAT_ELIMIT,
                      "%s: the memory of every plan is too large to compute", r->network->path);
  if (code == MAFAT_OK) code = mafat_front_assign_offsets(front, r, d);
  mafat_spec_close(&spec);
  mafat_transfers_close(&t);
  return code;
}

int mafat_search_separable(struct mafat_front **out, const struct mafat_search_request *request,
                           struct mafat_diagnostic *d)
{
  return mafat_front_find(out, request, find, d);
}

const struct mafat_search mafat_searching_separable = {
    .name = "separable",
    .finds = "layers that are computed together",
    .unfit = "this is what the plan of --search separable needs, which keeps all weights in memory",
    .help = "which depthwise and 1x1 layers run together\n",
    .one_plan = true,
    .words = words,
    .n_words = N_WORDS,
    .find = mafat_search_separable};
