/* Weights of a plan, from a Darknet file, a model's own file, or a packed file. Kernels get them as
 * packed slices, wherever they are. The plan decides for each layer where they are:
 *
 *   kept      in a separate mapping, read when the weights are opened
 *   loaded    in the arena, read in every run before the layer's first step
 *   streamed  read in every run, for each step: in the arena's ring (packed file), or packed from
 *             there into the panel buffer (other files)
 *
 * The reads of a run (predictor/schedule/fetches.h) are submitted ahead of the steps, so that data
 * arrives while a step computes. Opening allocates, maps and reads files; a run allocates nothing.
 * NaN and infinite weights, and damaged layers of a packed file, are detected the first time that a
 * layer is read: when opened, or in the first run. Included by api, experiments, runner/calibrate,
 * runner/engine, runner/weights, programs/make_weights and programs/mafat_ranks. */
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
  /* part of a panel (packing.h) of floats. Local layers: in Darknet's order. NULL for batchnorm
   * layers, and if `narrow` is set */
  const float *weights;
  const char *narrow;   /* part of a panel whose type kernels convert to floats; else NULL */
  /* of each filter: y = sum * scale + bias. NULL for a streamed slice without the panel's last
   * channels */
  const float *scale, *bias;
  int width; /* number of lanes of the panel: weights from a row to the next. Lanes after the last
                filter are zero */
  int lane;  /* lane of the panel at which the filters begin. `weights`, `scale` and `bias` point at
                this lane, `narrow` at lane 0 */
};

/* A NULL pointer to the options selects the defaults. */
struct mafat_weights_options {
  enum mafat_read_queue_method method; /* default MAFAT_READS_AUTO */
  struct mafat_lock *lock; /* locks kept weights in memory (runner/os/lock.h); it may be freed once
                              the weights are open. Default NULL: not locked */
};

/* Detects the kind of a weights file from its first bytes. Needs no plan. MAFAT_EIO: the source is
 * no regular file, so it cannot be read at any offset. */
int mafat_weights_probe(struct mafat_model_source *source, struct mafat_weights_kind *kind,
                        struct mafat_diagnostic *d);

/* Opens the weights of n for a plan and its layout, and reads the kept layers. n, plan and layout
 * must outlive the weights; the source may be closed. Layers that no step needs are not read.
 * Checks the file as described in weights_file.h. MAFAT_EUNSUPPORTED: a Darknet file stores a
 * connected layer transposed, but the plan loads or streams it, or a rank needs only a part of it.
 * MAFAT_EINVAL: the plan was made for another kind of file. */
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
/* Opens weights without a plan, and keeps those of the first n_layers layers. They can be used with
 * any plan that keeps all weights. */
int mafat_weights_open_kept_source(struct mafat_weights **out, struct mafat_model_source *source,
                                   const struct mafat_network *n, int n_layers,
                                   const struct mafat_warning_sink *warnings,
                                   struct mafat_diagnostic *d);
int mafat_weights_open_kept(struct mafat_weights **out, const char *path,
                            const struct mafat_network *n, int n_layers,
                            const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);
/* Waits for pending reads, then closes the file and frees the weights. */
void mafat_weights_close(struct mafat_weights **weights);

/* ---- functions of a run, which the executor calls on its caller's thread ---- */

/* Called before the first step. `arena` is the beginning of the arena's memory. */
void mafat_weights_begin(struct mafat_weights *w, char *arena);
/* Called before each step, in the schedule's order; the first step has number 0. Waits until the
 * step's weights are read. After MAFAT_EIO or MAFAT_EFORMAT, call mafat_weights_stop. */
int mafat_weights_acquire(struct mafat_weights *w, long long step_number,
                          const struct mafat_step *step, struct mafat_diagnostic *d);
/* Called after each step, when its slices are no longer needed. */
void mafat_weights_release_step(struct mafat_weights *w, const struct mafat_step *step);
/* Called after the last step. MAFAT_EIO: the file was written to, truncated or replaced during the
 * run. */
int mafat_weights_end(struct mafat_weights *w, struct mafat_diagnostic *d);
/* Called instead of mafat_weights_end after a failed run. Waits for pending reads: nothing is read
 * into the arena afterwards. */
void mafat_weights_stop(struct mafat_weights *w);

/* ---- functions that any thread may call, between a step's acquire and release ---- */

/* Fills *slice for some filters and input channels. The filters are within one panel
 * (mafat_panel_end); in streamed and Winograd layers they begin with the panel's first filter.
 * Channels are relative to the filters' group, and begin and end at block slices; in a streamed
 * layer they are within those of the step. The slice is valid until mafat_weights_release. Returns
 * MAFAT_OK. */
int mafat_weights_slice(const struct mafat_weights *w, int layer, struct mafat_span filters,
                        struct mafat_span channels, struct mafat_weights_slice *slice);
void mafat_weights_release(const struct mafat_weights *w, struct mafat_weights_slice *slice);

/* Returns the integer panel (packing.h) that begins at filter `first`, valid until the step is
 * released. quads_taps: weights that each panel stores for a filter (mafat_quads_taps), or 0 if the
 * layer is grouped or depthwise: then panels may differ. */
const char *mafat_weights_integer_panel(const struct mafat_weights *w, int layer, int first,
                                        size_t quads_taps);

/* Addresses in an integer panel. */
struct mafat_integer_panel {
  const int8_t *weights;
  const int32_t *bias, *multipliers, *shifts; /* [width]: of each filter */
  int weights_zero; /* zero point of the weights, -128 ... 127 */
};

/* Returns the addresses in a panel that has quads_taps weights for each of `width` filters. */
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

/* Returns the bytes of kept weights, which are outside the arena. */
size_t mafat_weights_bytes(const struct mafat_weights *w);
/* Returns the bytes of kept weights if they are locked in memory, else 0. */
size_t mafat_weights_locked_bytes(const struct mafat_weights *w);
/* Returns the bytes that were read from the file so far. */
uint64_t mafat_weights_bytes_read(const struct mafat_weights *w);
/* True if runs read weights: not all are kept. */
bool mafat_weights_reads_in_runs(const struct mafat_weights *w);
/* Returns the name of the method of reading (mafat_read_queue_method_name). */
const char *mafat_weights_reads_method(const struct mafat_weights *w);
/* True if the file is read with O_DIRECT. */
bool mafat_weights_reads_directly(const struct mafat_weights *w);

/* Returns the number of bytes after the header of a Darknet weights file for this network. */
uint64_t mafat_weights_payload_bytes(const struct mafat_network *n);

#endif
