/* Functions with which each kind of layer counts the work of a step (work.h). Counts are divided by
 * the number of busy threads. Included by predictor/kinds and work.h. They change only the counts
 * and the context.
 *
 * The counts follow the kernels. Convolutions compute register tiles of `tile_pixels` pixels of a
 * row times `tile_vectors` vectors of filters. */
#ifndef MAFAT_PREDICTOR_COST_COUNTING_H
#define MAFAT_PREDICTOR_COST_COUNTING_H

#include "predictor/cost/calibration.h"
#include "predictor/layout/layout.h"
#include "predictor/schedule/schedule.h"

/* State shared by all steps of a plan. */
struct mafat_work_context {
  const struct mafat_network *network;
  const struct mafat_plan *plan;
  const struct mafat_layout *layout;
  const struct mafat_calibration *calibration;
  /* bytes touched in a run. Data that each run uses once has this distance between two uses
   * (mafat_count_bytes) */
  double run_bytes;
  int turn_group;       /* group for which turn_bytes was computed; -1: none */
  double turn_bytes;    /* bytes touched between two steps of a layer of that group */
};

/* One layer of a step. */
struct mafat_counting {
  struct mafat_work_context *context;
  const struct mafat_step *step;
  const struct mafat_scratch *scratch; /* scratch of the step */
  const struct mafat_layer *layer; /* layer being counted */
  int index;                       /* its number */
  int inner;                       /* layer computed inside it, or -1 */
  bool pooled;                     /* its outputs are pooled by the maxpool that contains it */
  struct mafat_box box;            /* box of its output; if pooled, of the sums before pooling */
  struct mafat_span filters, channels;
  double threads;                  /* average number of busy threads; 1 until mafat_count_share */
  double *n;                       /* [term] counts to add to */
};

static inline double mafat_counting_pixels(const struct mafat_counting *c)
{
  return (double)mafat_box_area(c->box);
}

static inline double mafat_counting_outputs(const struct mafat_counting *c)
{
  return mafat_counting_pixels(c) * mafat_span_size(c->filters);
}

static inline double mafat_counting_out_bytes(const struct mafat_counting *c)
{
  return mafat_counting_outputs(c) * mafat_dtype_size(c->layer->out_type);
}

/* Bytes stored for the box: fused pooling stores one of four outputs. */
static inline double mafat_counting_stored_bytes(const struct mafat_counting *c)
{
  return mafat_counting_out_bytes(c) / (c->pooled ? 4 : 1);
}

/* Bytes of one weight. */
static inline double mafat_counting_weight_bytes(const struct mafat_counting *c)
{
  return mafat_dtype_size(c->layer->weights_type);
}

/* Elements of the whole input. */
static inline double mafat_counting_inputs(const struct mafat_counting *c)
{
  return (double)c->layer->in.h * c->layer->in.w * c->layer->in.c;
}

/* True if the steps of the group's layers alternate: in groups of rows and of tiles. */
bool mafat_counting_takes_turns(const struct mafat_counting *c);

/* Bytes that the layer reads for its box. */
double mafat_counting_in_bytes(const struct mafat_counting *c);

/* Adds n units of a term, divided by the number of busy threads. */
static inline void mafat_count(struct mafat_counting *c, enum mafat_term term, double n)
{
  c->n[term] += n / c->threads;
}

/* Divides `units` of work among the threads, for all counts that follow. A unit is not divided, so
 * the thread with the most units determines the time. */
void mafat_count_share(struct mafat_counting *c, double units);

/* Counts `bytes` as near, far or cold, where `distance` bytes were touched since their last use. */
void mafat_count_bytes(struct mafat_counting *c, enum mafat_term far, enum mafat_term cold,
                       double bytes, double distance);

/* Price of an activation, in units of its term; 0 if it costs no more than storing the output. */
double mafat_counting_activation_price(const struct mafat_activating *a);
enum mafat_term mafat_counting_activation_term(const struct mafat_activating *a);

/* Counts activated outputs, if the layer's activation has a price. */
void mafat_count_activation(struct mafat_counting *c, double outputs);

/* ---- register tiles ---- */

/* Filters divided as in the kernels: panels in tiles of tile_vectors. */
struct mafat_width {
  double vectors; /* vectors in all panels but narrow ones */
  double tiles;   /* tiles of tile_vectors vectors in those panels */
  double narrow;  /* narrow panels (calibration.h: few_filters) */
  int panels;     /* all panels */
};

struct mafat_width mafat_counting_width(const struct mafat_counting *c);

/* Number of inner loops over `channels`. A block of 16 channels has one for each row of the window
 * if the row's pixels are contiguous, else one for each tap. */
double mafat_counting_runs(const struct mafat_counting *c, struct mafat_span channels);

/* Counts the register tiles of rows x cols pixels and the filters of `w`. Each output sums `taps`
 * products, in `runs` inner loops and `calls` kernel calls. `macs`: the term of the products. */
void mafat_count_tiles(struct mafat_counting *c, enum mafat_term macs, double rows, int cols,
                       struct mafat_width w, double taps, double runs, double calls);

/* ---- bytes, and layers that copy ---- */

/* Counts `passes` passes over `bytes` bytes of weights. Only the first reads them from afar. */
void mafat_count_weights(struct mafat_counting *c, double bytes, double passes);

/* Counts bytes of the input and output maps of a step. The step reads what the step before wrote,
 * or part of a whole map. It overwrites a dead buffer. Rows of a rolling window were last used in
 * the layer's previous step, or never; other buffers were last used one or two layers ago. */
void mafat_count_maps(struct mafat_counting *c, double in_bytes, double out_bytes);

/* Divides the step's rows among the threads. Counts n units of `term`, and the maps' bytes. */
void mafat_count_rows(struct mafat_counting *c, enum mafat_term term, double n, double in_bytes,
                      double out_bytes);

/* ---- integers ---- */

/* True if the layer reads quantized values. */
bool mafat_counting_is_integer(const struct mafat_counting *c);
/* Price of a table lookup relative to quantizing one float. */
double mafat_counting_lookup(const struct mafat_counting *c);
/* Count integer convolutions whose rows are divided into `blocks` blocks. */
void mafat_count_integers(struct mafat_counting *c, double blocks);
void mafat_count_integer_depthwise(struct mafat_counting *c, double blocks);
/* Counts a copy of the step's output, with as many bytes of input. */
void mafat_count_moved(struct mafat_counting *c);

/* Counts the sums of a connected or local layer: `panels` kernel calls, divided among the threads
 * in `units` units. */
void mafat_count_dense(struct mafat_counting *c, double units, double panels);

#endif
