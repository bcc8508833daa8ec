/* A .weights file as packed slices for the kernels. The executor sees nothing
 * but slices: whether they are resident or streamed is this module's affair.
 * (Resident is what exists today.)
 *
 * The file: a header of three int32 (major, minor, revision) and `seen` (8 bytes
 * from version 0.2 on, else 4), then per layer biases, [scales, means,
 * variances], weights (connected layers: weights, then [scales, means,
 * variances]), all little-endian fp32. major or minor above 1000 means
 * that connected layers are stored transposed. */
#ifndef MAFAT_RUNNER_WEIGHTS_H
#define MAFAT_RUNNER_WEIGHTS_H

#include "network/network.h"
#include "predictor/packing.h"

struct mafat_weights;

struct mafat_weights_slice {
  const float *weights; /* packing.h: panels; batchnorm: NULL; local: Darknet's order */
  const float *scale;   /* one per filter: y = sum * scale + bias */
  const float *bias;
  int width;            /* floats between taps; filters beyond the panel are zero */
};

/* Reads and packs the weights of the first n_layers. The file's length is
 * checked against the whole cfg: too short is MAFAT_EFORMAT naming bytes and
 * layer; a surplus is an error with a detection head, a warning without. NaN
 * and infinite weights are MAFAT_EFORMAT. */
int mafat_weights_open(struct mafat_weights **out, const char *path,
                       const struct mafat_network *n, int n_layers,
                       const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);
/* The same from an open file, which stays the caller's; `name` for messages. */
int mafat_weights_read(struct mafat_weights **out, int fd, const char *name,
                       const struct mafat_network *n, int n_layers,
                       const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);
void mafat_weights_close(struct mafat_weights **weights);

/* Filters [filters) (one panel: see mafat_panel_end) with input channels
 * [channels) of the filters' group, beginning and ending at pieces. Valid until
 * released. */
int mafat_weights_slice(struct mafat_weights *w, int layer, struct mafat_span filters,
                        struct mafat_span channels, struct mafat_weights_slice *slice);
void mafat_weights_release(struct mafat_weights *w, struct mafat_weights_slice *slice);

/* STUB */
static inline void mafat_weights_begin(struct mafat_weights *w, char *arena) { (void)w; (void)arena; }
static inline int mafat_weights_acquire(struct mafat_weights *w, long long n, const void *step, struct mafat_diagnostic *d) { (void)w; (void)n; (void)step; (void)d; return 0; }
static inline void mafat_weights_release_step(struct mafat_weights *w, const void *step) { (void)w; (void)step; }
static inline int mafat_weights_end(struct mafat_weights *w, struct mafat_diagnostic *d) { (void)w; (void)d; return 0; }
static inline void mafat_weights_stop(struct mafat_weights *w) { (void)w; }
size_t mafat_weights_bytes(const struct mafat_weights *w);     /* resident, packed */
uint64_t mafat_weights_bytes_read(const struct mafat_weights *w); /* from the file, so far */

/* Length of the file that a cfg asks for, bytes after the header. */
uint64_t mafat_weights_payload_bytes(const struct mafat_network *n);

#endif
