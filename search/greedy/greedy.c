/* The search "greedy": Algorithm 2 of the MAFAT paper (Farley and Gerstlauer 2021) with the paper's
 * memory formula. It compares plans with one group of tiles, and with two groups: layers [0, CUT)
 * and the rest. Called by api/choose.c, directly and through search/searches.c. Allocates plans to
 * compare them, and frees them; the caller closes the spec that is chosen. */
#include "search/greedy/greedy.h"

#include "predictor/planning/planning.h"

#include <string.h>

enum {
  MOST_TILES = 5,   /* greatest number of tiles per side */
  BEHIND_TILES = 2, /* tiles per side in the group after the cut */
  PAPER_LAYERS = 16,
  PAPER_LEAST_CUT = 8, /* the paper only tries the cuts 8 and 12, though 2 and 4 are possible too */
  NO_MORE = 0
};

/* True if the layers are those of the paper's network: a chain of 16 convolutions and maxpools,
 * with which YOLOv2 and Darknet-19 begin. */
static bool is_papers(const struct mafat_network *n, int n_layers)
{
  if (n_layers != PAPER_LAYERS) return false;
  for (int l = 0; l < n_layers; l++) {
    const struct mafat_layer *layer = &n->layers[l];
    bool pooled = l == 1 || l == 3 || l == 7 || l == 11;
    if (layer->type != (pooled ? MAFAT_MAXPOOL : MAFAT_CONVOLUTIONAL)) return false;
    if (mafat_network_sole_tensor(n, mafat_layer_sources(layer)) != mafat_network_above(n, l))
      return false;
  }
  return true;
}

/* Returns the greatest cut below `cut` that is directly after a maxpool and at least `least`;
 * NO_MORE: there is none. */
static int next_cut(const struct mafat_network *n, int cut, int least)
{
  for (int l = cut - 2; l >= 0 && l + 1 >= least; l--)
    if (n->layers[l].type == MAFAT_MAXPOOL) return l + 1;
  return NO_MORE;
}

/* The plan TxT/NoCut if the cut is the end of the network; else TxT/CUT/2x2. T: `tiles`. */
static struct mafat_greedy_choice choice_of(int tiles, int cut, int n_layers)
{
  struct mafat_greedy_choice c = {.n_groups = cut == n_layers ? 1 : 2};
  c.groups[0].cut = mafat_cut_grid(tiles, tiles);
  c.groups[1].cut = mafat_cut_grid(BEHIND_TILES, BEHIND_TILES);
  if (c.n_groups > 1) c.groups[0].end = cut;
  return c;
}

/* Sets c->bytes by the paper's memory formula. Returns MAFAT_EINVAL if the maps are too small for
 * the tiles. */
static int predict(struct mafat_greedy_choice *c, const struct mafat_network *n, int n_layers,
                   size_t bias_bytes, struct mafat_diagnostic *d)
{
  struct mafat_spec spec = mafat_greedy_spec(c);
  struct mafat_plan *plan;
  struct mafat_paper_prediction *p = NULL;
  int code = mafat_plan_make(&plan, &spec, n, n_layers, NULL, d);
  if (code) return code;
  code = mafat_paper_predict(&p, n, plan, bias_bytes, d);
  if (code == MAFAT_OK) c->bytes = p->bytes;
  mafat_paper_prediction_close(&p);
  mafat_plan_close(&plan);
  return code;
}

int mafat_search_greedy(struct mafat_greedy_choice *choice, const struct mafat_network *n,
                        int n_layers, size_t limit_bytes, size_t bias_bytes,
                        struct mafat_diagnostic *d)
{
  bool papers = is_papers(n, n_layers);
  int least = papers ? PAPER_LEAST_CUT : 1;
  memset(choice, 0, sizeof *choice);
  for (int cut = n_layers; cut != NO_MORE; cut = next_cut(n, cut, least))
    for (int tiles = 1; tiles <= MOST_TILES; tiles++) {
      struct mafat_greedy_choice c = choice_of(tiles, cut, n_layers);
      int code = predict(&c, n, n_layers, bias_bytes, d);
      /* there are more tiles than pixels, or the bytes overflow */
      if (code == MAFAT_EINVAL || code == MAFAT_ELIMIT) continue;
      if (code) return code;
      c.fits = c.bytes < limit_bytes;
      if (c.fits || papers || !choice->n_groups || c.bytes < choice->bytes) *choice = c;
      if (c.fits) return MAFAT_OK;
    }
  if (choice->n_groups) return MAFAT_OK;
  return mafat_fail(d, MAFAT_ELIMIT, "%s: the memory of every plan is too large to compute",
                    n->path);
}

/* ---- entry of the table of searches ---- */

enum { BIAS, N_WORDS };

#define WORD MAFAT_SEARCH_WORD
static const struct mafat_search_word words[N_WORDS] = {
    WORD(BIAS, "bias", SIZE, "SIZE", "31M", 0, 0,
         "constant that the paper's predictor adds to the bytes of tiles\n")};
#undef WORD

static int pick(struct mafat_spec **out, const struct mafat_search_request *r, size_t budget_bytes,
                struct mafat_diagnostic *d)
{
  struct mafat_search_value values[N_WORDS];
  struct mafat_greedy_choice choice;
  int code = mafat_search_words_read(values, &mafat_searching_greedy, r->words, d);
  if (code == MAFAT_OK)
    code =
        mafat_search_greedy(&choice, r->network, r->n_layers, budget_bytes, values[BIAS].bytes, d);
  if (code) return code;
  struct mafat_spec spec = mafat_greedy_spec(&choice);
  return mafat_spec_copy(out, &spec, NULL);
}

size_t mafat_greedy_bias(const char *text)
{
  struct mafat_search_value values[N_WORDS];
  mafat_search_words_read(values, &mafat_searching_greedy, text, NULL);
  return values[BIAS].bytes;
}

const struct mafat_search mafat_searching_greedy = {
    .name = "greedy",
    .finds = "the paper's greedy search",
    .unfit = "this is what the plan of --search greedy needs",
    .help = "Algorithm 2 of the MAFAT paper, with its predictor\n",
    .words = words,
    .n_words = N_WORDS,
    .pick = pick};
