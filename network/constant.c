/* Names storage orders, finds ranges of a file that hold several parts of a normalization, and
 * allocates the tables of a network's constants. Called by formats/, network/network.c,
 * predictor/schedule/fetches.c and runner/weights. Only mafat_constants_make allocates;
 * mafat_constants_close frees. */
#include "network/constant.h"

#include <stdlib.h>

static const char *const orders[MAFAT_N_ORDERS] = {
    [MAFAT_ORDER_FILTERS] = "filters",           [MAFAT_ORDER_INPUTS] = "inputs",
    [MAFAT_ORDER_READY] = "ready",               [MAFAT_ORDER_FILTERS_TAPS] = "filters-taps",
    [MAFAT_ORDER_TAPS] = "taps",                 [MAFAT_ORDER_TRANSPOSED] = "transposed"};

struct mafat_constants *mafat_constants_make(int n_layers)
{
  struct mafat_constants *c = calloc(1, sizeof *c + (size_t)n_layers * sizeof *c->layers);
  if (c) c->n_layers = n_layers;
  return c;
}

void mafat_constants_close(struct mafat_constants **constants)
{
  if (!constants || !*constants) return;
  for (int l = 0; l < (*constants)->n_layers; l++) free((*constants)->layers[l].parts);
  free(*constants);
  *constants = NULL;
}

const char *mafat_order_name(enum mafat_order order)
{
  return orders[order];
}

/* ---- parts ---- */

enum { NEAR = 4096 }; /* largest gap in bytes between two parts that are read together */

const struct mafat_constant *mafat_constants_part(const struct mafat_layer_constants *c,
                                                  enum mafat_constant_part part)
{
  static const struct mafat_constant none;
  if (part == MAFAT_PART_BIASES) return &c->biases;
  if (!c->parts) return &none;
  switch (part) {
  case MAFAT_PART_SCALES: return &c->parts->scales;
  case MAFAT_PART_OFFSETS: return &c->parts->offsets;
  case MAFAT_PART_MEANS: return &c->parts->means;
  case MAFAT_PART_VARIANCES: return &c->parts->variances;
  default: return &none;
  }
}

bool mafat_constants_in_parts(const struct mafat_layer_constants *c, uint64_t filters)
{
  return c->parts || (c->normalization.n == 0 && c->biases.n != filters);
}

/* Extends the range s by part c, whose bit is `bit`, if both are in one file and overlap or are
 * near each other. False: the range is unchanged. An empty range becomes the part's range. */
static bool join(struct mafat_stretch *s, const struct mafat_constant *c, unsigned bit)
{
  uint64_t end = s->at + s->bytes, part_end = mafat_constant_end(c);
  if (s->parts == 0) {
    *s = (struct mafat_stretch){bit, c->at, mafat_constant_bytes(c, c->n), c->file};
    return true;
  }
  bool near = c->at < part_end && c->at <= end + NEAR && part_end + NEAR >= s->at;
  if (c->file != s->file || !mafat_constant_is_read(c) || !near) return false;
  s->parts |= bit;
  if (c->at < s->at) s->at = c->at;
  s->bytes = (part_end > end ? part_end : end) - s->at;
  return true;
}

struct mafat_stretch mafat_constants_stretch(const struct mafat_layer_constants *c, unsigned wanted)
{
  struct mafat_stretch s = {0};
  for (bool more = true; more;) {
    more = false;
    for (int p = 0; p < MAFAT_N_PARTS; p++) {
      const struct mafat_constant *part = mafat_constants_part(c, (enum mafat_constant_part)p);
      if ((wanted & ~s.parts & (1u << p)) && part->n > 0) more = join(&s, part, 1u << p) || more;
    }
  }
  return s;
}
