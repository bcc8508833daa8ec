/* What kinds of layers count a step's work with (work.h): sums of terms, which the threads share,
 * and what is the same for several kinds: register tiles, weights, maps.
 *
 * The counts follow the kernels as they are: convolutions compute register tiles of
 * `tile_pixels` pixels of a row times `tile_vectors` vectors of filters. */
#ifndef MAFAT_PREDICTOR_COST_COUNTING_H
#define MAFAT_PREDICTOR_COST_COUNTING_H

#include "predictor/cost/calibration.h"
#include "predictor/layout/layout.h"
#include "predictor/schedule/schedule.h"

/* What the counts of a plan's steps have in common. */
struct mafat_work_context {
  const struct mafat_network *network;
  const struct mafat_plan *plan;
  const struct mafat_layout *layout;
  const struct mafat_calibration *calibration;
  double run_bytes;     /* touched in a run: what comes once a run comes from so far away */
  int turn_group;       /* the group that turn_bytes holds for */
  double turn_bytes;    /* touched between two visits of a layer of that group */
};

/* One layer of a step. */
struct mafat_counting {
  struct mafat_work_context *context;
  const struct mafat_step *step;
  const struct mafat_scratch *scratch; /* of the step */
  const struct mafat_layer *layer; /* the one that is counted */
  int index;                       /* its number */
  int inner;                       /* of the one inside it, or -1 */
  bool pooled;                     /* it is stored through the maxpool that it lies in */
  struct mafat_box box;            /* of its output; pooled, of sums */
  struct mafat_span filters, channels;
  double threads;                  /* that have something to do, on average: 1 until they share */
  double *n;                       /* [term] */
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

/* Of outputs as they are stored: of four that are pooled, one. */
static inline double mafat_counting_stored_bytes(const struct mafat_counting *c)
{
  return mafat_counting_out_bytes(c) / (c->pooled ? 4 : 1);
}

/* Of one weight. */
static inline double mafat_counting_weight_bytes(const struct mafat_counting *c)
{
  return mafat_dtype_size(c->layer->weights_type);
}

/* Elements of the whole input. */
static inline double mafat_counting_inputs(const struct mafat_counting *c)
{
  return (double)c->layer->in.h * c->layer->in.w * c->layer->in.c;
}

/* Do steps of the layers of its group take turns, in rows and tiles? */
bool mafat_counting_takes_turns(const struct mafat_counting *c);

/* Of what the layer reads for its box. */
double mafat_counting_in_bytes(const struct mafat_counting *c);

static inline void mafat_count(struct mafat_counting *c, enum mafat_term term, double n)
{
  c->n[term] += n / c->threads;
}

/* Units are shared out whole: the thread that gets most decides. For all that is counted next. */
void mafat_count_share(struct mafat_counting *c, double units);

/* How far `bytes` have to come that were last touched `distance` bytes ago. */
void mafat_count_bytes(struct mafat_counting *c, enum mafat_term far, enum mafat_term cold, double bytes,
                       double distance);

/* What an activation takes by itself, in what one of its term does: 0 of those that a kernel makes beside
 * its stores. */
double mafat_counting_activation_price(const struct mafat_activating *a);
enum mafat_term mafat_counting_activation_term(const struct mafat_activating *a);

/* Outputs through the layer's activation, where that is so. */
void mafat_count_activation(struct mafat_counting *c, double outputs);

/* ---- register tiles ---- */

/* Filters as the kernels cut them: panels, in tiles of so many vectors. */
struct mafat_width {
  double vectors; /* in all panels */
  double tiles;   /* groups of tile_vectors */
  double narrow;  /* panels that are computed in half vectors, which are in neither of them */
  int panels;
};

struct mafat_width mafat_counting_width(const struct mafat_counting *c);

/* Inner loops over `channels`: one per block of 16 and row of taps, where a block has
 * nothing between its pixels; another for every tap where it has. */
double mafat_counting_runs(const struct mafat_counting *c, struct mafat_span channels);

/* rows x cols pixels of `w` filters from sums of so many taps, which are added in so
 * many calls. */
void mafat_count_tiles(struct mafat_counting *c, enum mafat_term macs, double rows, int cols, struct mafat_width w,
                       double taps, double runs, double calls);

/* ---- bytes, and layers that are alike ---- */

/* The weights of one pass over the step's filters, and of the passes that follow.
 * Streamed ones were just read: into memory. */
void mafat_count_weights(struct mafat_counting *c, double bytes, double passes);

/* What a step reads was written by the step before, or lies all around in a map. What
 * it writes goes to where something lay that nobody needs any more: in a rolling window
 * since the last turn, or for the first time; else a layer or two. (A whole map's first
 * lines come as fast as its others: there are many in a row.) */
void mafat_count_maps(struct mafat_counting *c, double in_bytes, double out_bytes);

/* Rows are shared out: n of `term`, and the maps. */
void mafat_count_rows(struct mafat_counting *c, enum mafat_term term, double n, double in_bytes, double out_bytes);

/* ---- whole numbers ---- */

/* Does the layer read them? */
bool mafat_counting_is_integer(const struct mafat_counting *c);
/* What a number takes that is found in a table, of what a float takes to become one. */
double mafat_counting_lookup(const struct mafat_counting *c);
/* Convolutions of them, whose rows come in so many blocks. */
void mafat_count_integers(struct mafat_counting *c, double blocks);
void mafat_count_integer_depthwise(struct mafat_counting *c, double blocks);
/* All of the output in one pass, from as much of the input. */
void mafat_count_moved(struct mafat_counting *c);

/* Sums over a flattened input of so many panels, shared out in so many units. */
void mafat_count_dense(struct mafat_counting *c, double units, double panels);

#endif
