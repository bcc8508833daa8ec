/* The weights of a plan as packed slices for the kernels, from Darknet's own file or
 * a packed one. The executor sees nothing but slices; where they are is this module's
 * affair, by the plan's weight placement of each layer:
 *
 *   kept      in a mapping of their own, read when opened
 *   loaded    in the arena, read in every run before the layer's first step
 *   streamed  in the arena's ring (packed file), or through it into the panel buffer
 *
 * What a run reads is predictor/schedule/fetches.h, walked ahead of the steps: the next reads
 * are under way while a step computes. Nothing is allocated between begin and end.
 * NaN and infinite weights, and damaged layers of a packed file, are found the first
 * time that a layer is read: when opened, or in the first run. */
#ifndef MAFAT_RUNNER_WEIGHTS_WEIGHTS_H
#define MAFAT_RUNNER_WEIGHTS_WEIGHTS_H

#include "formats/readers.h"
#include "predictor/layout/layout.h"
#include "predictor/plan/packing.h"
#include "predictor/schedule/schedule.h"
#include "runner/os/lock.h"
#include "runner/weights/reads.h"

struct mafat_weights;

struct mafat_weights_slice {
  const float *weights; /* packing.h: panels; batchnorm: NULL; local: Darknet's order; NULL where they are narrow: */
  const char *narrow;   /* of the layer's type */
  const float *scale;   /* one per filter: y = sum * scale + bias; NULL for a streamed slice that is */
  const float *bias;    /* not the last of its panel */
  int width;            /* floats between taps; filters beyond the panel are zero */
  int lane;             /* of the panel, where the filters begin; narrow weights are from its first one on */
};

/* NULL: the defaults. */
struct mafat_weights_options {
  enum mafat_reads_method method; /* default MAFAT_READS_AUTO */
  struct mafat_lock *lock;        /* of what is kept; default NULL: it is not locked. Used by opening only */
};

/* By the first bytes of the file, before there is a plan. MAFAT_EIO: it cannot be read by offset. */
int mafat_weights_probe(struct mafat_model_source *source, struct mafat_weights_kind *kind, struct mafat_diagnostic *d);

/* Opens a file for a plan and its layout, all of which must outlive it, and reads the layers
 * that are kept; layers that no step needs are not read. The file is checked as
 * weights_file.h has it. MAFAT_EUNSUPPORTED: transposed connected layers cannot be
 * loaded or streamed. MAFAT_EINVAL: the plan was made for another kind of file. */
int mafat_weights_open_source(struct mafat_weights **out, struct mafat_model_source *source, const struct mafat_network *n,
                              const struct mafat_plan *plan, const struct mafat_layout *layout,
                              const struct mafat_weights_options *options,
                              const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);
int mafat_weights_open(struct mafat_weights **out, const char *path, const struct mafat_network *n,
                       const struct mafat_plan *plan, const struct mafat_layout *layout,
                       const struct mafat_weights_options *options,
                       const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);
/* All of the first n_layers kept, for any plan that keeps them. */
int mafat_weights_open_kept_source(struct mafat_weights **out, struct mafat_model_source *source, const struct mafat_network *n,
                                   int n_layers, const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);
int mafat_weights_open_kept(struct mafat_weights **out, const char *path, const struct mafat_network *n,
                            int n_layers, const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);
/* Waits for reads that are under way. */
void mafat_weights_close(struct mafat_weights **weights);

/* ---- a run, by the caller's thread ---- */

void mafat_weights_begin(struct mafat_weights *w, char *arena);
/* Before each step, in the schedule's order, number 0 first: until its weights are
 * there. MAFAT_EIO, MAFAT_EFORMAT: then stop. */
int mafat_weights_acquire(struct mafat_weights *w, long long step_number, const struct mafat_step *step,
                          struct mafat_diagnostic *d);
/* Behind each step: its slices are no longer needed. */
void mafat_weights_release_step(struct mafat_weights *w, const struct mafat_step *step);
/* Behind the last step. MAFAT_EIO when the file was written to, cut short or replaced meanwhile. */
int mafat_weights_end(struct mafat_weights *w, struct mafat_diagnostic *d);
/* Instead of end, where a run failed: nothing is read into the arena any more. */
void mafat_weights_stop(struct mafat_weights *w);

/* ---- by any thread, between a step's acquire and release ---- */

/* Filters [filters) (within one panel: see mafat_panel_end; of what is streamed, and of Winograd's, that they begin) with input channels
 * [channels) of the filters' group, beginning and ending at pieces; of a streamed
 * layer within those of the step. Valid until released. */
int mafat_weights_slice(const struct mafat_weights *w, int layer, struct mafat_span filters,
                        struct mafat_span channels, struct mafat_weights_slice *slice);
void mafat_weights_release(const struct mafat_weights *w, struct mafat_weights_slice *slice);

/* The panel of whole numbers (packing.h) that begins at filter `first`, valid as above. quads_taps: of the layer's panels, where these are alike,
 * as those of layers are that are not grouped, or depthwise; else 0. */
const char *mafat_weights_integer_panel(const struct mafat_weights *w, int layer, int first, size_t quads_taps);

/* What one has: rows of its width. */
struct mafat_integer_panel {
  const int8_t *weights;
  const int32_t *bias, *multipliers, *shifts;
  int weights_zero; /* -128 ... 127 */
};

static inline struct mafat_integer_panel mafat_integer_panel_at(const struct mafat_layer *l, const char *panel, size_t quads_taps, int width)
{
  const int32_t *bias = (const int32_t *)(const void *)(panel + quads_taps * (size_t)width);
  const int32_t *multipliers = bias + width, *shifts = multipliers + width;
  bool even = l->quantization.rounding == MAFAT_REQUANTIZE_EVEN;
  return (struct mafat_integer_panel){(const int8_t *)panel, bias, multipliers, shifts,
                                      even ? l->weights_zero : mafat_zero_beside_shift(shifts[0])};
}
/* Numbers without a matrix, as the file has them. */
const char *mafat_weights_numbers(const struct mafat_weights *w, int layer);

/* ---- for a report ---- */

size_t mafat_weights_bytes(const struct mafat_weights *w);     /* kept, packed: without those in the arena */
size_t mafat_weights_locked_bytes(const struct mafat_weights *w); /* of them: all or none */
uint64_t mafat_weights_bytes_read(const struct mafat_weights *w); /* from the file, so far */
bool mafat_weights_reads_in_runs(const struct mafat_weights *w); /* not all are kept */
const char *mafat_weights_reads_method(const struct mafat_weights *w); /* reads.h */
bool mafat_weights_reads_directly(const struct mafat_weights *w);      /* past the page cache */

/* Length of Darknet's file that a cfg asks for, bytes after the header. */
uint64_t mafat_weights_payload_bytes(const struct mafat_network *n);

#endif
