/* A schedule: an iterator over the steps of a run, in order. Steps are generated, never stored, by
 * one generator for each way of dividing a group. The layout walks the schedule dry for sizes and
 * costs; the executor walks the same one to compute. Used by predictor/, search/least/grouping.c,
 * runner/engine and runner/weights. */
#ifndef MAFAT_PREDICTOR_SCHEDULE_SCHEDULE_H
#define MAFAT_PREDICTOR_SCHEDULE_SCHEDULE_H

#include "predictor/plan/plan.h"
#include "predictor/plan/usage.h"

enum mafat_step_kind {
  /* Computes channels `filters` of pixels `out` of a layer, and of the layers fused into it
   * (fusion.h), from input channels `channels`. A direct convolution may get its input channels in
   * several steps. The first begins at channel 0. The last ends at in.c and applies scale, bias and
   * activation. In between the output tensor holds unfinished sums. */
  MAFAT_STEP_COMPUTE,
  MAFAT_STEP_TRANSFORM, /* Winograd: transforms the input of this layer's following steps into
                           scratch */
  MAFAT_STEP_INPUT,     /* rows of an input, from its source */
  MAFAT_STEP_SEND,      /* begins to send a part, or its sums, to another rank
                           (ranks/rank_parts.h) */
  MAFAT_STEP_WAIT,      /* waits until it is sent */
  MAFAT_STEP_RECEIVE    /* receives a part, or its sums, from another rank */
};

struct mafat_step {
  enum mafat_step_kind kind;
  int group, layer;      /* layer: number of the layer or input */
  int part;              /* its number in plan->parts; -1: the group has no parts */
  /* Boxes and channels of the layer's first output; those of other outputs follow from kind.h and
   * mafat_schedule_held. */
  struct mafat_box out;  /* pixels that the step computes */
  struct mafat_box held; /* pixels in the output's buffer after this step; older rows may be
                            overwritten */
  struct mafat_span held_channels; /* channels in that buffer; they begin at a block */
  struct mafat_span filters, channels; /* output and input channels of the step */
};

/* True if the step sends or receives. */
static inline bool mafat_step_exchanges(const struct mafat_step *step)
{
  return step->kind >= MAFAT_STEP_SEND;
}

/* True if the step is the first of those into which a layer or part is divided. */
bool mafat_step_begins(const struct mafat_plan *plan, const struct mafat_step *step);

/* Input channel at which the sums that the step begins or continues begin: 0, unless its part sums
 * apart (partition.h). */
int mafat_step_first_channel(const struct mafat_plan *plan, const struct mafat_step *step);

/* Lifetime of the buffers of a group's inner tensors. */
enum mafat_lifetime {
  MAFAT_LIFE_ONCE,     /* each layer runs once: from its step to the last reader's */
  MAFAT_LIFE_PER_TILE, /* the same within each tile; the group's inputs and outputs live through
                          all tiles */
  MAFAT_LIFE_PARTS,    /* from the step that writes a partition buffer to the last that reads it */
  MAFAT_LIFE_GROUP     /* layers alternate: everything lives through the group */
};

enum mafat_lifetime mafat_group_lifetime(const struct mafat_group *g);

/* A step that is issued as several steps, by panels of filters and slices of input channels. */
struct mafat_division {
  struct mafat_step whole;
  bool going;          /* more steps follow, as far as known */
  bool transformed;    /* Winograd's transform step was issued, or is not needed */
  int filter, channel; /* first filter and input channel of the next step */
};

struct mafat_schedule {
  struct mafat_heap *heap; /* the plan's; the plan may be closed before the schedule */
  const struct mafat_network *network;
  const struct mafat_plan *plan;
  struct mafat_usage *usage; /* [tensor] */
  int group;                 /* current group */
  bool begun;                /* the current group's generator has begun it */
  int inputs_done;           /* inputs of the network for which a step was issued before all groups,
                                if they need one */
  struct mafat_division division;
  void *states[MAFAT_N_CUTS]; /* [cut]: private state of each generator */
};

/* Generates the steps of one way of dividing a group. */
struct mafat_generator {
  /* allocates the generator's state in the plan's heap; MAFAT_ENOMEM, *state is closed even then */
  int (*open)(void **state, const struct mafat_schedule *s);
  void (*close)(struct mafat_heap *heap, void *state);
  void (*begin)(struct mafat_schedule *s);                   /* starts group s->group */
  /* returns the next step of the group; false at its end */
  bool (*next)(struct mafat_schedule *s, struct mafat_step *step);
};

/* N x M tiles of the group's output, each computed depth-first (FTP, MAFAT: schedule_grid.c). */
extern const struct mafat_generator mafat_generator_grid;
/* Rolling windows of rows; nothing is computed twice (schedule_rows.c). */
extern const struct mafat_generator mafat_generator_rows;
/* The whole map, one panel of filters at a time (schedule_panels.c). */
extern const struct mafat_generator mafat_generator_panels;

/* Parts of layers, one after the other (schedule_parts.c). */
extern const struct mafat_generator mafat_generator_parts;

int mafat_schedule_open(struct mafat_schedule **out, const struct mafat_network *n,
                        const struct mafat_plan *plan);
void mafat_schedule_close(struct mafat_schedule **s);
void mafat_schedule_rewind(struct mafat_schedule *s);
/* Returns the next step of the run; false at its end. Allocates nothing. */
bool mafat_schedule_next(struct mafat_schedule *s, struct mafat_step *step);

/* In a group by rows: first row of a tensor that layers of the current group still have to read;
 * the tensor's number of rows if there is none. */
int mafat_schedule_first_row(const struct mafat_schedule *s, int tensor);

/* Pixels in the buffer of output number `output` after the step. Call it before the next
 * mafat_schedule_next. */
struct mafat_box mafat_schedule_held(const struct mafat_schedule *s, const struct mafat_step *step,
                                     int output);

/* True if the layer computes something in this plan. */
static inline bool mafat_schedule_runs(const struct mafat_schedule *s, int layer)
{
  return s->usage[layer].needed && !mafat_layer_is_alias(&s->network->layers[layer]);
}

/* Makes the step that computes box `out` of a layer or reads it from an input, with all filters and
 * channels. */
struct mafat_step mafat_schedule_step(const struct mafat_schedule *s, int layer,
                                      struct mafat_box out, struct mafat_box held);

/* Begins to issue `step` as several steps, here called its parts. It covers all filters and
 * channels of a divided layer (mafat_plan_divides). mafat_schedule_next_part returns the next one;
 * false at the end. */
void mafat_schedule_divide(struct mafat_schedule *s, struct mafat_step step);
bool mafat_schedule_next_part(struct mafat_schedule *s, struct mafat_step *part);
/* True if, as far as known, more parts of the layer's step follow. */
static inline bool mafat_schedule_is_dividing(const struct mafat_schedule *s, int layer)
{
  return s->division.going && s->division.whole.layer == layer;
}
/* Skips the rest of a divided step after its first part, in walks that need no other part. Not for
 * a panel fusion, whose readers run between the parts. */
void mafat_schedule_skip_parts(struct mafat_schedule *s);

/* Fills boxes[layer] for every layer of group number `group`, a grid: the box that tile (ty, tx)
 * computes, which is empty if it does not compute the layer. */
void mafat_schedule_tile_boxes(const struct mafat_schedule *s, int group, int ty, int tx,
                               struct mafat_box *boxes);

#endif
