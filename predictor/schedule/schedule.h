/* The steps of a run, in order. One generator per way of cutting; the layout
 * walks it dry to learn sizes and costs, the executor walks the same one to
 * compute. A schedule is an iterator: steps are made on the fly, never stored. */
#ifndef MAFAT_PREDICTOR_SCHEDULE_SCHEDULE_H
#define MAFAT_PREDICTOR_SCHEDULE_SCHEDULE_H

#include "predictor/plan/plan.h"
#include "predictor/plan/usage.h"

/* Compute channels [filters) of pixels `out` of a layer (and what is fused into
 * it: fusion.h) from input channels [channels). A direct convolution may get its input channels in several steps: the
 * first begins at 0, the last ends at in.c and finishes (scale, bias,
 * activation); in between the output tensor holds the raw sums. */
enum mafat_step_kind {
  MAFAT_STEP_COMPUTE,
  MAFAT_STEP_TRANSFORM, /* Winograd: the input of the following steps of this layer, into scratch */
  MAFAT_STEP_INPUT,     /* rows of an input, from its source */
  MAFAT_STEP_SEND,      /* a part to another rank, or sums of it (ranks/rank_parts.h): begun, */
  MAFAT_STEP_WAIT,      /* and over */
  MAFAT_STEP_RECEIVE    /* from another rank */
};

struct mafat_step {
  enum mafat_step_kind kind;
  int group, layer;      /* or the input */
  int part;              /* number of it in plan->parts; -1: of no split group */
  struct mafat_box out;  /* of the first output, as are the following; of others: kind.h, mafat_schedule_held */
  struct mafat_box held; /* pixels of the output its buffer holds after
                            this step; older rows may be overwritten */
  struct mafat_span held_channels; /* and channels of them, beginning at a block */
  struct mafat_span filters, channels;
};

/* Does it move what another rank has, or is to have? */
static inline bool mafat_step_exchanges(const struct mafat_step *step)
{
  return step->kind >= MAFAT_STEP_SEND;
}

/* Is it the first of what is divided, of a layer or of its part? What the others find is made then. */
bool mafat_step_begins(const struct mafat_plan *plan, const struct mafat_step *step);

/* The input channel at which its sums begin. */
int mafat_step_first_channel(const struct mafat_plan *plan, const struct mafat_step *step);

/* How long the buffers of a group's inner tensors live. */
enum mafat_lifetime {
  MAFAT_LIFE_ONCE,     /* each layer runs once: from its step to its last reader */
  MAFAT_LIFE_PER_TILE, /* the same within a tile; inputs and outputs live through all tiles */
  MAFAT_LIFE_PARTS,    /* from the step that makes a partition buffer to the last that reads it */
  MAFAT_LIFE_GROUP     /* layers take turns: everything lives through the group */
};

enum mafat_lifetime mafat_group_lifetime(const struct mafat_group *g);

/* A step that is handed out in parts, panels and slices of input channels: what is
 * done of it. */
struct mafat_division {
  struct mafat_step whole;
  bool going, transformed;
  int filter, channel;
};

struct mafat_schedule {
  struct mafat_heap *heap; /* the plan's, who may be gone when this is closed */
  const struct mafat_network *network;
  const struct mafat_plan *plan;
  struct mafat_usage *usage; /* [tensor] */
  int group;                 /* being run */
  bool begun;                /* its generator has begun it */
  int inputs_done;           /* of the network's: looked at whether they come as a whole, ahead of all groups */
  struct mafat_division division;
  void *states[MAFAT_N_CUTS]; /* [cut]: what its generator keeps, where groups are cut so; nobody else's */
};

/* What a way of cutting makes steps by. */
struct mafat_generator {
  int (*open)(void **state, const struct mafat_schedule *s); /* MAFAT_ENOMEM; closed even then */
  void (*close)(struct mafat_heap *heap, void *state);       /* NULL: nothing; of the plan's heap */
  void (*begin)(struct mafat_schedule *s);                   /* the group s->group, from its start */
  bool (*next)(struct mafat_schedule *s, struct mafat_step *step); /* its next step, false when it is done */
};

/* N x M tiles of the group's output, each computed depth-first (FTP, MAFAT: schedule_grid.c). */
extern const struct mafat_generator mafat_generator_grid;
/* Rolling windows of rows: nothing is computed twice (schedule_rows.c). */
extern const struct mafat_generator mafat_generator_rows;
/* The whole map, a panel of filters at a time (schedule_panels.c). */
extern const struct mafat_generator mafat_generator_panels;

/* Layers in parts, one after the other (schedule/schedule_parts.c). */
extern const struct mafat_generator mafat_generator_parts;

int mafat_schedule_open(struct mafat_schedule **out, const struct mafat_network *n,
                        const struct mafat_plan *plan);
void mafat_schedule_close(struct mafat_schedule **s);
void mafat_schedule_rewind(struct mafat_schedule *s);
/* The next step of the run, false at its end. Allocates nothing. */
bool mafat_schedule_next(struct mafat_schedule *s, struct mafat_step *step);

/* In a group of rows: the first row of a tensor that its layers still have to read; as many as there are, where none is. */
int mafat_schedule_first_row(const struct mafat_schedule *s, int tensor);

/* What the buffer of an output of the step's layer holds after the step: asked for before the next one. */
struct mafat_box mafat_schedule_held(const struct mafat_schedule *s, const struct mafat_step *step, int output);

/* Does the layer compute anything in this plan? */
static inline bool mafat_schedule_runs(const struct mafat_schedule *s, int layer)
{
  return s->usage[layer].needed && !mafat_layer_is_alias(&s->network->layers[layer]);
}

/* A step for a whole box of a layer or an input: all filters, all channels. */
struct mafat_step mafat_schedule_step(const struct mafat_schedule *s, int layer,
                                      struct mafat_box out, struct mafat_box held);

/* Begins to hand out `step`, which holds all filters and channels of a layer that
 * is divided (mafat_plan_divides), and its next part; false at its end. */
void mafat_schedule_divide(struct mafat_schedule *s, struct mafat_step step);
bool mafat_schedule_next_part(struct mafat_schedule *s, struct mafat_step *part);
/* Do more parts of the layer's step follow, as far as is known? */
static inline bool mafat_schedule_is_dividing(const struct mafat_schedule *s, int layer)
{
  return s->division.going && s->division.whole.layer == layer;
}
/* Behind the first part of a divided step: goes on behind the last. For walks that
 * know what the parts are; not of a panel fusion, whose readers take part in it. */
void mafat_schedule_skip_parts(struct mafat_schedule *s);

/* Grows back through group number `group`, a grid: boxes[l] for every layer of it, given what
 * boxes of its external tensors tile (ty, tx) has to produce. */
void mafat_schedule_tile_boxes(const struct mafat_schedule *s, int group, int ty, int tx, struct mafat_box *boxes);

#endif
