/* Declares the runners of layers with quantized inputs, and functions that return addresses of
 * quantized elements of tensors. Touches only its arguments. Included by
 * runner/engine/kinds/integer. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_INTEGER_INTEGER_H
#define MAFAT_RUNNER_ENGINE_KINDS_INTEGER_INTEGER_H

#include "runner/kernels/integer.h"
#include "runner/engine/kinds/rows.h"

#define INTEGERS(kind) extern const struct mafat_runner_kind kind;
#define FLOATS_ONLY
#define KIND(CONSTANT, name, integers) integers
#define STEPLESS(CONSTANT, name)
#include "network/kinds.def"

/* Returns the address of a channel of source number `source`, with arguments as in
 * mafat_tensors_read. */
static inline uint8_t *mafat_integer_read(const struct mafat_tensors *t,
                                          const struct mafat_sources *sources, int source,
                                          int channel, int y, int x)
{
  const struct mafat_source *s = mafat_sources_at(sources, source, &y);
  int at = channel - sources->list[source].first + s->first;
  return (uint8_t *)mafat_tensors_address(t, s->tensor, at / MAFAT_CHANNEL_BLOCK, y, x) +
         at % MAFAT_CHANNEL_BLOCK;
}

static inline uint8_t *mafat_integer_rows_next(struct mafat_tensor_rows *r)
{
  return (uint8_t *)mafat_tensor_rows_next_bytes(r);
}

/* Returns the address of element (c, y, x) of the concatenated sources. *pixel_bytes: bytes from
 * one column to the next. */
static inline uint8_t *mafat_integer_source_at(const struct mafat_tensors *t,
                                               const struct mafat_sources *sources, int c, int y,
                                               int x, int *pixel_bytes)
{
  int i = 0;
  for (; c >= sources->list[i].n; i++) c -= sources->list[i].n;
  int channel = sources->list[i].first + c;
  *pixel_bytes =
      (int)mafat_tensors_pixel_bytes(t, sources->list[i].tensor, channel / MAFAT_CHANNEL_BLOCK);
  return mafat_integer_read(t, sources, i, channel, y, x);
}

/* Returns the arguments of a call of the blend kernel; the caller fills in addresses and sizes. *x:
 * quantization of the first operand. */
struct mafat_integer_blend_call mafat_integer_blend(const struct mafat_network *n, int layer,
                                                    const struct mafat_quantization *x);

#endif
