/* Weights of a plan as packed slices for the kernels, from Darknet's file, a model's own file, or a
 * packed file. The executor sees only slices; the plan places each layer's weights:
 *
 *   kept      in a mapping of their own, read when opened
 *   loaded    in the arena, read in every run before the layer's first step
 *   streamed  in the arena's ring (packed file), or through it into the panel buffer
 *
 * The reads of a run (predictor/schedule/fetches.h) are submitted ahead of the steps, so that data
 * arrives while a step computes. Nothing is allocated between begin and end. NaN and infinite
 * weights, and damaged layers of a packed file, are detected the first time that a layer is read:
 * when opened, or in the first run. Included by api, programs/make_weights/make_weights.c,
 * runner/engine and weights_open.c. */
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
  /* panels (packing.h); batchnorm: NULL; local: Darknet's order; NULL for narrow weights */
  const float *weights;
  const char *narrow;   /* weights of the layer's narrow type */
  /* one per filter: y = sum * scale + bias. NULL for a streamed slice that is not the last of its
   * panel */
  const float *scale, *bias;
  int width; /* lanes of the panel: distance between taps; lanes after the last filter are zero */
  int lane;  /* lane of the panel where the filters begin. `weights`, `scale` and `bias` begin at
                this lane, `narrow` at lane 0 */
};

/* NULL selects the defaults. */
struct mafat_weights_options {
  enum mafat_read_queue_method method; /* default MAFAT_READS_AUTO */
  struct mafat_lock *lock; /* locks kept weights; default NULL: not locked. Used only while
                              opening */
};

/* Detects the kind of a weights file from its first bytes, before there is a plan. MAFAT_EIO: it
 * cannot be read by offset. */
int mafat_weights_probe(struct mafat_model_source *source, struct mafat_weights_kind *kind,
                        struct mafat_diagnostic *d);

/* Opens a file for a plan and its layout, all of which must outlive it, and reads the kept layers.
 * Layers that no step needs are not read. Checks the file as described in weights_file.h.
 * MAFAT_EUNSUPPORTED: transposed connected layers cannot be loaded or streamed. MAFAT_EINVAL: the
 * plan was made for another kind of file. */
int mafat_weights_open_source(struct mafat_weights **out, struct mafat_model_source *source,
                              const struct mafat_network *n, const struct mafat_plan *plan,
                              const struct mafat_layout *layout,
                              const struct mafat_weights_options *options,
                              const struct mafat_warning_sink *warnings,
                              struct mafat_diagnostic *d);
int mafat_weights_open(struct mafat_weights **out, const char *path, const struct mafat_network *n,
                       const struct mafat_plan *plan, const struct mafat_layout *layout,
                       const struct mafat_weights_options *options,
                       const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);
/* Opens a file without a plan, and keeps the weights of the first n_layers layers. They serve any
 * plan that keeps all weights. */
int mafat_weights_open_kept_source(struct mafat_weights **out, struct mafat_model_source *source,
                                   const struct mafat_network *n, int n_layers,
                                   const struct mafat_warning_sink *warnings,
                                   struct mafat_diagnostic *d);
int mafat_weights_open_kept(struct mafat_weights **out, const char *path,
                            const struct mafat_network *n, int n_layers,
                            const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);
/* Waits for pending reads. */
void mafat_weights_close(struct mafat_weights **weights);

/* ---- a run, by the caller's thread ---- */

void mafat_weights_begin(struct mafat_weights *w, char *arena);
/* Called before each step in the schedule's order, from number 0 on; waits for its weights. After
 * MAFAT_EIO or MAFAT_EFORMAT, call stop. */
int mafat_weights_acquire(struct mafat_weights *w, long long step_number,
                          const struct mafat_step *step, struct mafat_diagnostic *d);
/* Called after each step: its slices are no longer needed. */
void mafat_weights_release_step(struct mafat_weights *w, const struct mafat_step *step);
/* Called after the last step. MAFAT_EIO: the file was written to, truncated or replaced
 * meanwhile. */
int mafat_weights_end(struct mafat_weights *w, struct mafat_diagnostic *d);
/* Replaces end after a failed run: nothing is read into the arena afterwards. */
void mafat_weights_stop(struct mafat_weights *w);

/* ---- by any thread, between a step's acquire and release ---- */

/* Returns the slice of some filters and input channels. The filters are within one panel
 * (mafat_panel_end), and begin it for streamed and Winograd layers. Channels are relative to the
 * filters' group, and begin and end at channel blocks; for a streamed layer they are within those
 * of the step. Valid until released. */
int mafat_weights_slice(const struct mafat_weights *w, int layer, struct mafat_span filters,
                        struct mafat_span channels, struct mafat_weights_slice *slice);
void mafat_weights_release(const struct mafat_weights *w, struct mafat_weights_slice *slice);

/* Returns the integer panel (packing.h) that begins at filter `first`; valid like a slice.
 * quads_taps: quads x taps of a panel if all panels are alike (not grouped, not depthwise); else
 * 0. */
const char *mafat_weights_integer_panel(const struct mafat_weights *w, int layer, int first,
                                        size_t quads_taps);

/* Content of an integer panel: rows of its width. */
struct mafat_integer_panel {
  const int8_t *weights;
  const int32_t *bias, *multipliers, *shifts;
  int weights_zero; /* -128 ... 127 */
};

static inline struct mafat_integer_panel mafat_integer_panel_at(const struct mafat_layer *l,
                                                                const char *panel,
                                                                size_t quads_taps, int width)
{
  const int32_t *bias = (const int32_t *)(const void *)(panel + quads_taps * (size_t)width);
  const int32_t *multipliers = bias + width, *shifts = multipliers + width;
  bool even = l->quantization.rounding == MAFAT_REQUANTIZE_EVEN;
  return (struct mafat_integer_panel){(const int8_t *)panel, bias, multipliers, shifts,
                                      even ? l->weights_zero : mafat_zero_beside_shift(shifts[0])};
}
/* Returns a layer's weights that are not packed into panels, in the file's order. */
const char *mafat_weights_numbers(const struct mafat_weights *w, int layer);

/* ---- figures for reports ---- */

/* bytes of kept weights, which are outside the arena */
size_t mafat_weights_bytes(const struct mafat_weights *w);
size_t mafat_weights_locked_bytes(const struct mafat_weights *w); /* all of them or none */
uint64_t mafat_weights_bytes_read(const struct mafat_weights *w); /* from the file, so far */
bool mafat_weights_reads_in_runs(const struct mafat_weights *w); /* true unless all are kept */
const char *mafat_weights_reads_method(const struct mafat_weights *w); /* see reads.h */
bool mafat_weights_reads_directly(const struct mafat_weights *w);      /* past the page cache */

/* Returns the bytes after the header in a Darknet weights file for this network. */
uint64_t mafat_weights_payload_bytes(const struct mafat_network *n);

#endif
