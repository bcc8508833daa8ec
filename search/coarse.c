#include "search/coarse.h"

#include <stdio.h>
#include <string.h>

enum {
  MAX_TILES = 5,
  MAX_CUTS = 16,
  NO_CUT = 0,
  BYTE_MACS = 28 /* multiply-adds in the time that reading a byte takes: 57 G/s, 2 GB/s */
};

/* A candidate with its cost; owns what it points at. */
struct candidate {
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  size_t charge_bytes;
  double macs; /* of the kernels and, in their currency, of reading, which runs beside them */
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
  *c = (struct candidate){NULL, NULL, SIZE_MAX, 0};
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
  double compute = (double)c->layout->padded_macs, reading = (double)c->layout->bytes_read * BYTE_MACS;
  c->macs = (compute > reading ? compute : reading) + reading / 8;
  return MAFAT_OK;
}

/* What fits before what does not, then what is faster; of what does not fit, the
 * smaller. */
static bool is_better(const struct candidate *c, const struct candidate *best, size_t budget)
{
  bool fits = c->charge_bytes <= budget, best_fits = best->charge_bytes <= budget;
  if (fits != best_fits) return fits;
  return fits ? c->macs < best->macs : c->charge_bytes < best->charge_bytes;
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

struct search {
  const struct mafat_network *network;
  int n_layers;
  const struct mafat_plan_options *options;
  const struct mafat_surroundings *around;
  size_t budget;
  struct candidate best;
  struct mafat_diagnostic *d;
};

/* Keeps the better one of the best so far and what the text says. With `smallest`,
 * that is the smaller one, whether it fits or not. */
static int consider(struct search *s, bool smallest, const char *text)
{
  struct candidate c;
  int code = make_candidate(&c, text, s->network, s->n_layers, s->options, s->around, s->d);
  if (code) return code;
  bool better = c.plan && (smallest ? c.charge_bytes < s->best.charge_bytes : is_better(&c, &s->best, s->budget));
  if (!better) {
    release(&c);
    return MAFAT_OK;
  }
  release(&s->best);
  s->best = c;
  return MAFAT_OK;
}

/* "HEAD/CUT/TAIL", or "HEAD/NoCut" where the cut is the network's end. */
static int consider_cut(struct search *s, bool smallest, const char *head, int cut, const char *tail)
{
  char text[96];
  if (cut == s->n_layers) snprintf(text, sizeof text, "%s/NoCut", head);
  else snprintf(text, sizeof text, "%s/%d/%s", head, cut, tail);
  return consider(s, smallest, text);
}

/* Calls `try` with cuts from the network's end to its front while it says so. */
static int for_cuts(struct search *s, int (*try)(struct search *s, int cut))
{
  int code = MAFAT_OK, n = 0;
  for (int cut = s->n_layers; code == MAFAT_OK && cut != NO_CUT && n < MAX_CUTS; n++) {
    code = try(s, cut);
    cut = earlier_cut(s->network, cut);
  }
  return code;
}

static int try_kept(struct search *s, int cut)
{
  return consider_cut(s, true, "rows", cut, "1x1");
}

/* Weights read in every run: those of the rows not, once, or in every step; through
 * a ring of so many reads (plan.h). */
static int consider_streamed(struct search *s, int cut, const char *ring)
{
  static const char *const heads[] = {"rows4", "rows4:loaded", "rows4:loaded300", "rows4:streamed", "rows2",
                                      "rows2:loaded", "rows2:loaded300", "rows2:streamed", "rows1:streamed"};
  int code = MAFAT_OK;
  for (size_t i = 0; i < sizeof heads / sizeof *heads && code == MAFAT_OK; i++) {
    bool streams = strstr(heads[i], "streamed");
    char head[32], tail[32];
    snprintf(head, sizeof head, "%s%s", heads[i], streams ? ring : "");
    snprintf(tail, sizeof tail, "panels:streamed%s", ring);
    code = consider_cut(s, false, head, cut, tail);
  }
  return code;
}

static int try_streamed(struct search *s, int cut)
{
  return consider_streamed(s, cut, "");
}

static int try_small_ring(struct search *s, int cut)
{
  return consider_streamed(s, cut, "4");
}

static int try_tiles(struct search *s, int cut)
{
  int code = MAFAT_OK;
  for (int tiles = 2; tiles <= MAX_TILES && code == MAFAT_OK && s->best.charge_bytes > s->budget; tiles++) {
    char head[24];
    snprintf(head, sizeof head, "%dx%d", tiles, tiles);
    code = consider_cut(s, true, head, cut, "2x2");
  }
  return code;
}

int mafat_search_coarse(struct mafat_plan **plan, struct mafat_layout **layout,
                        const struct mafat_network *n, int n_layers,
                        const struct mafat_plan_options *options,
                        const struct mafat_surroundings *around, size_t budget,
                        struct mafat_diagnostic *d)
{
  struct search s = {n, n_layers, options, around, budget, {NULL, NULL, SIZE_MAX, 0}, d};
  int (*const tries[])(struct search *s, int cut) = {try_kept, try_streamed, try_small_ring, try_tiles};
  *plan = NULL;
  *layout = NULL;
  int code = consider(&s, true, "1x1/NoCut");
  for (size_t i = 0; i < sizeof tries / sizeof *tries && code == MAFAT_OK; i++)
    if (i == 0 || s.best.charge_bytes > budget) code = for_cuts(&s, tries[i]);
  if (code == MAFAT_OK && s.best.charge_bytes > budget) code = consider(&s, false, "panels:streamed/NoCut");
  if (code) {
    release(&s.best);
    return code;
  }
  *plan = s.best.plan;
  *layout = s.best.layout;
  return s.best.plan ? MAFAT_OK : mafat_fail(d, MAFAT_ELIMIT, "%s: no plan has countable bytes", n->path);
}
