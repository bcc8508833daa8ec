#include "search/coarse.h"

#include <stdio.h>

enum { MAX_TILES = 5, MAX_CUTS = 16, NO_CUT = 0 };

/* A candidate with its cost; owns what it points at. */
struct candidate {
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  size_t charge_bytes;
};

static void release(struct candidate *c)
{
  mafat_layout_close(&c->layout);
  mafat_plan_close(&c->plan);
}

static int make_candidate(struct candidate *c, const char *text, const struct mafat_network *n,
                          int n_layers, const struct mafat_plan_options *options,
                          const struct mafat_surroundings *around,
                          struct mafat_diagnostic *d)
{
  *c = (struct candidate){NULL, NULL, SIZE_MAX};
  int code = mafat_plan_read(&c->plan, text, n, n_layers, options, d);
  if (code == MAFAT_EINVAL) return MAFAT_OK; /* more tiles than pixels: no candidate here */
  if (code == MAFAT_OK) code = mafat_layout_make(&c->layout, n, c->plan, d);
  if (code == MAFAT_ELIMIT) { /* beyond the address space: finer tiles may not be */
    release(c);
    return MAFAT_OK;
  }
  if (code) {
    release(c);
    return code;
  }
  struct mafat_prediction p;
  mafat_predict(&p, c->layout, around);
  c->charge_bytes = p.charge_bytes;
  return MAFAT_OK;
}

/* The paper cuts directly after maxpools, where the tensor has become small;
 * networks without them shrink by strides. */
static bool shrinks(const struct mafat_layer *l)
{
  return (l->type == MAFAT_MAXPOOL || l->type == MAFAT_CONVOLUTIONAL) && l->stride > 1;
}

/* The next cut towards the front, NO_CUT at the end. */
static int earlier_cut(const struct mafat_network *n, int cut)
{
  for (int l = cut - 2; l >= 0; l--)
    if (shrinks(&n->layers[l])) return l + 1;
  return NO_CUT;
}

/* Keeps the better one of `best` and what `text` says. */
static int consider(struct candidate *best, const char *text, const struct mafat_network *n, int n_layers,
                    const struct mafat_plan_options *options,
                    const struct mafat_surroundings *around, struct mafat_diagnostic *d)
{
  struct candidate c;
  int code = make_candidate(&c, text, n, n_layers, options, around, d);
  if (code) return code;
  if (!c.plan || c.charge_bytes >= best->charge_bytes) {
    release(&c);
    return MAFAT_OK;
  }
  release(best);
  *best = c;
  return MAFAT_OK;
}

int mafat_search_coarse(struct mafat_plan **plan, struct mafat_layout **layout, bool *fits,
                        const struct mafat_network *n, int n_layers,
                        const struct mafat_plan_options *options,
                        const struct mafat_surroundings *around, size_t budget,
                        struct mafat_diagnostic *d)
{
  struct candidate best = {NULL, NULL, SIZE_MAX};
  char text[64];
  *plan = NULL;
  *layout = NULL;
  *fits = false;
  int code = consider(&best, "1x1/NoCut", n, n_layers, options, around, d), n_cuts = 0;
  for (int cut = n_layers; code == MAFAT_OK && cut != NO_CUT && n_cuts < MAX_CUTS; cut = earlier_cut(n, cut), n_cuts++) {
    if (cut == n_layers) snprintf(text, sizeof text, "rows/NoCut");
    else snprintf(text, sizeof text, "rows/%d/1x1", cut);
    code = consider(&best, text, n, n_layers, options, around, d);
  }
  n_cuts = 0;
  for (int cut = n_layers; code == MAFAT_OK && cut != NO_CUT && n_cuts < MAX_CUTS && best.charge_bytes > budget;
       cut = earlier_cut(n, cut), n_cuts++)
    for (int tiles = 2; tiles <= MAX_TILES && code == MAFAT_OK && best.charge_bytes > budget; tiles++) {
      if (cut == n_layers) snprintf(text, sizeof text, "%dx%d/NoCut", tiles, tiles);
      else snprintf(text, sizeof text, "%dx%d/%d/2x2", tiles, tiles, cut);
      code = consider(&best, text, n, n_layers, options, around, d);
    }
  if (code) {
    release(&best);
    return code;
  }
  *plan = best.plan;
  *layout = best.layout;
  *fits = best.charge_bytes <= budget;
  return best.plan ? MAFAT_OK : mafat_fail(d, MAFAT_ELIMIT, "%s: no plan has countable bytes", n->path);
}
