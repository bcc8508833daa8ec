/* A schedule: an iterator over the steps of a run, in order. Steps are generated when they are
 * needed, and never stored; each way of dividing a group has its generator. The layout walks a
 * schedule to find sizes and costs, and the executor walks a schedule of the same steps to compute.
 * Used by predictor/, search/least/grouping.c, runner/engine and runner/weights. Allocates from the
 * plan's heap. */
#ifndef MAFAT_PREDICTOR_SCHEDULE_SCHEDULE_H
#define MAFAT_PREDICTOR_SCHEDULE_SCHEDULE_H

#include "predictor/plan/plan.h"
#include "predictor/plan/usage.h"

enum mafat_step_kind {
  /* Computes a layer, and the layers fused into it (fusion.h): the output channels `filters` of the
   * pixels `out`, from the input channels `channels`. A direct convolution may process its input
   * channels in several steps. The first step begins at channel 0. The last step ends with the last
   * channel and applies scale, bias and activation. Before that, the output tensor holds unfinished
   * sums. */
  MAFAT_STEP_COMPUTE,
  MAFAT_STEP_TRANSFORM, /* Winograd: transforms the input of the layer's next steps into scratch */
  MAFAT_STEP_INPUT,     /* gets rows of an input of the network from the input's source */
  MAFAT_STEP_SEND,      /* begins to send a part, or its sums, to another rank
                           (ranks/rank_parts.h) */
  MAFAT_STEP_WAIT,      /* waits until a part, or its sums, is sent */
  MAFAT_STEP_RECEIVE    /* receives a part, or its sums, from another rank */
};

struct mafat_step {
  enum mafat_step_kind kind;
  int group, layer;      /* number of the group; number of the layer or input */
  int part;              /* index in plan->parts->list; -1: the group has no parts */
  /* The boxes and channels are those of the layer's first output. For other outputs see
   * network/kind.h (mafat_layer_out_box) and mafat_schedule_held. */
  struct mafat_box out;  /* pixels that the step computes */
  struct mafat_box held; /* pixels in the output's buffer after this step; older rows may be
                            overwritten */
  struct mafat_span held_channels; /* channels in the output's buffer; the range begins at a channel
                                      block */
  struct mafat_span filters, channels; /* output and input channels of the step */
};

/* True if the step sends or receives. */
static inline bool mafat_step_exchanges(const struct mafat_step *step)
{
  return step->kind >= MAFAT_STEP_SEND;
}

/* True if the step is the first of the steps into which a layer or part is divided. */
bool mafat_step_begins(const struct mafat_plan *plan, const struct mafat_step *step);

/* First input channel of the sums that the step computes or continues: 0, unless its part sums
 * apart from others (partition.h: apart). */
int mafat_step_first_channel(const struct mafat_plan *plan, const struct mafat_step *step);

/* Lifetime of the buffers of tensors that only one group uses. */
enum mafat_lifetime {
  MAFAT_LIFE_ONCE,     /* from the only step of the tensor's layer to the step of its last reader */
  MAFAT_LIFE_PER_TILE, /* in each tile, from the layer's step to that of the last reader */
  MAFAT_LIFE_PARTS,    /* of a partition buffer: from the step that writes it to the last step that
                          reads it */
  MAFAT_LIFE_GROUP     /* the whole group, because the steps of its layers alternate */
};

enum mafat_lifetime mafat_group_lifetime(const struct mafat_group *g);

/* State of dividing a step into several steps: panels of filters, and slices of input channels. */
struct mafat_division {
  struct mafat_step whole;
  bool going;          /* more steps of `whole` may follow */
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
  int inputs_done;           /* number of the network's inputs for which next_whole_input
                                (schedule.c) has issued a step, or which need none */
  struct mafat_division division;
  void *states[MAFAT_N_CUTS]; /* [cut]: private state of each generator */
};

/* Generates the steps of one way of dividing a group. */
struct mafat_generator {
  /* allocates the generator's state in the plan's heap; MAFAT_ENOMEM: the caller closes *state even
   * then */
  int (*open)(void **state, const struct mafat_schedule *s);
  void (*close)(struct mafat_heap *heap, void *state);
  void (*begin)(struct mafat_schedule *s);                   /* starts group s->group */
  /* returns the next step of the group; false at its end */
  bool (*next)(struct mafat_schedule *s, struct mafat_step *step);
};

/* Tiles of the group's output: all layers of one tile, then all layers of the next tile
 * (schedule_grid.c). */
extern const struct mafat_generator mafat_generator_grid;
/* Rolling windows of rows; nothing is computed twice (schedule_rows.c). */
extern const struct mafat_generator mafat_generator_rows;
/* Whole maps, one panel of filters at a time (schedule_panels.c). */
extern const struct mafat_generator mafat_generator_panels;

/* Parts of layers, one after the other (schedule_parts.c). */
extern const struct mafat_generator mafat_generator_parts;

/* Opens a schedule, which begins at the first step. MAFAT_ENOMEM. */
int mafat_schedule_open(struct mafat_schedule **out, const struct mafat_network *n,
                        const struct mafat_plan *plan);
void mafat_schedule_close(struct mafat_schedule **s);
/* Starts again at the first step. */
void mafat_schedule_rewind(struct mafat_schedule *s);
/* Returns the next step of the run; false at its end. Allocates nothing. */
bool mafat_schedule_next(struct mafat_schedule *s, struct mafat_step *step);

/* In a group by rows: first row of a tensor that layers of the current group still have to read;
 * the tensor's number of rows if they have read all. */
int mafat_schedule_first_row(const struct mafat_schedule *s, int tensor);

/* Pixels in the buffer of output number `output` after the step. `step` must be the last one that
 * mafat_schedule_next has returned. */
struct mafat_box mafat_schedule_held(const struct mafat_schedule *s, const struct mafat_step *step,
                                     int output);

/* True if the layer computes something in this plan. */
static inline bool mafat_schedule_runs(const struct mafat_schedule *s, int layer)
{
  return s->usage[layer].needed && !mafat_layer_is_alias(&s->network->layers[layer]);
}

/* Returns the step that computes box `out` of a layer, or gets it from an input of the network, for
 * all filters and channels. held: as in struct mafat_step. */
struct mafat_step mafat_schedule_step(const struct mafat_schedule *s, int layer,
                                      struct mafat_box out, struct mafat_box held);

/* mafat_schedule_divide begins to issue `step`, of a layer that is divided into panels
 * (mafat_plan_divides), as several steps, which are called its parts here.
 * mafat_schedule_next_part returns the next of them; false at the end. */
void mafat_schedule_divide(struct mafat_schedule *s, struct mafat_step step);
bool mafat_schedule_next_part(struct mafat_schedule *s, struct mafat_step *part);
/* True if more parts of the layer's step may follow. */
static inline bool mafat_schedule_is_dividing(const struct mafat_schedule *s, int layer)
{
  return s->division.going && s->division.whole.layer == layer;
}
/* Skips all parts of a divided step after its first one. Not for a panel fusion, because its
 * readers run between the parts. */
void mafat_schedule_skip_parts(struct mafat_schedule *s);

/* Fills boxes[layer] for every layer of group number `group`, which must be a grid: the box of the
 * layer's output that the tile in row ty and column tx computes; empty if it does not compute the
 * layer. */
void mafat_schedule_tile_boxes(const struct mafat_schedule *s, int group, int ty, int tx,
                               struct mafat_box *boxes);

#endif
