/* The table of kinds, and functions that several kinds share. These are called by the kinds' files
 * (network/kinds), directly or through the table; the table is read through network/kind.h, by
 * api/, formats/, predictor/, programs/make_weights, runner/ and search/. Allocates a layer's list
 * of outputs. */
#include "network/network.h"

#include "base/part.h"
#include "network/kinds/kinds.h"

#include <limits.h>
#include <stdlib.h>

const struct mafat_kind *const mafat_kinds[MAFAT_N_LAYER_TYPES] = {
#define KIND(CONSTANT, name, integers) [MAFAT_##CONSTANT] = &mafat_kind_##name,
#define STEPLESS(CONSTANT, name) [MAFAT_##CONSTANT] = &mafat_kind_##name,
#include "network/kinds.def"
};

/* ---- shared ---- */

MAFAT_PART(opening)
int mafat_kind_refuse(const struct mafat_infer_context *context, const char *what)
{
  return mafat_fail(context->d, MAFAT_EFORMAT, "%s:%d: layer [%s] %s", context->path, context->line,
                    context->name, what);
}

/* The limits keep a tensor addressable, its size within 63 bits and its indices within an int. */
MAFAT_PART(opening)
int mafat_kind_put_out(struct mafat_layer *l, const struct mafat_infer_context *context,
                       long long h, long long w, long long c)
{
  if (h < 1 || w < 1 || c < 1 || h > MAFAT_MAX_EXTENT || w > MAFAT_MAX_EXTENT ||
      c > 64LL * MAFAT_MAX_EXTENT || h * w > INT_MAX / 4 || h * w * c > (1LL << 40))
    return mafat_fail(
        context->d, MAFAT_EFORMAT,
        "%s:%d: layer %d [%s] would put out %lld x %lld x %lld (height, width, channels)",
        context->path, context->line, context->layer, context->name, h, w, c);
  l->out = (struct mafat_shape){(int)h, (int)w, (int)c};
  return MAFAT_OK;
}

MAFAT_PART(opening)
int mafat_kind_add_outputs(struct mafat_layer *l, const struct mafat_infer_context *context, int n)
{
  if (n > MAFAT_MAX_OUTPUTS - 1) return mafat_kind_refuse(context, "has too many outputs");
  free(l->more);
  l->more = calloc(1, sizeof *l->more + (size_t)n * sizeof *l->more->list);
  if (!l->more) return mafat_fail(context->d, MAFAT_ENOMEM, "%s: out of memory", context->path);
  l->more->n = n;
  l->more->first = -1;
  return MAFAT_OK;
}

MAFAT_PART(opening)
int mafat_kind_put_out_more(struct mafat_layer *l, const struct mafat_infer_context *context,
                            int output, struct mafat_output is)
{
  struct mafat_shape first = l->out;
  int code = mafat_kind_put_out(l, context, is.shape.h, is.shape.w, is.shape.c);
  l->out = first;
  l->more->list[output - 1] = is;
  return code;
}

MAFAT_PART(opening)
int mafat_kind_like_input(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  return mafat_kind_put_out(l, context, l->in.h, l->in.w, l->in.c);
}

/* Rejects more than a terabyte of weights, where products would overflow. */
MAFAT_PART(opening)
int mafat_kind_check_weights(const struct mafat_infer_context *context, double filters,
                             double weights_per_filter)
{
  if (filters * weights_per_filter > (double)(1LL << 38))
    return mafat_kind_refuse(context, "would have more than a terabyte of weights");
  return MAFAT_OK;
}

struct mafat_span mafat_kind_same_span(const struct mafat_layer *l, int operand, bool axis_y,
                                       struct mafat_span out)
{
  (void)l, (void)operand, (void)axis_y;
  return out;
}

struct mafat_span mafat_kind_whole_span(const struct mafat_layer *l, int operand, bool axis_y,
                                        struct mafat_span out)
{
  (void)operand, (void)out;
  return mafat_span(0, axis_y ? l->in.h : l->in.w);
}

const char *mafat_kind_numbers_alone(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  bool whole = l->out_type != MAFAT_F32;
  for (int k = 0; k < l->n_operands && l->operands[k].sources.list; k++)
    if ((mafat_network_operand_type(n, layer, k) != MAFAT_F32) != whole)
      return "mixes integers and floats";
  return NULL;
}

const char *mafat_kind_numbers_kept(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  const char *fault = mafat_kind_numbers_alone(n, layer);
  for (int k = 0; k < l->n_operands && l->operands[k].sources.list && !fault; k++) {
    struct mafat_quantization in = mafat_network_in_quantization(n, layer, k);
    if (!mafat_quantization_equals(&in, &l->quantization))
      fault = "has another output scale or zero point than its input";
  }
  return fault;
}

struct mafat_weight_counts mafat_kind_matrix_counts(const struct mafat_layer *l)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  uint64_t filters = (uint64_t)m.filters;
  return (struct mafat_weight_counts){filters, l->batch_normalize ? 3 * filters : 0,
                                      filters * mafat_matrix_row(m)};
}

MAFAT_PART(opening)
uint64_t mafat_kind_window_macs(const struct mafat_layer *l, uint64_t pixels, int filters,
                                int channels)
{
  uint64_t taps = (uint64_t)mafat_layer_matrix(l).taps;
  return pixels * (uint64_t)filters * (uint64_t)(channels / l->groups) * taps;
}
