/* Implements --map: draws the arena of a plan. Buffers are boxes over the steps of a run (to the
 * right) and their addresses in the arena (upwards). Below are the live bytes at each time, beside
 * them the buffers at the peak. Allocates and writes a file. Included by
 * programs/mafat_serve/work.c and programs/run_inference. */
#ifndef MAFAT_PROGRAM_MAP_H
#define MAFAT_PROGRAM_MAP_H

#include "programs/run_inference/plan_report.h"

/* Into a file that is there when it is whole, or not at all; into what is no file as it comes.
 * MAFAT_EIO: it cannot be created or written; MAFAT_ENOMEM. */
int mafat_map_write(const char *path, const struct mafat_report_request *q,
                    const struct mafat_plan_report *a, struct mafat_diagnostic *d);

/* ---- what is drawn ---- */

/* Tags in the order of reports and stacks. */
enum mafat_map_tag {
  MAFAT_MAP_ACTIVATIONS, MAFAT_MAP_INPUT, MAFAT_MAP_SCRATCH, MAFAT_MAP_WEIGHTS, MAFAT_MAP_IO,
  MAFAT_MAP_TAGS
};

/* A step: a layer's, or a panel fusion's, with those that are computed inside. A time of which no
 * layer has its step is none. */
struct mafat_map_step {
  int layer;    /* the first of those whose step, or part, it is */
  int group;    /* that it is run in */
  int position; /* in the order of the run, with those of layers that have no step */
  int more;     /* other layers in it */
};

struct mafat_map {
  const struct mafat_report_request *request;
  const struct mafat_plan_report *report;
  struct mafat_plan_facts plan;
  struct mafat_arena_facts arena;
  struct mafat_buffer_facts *buffers; /* (arena.n_buffers) */
  struct mafat_map_step *steps;       /* (n_steps) */
  int n_steps;                        /* at least 1 */
  int *columns; /* [position]: its step, or that behind it; and what lies behind all */
  size_t (*alive)[MAFAT_MAP_TAGS];    /* [time]: bytes by tag */
  int peak_begin,
      peak_end; /* times: as long as what is alive at the peak is all there; end excluded */
};

/* All zeros, to begin with. MAFAT_ENOMEM; closing is the caller's in any case. */
int mafat_map_find(struct mafat_map *map, const struct mafat_report_request *q,
                   const struct mafat_plan_report *a);
void mafat_map_close(struct mafat_map *map);

const char *mafat_map_tag_name(int tag); /* "activations" */
int mafat_map_tag_of(const struct mafat_buffer_facts *buffer);
size_t mafat_map_alive(const struct mafat_map *map, int time); /* of all tags */
/* Start of a time, in steps; the second half of a step is its own, the first its input's
 * transform. */
double mafat_map_begin(const struct mafat_map *map, int time);
/* The step at a time, from 0 on. */
int mafat_map_step_at(const struct mafat_map *map, int time);
static inline bool mafat_map_is_at_peak(const struct mafat_map *map,
                                        const struct mafat_buffer_facts *b)
{
  return b->first <= map->arena.peak_time && map->arena.peak_time <= b->last;
}

void mafat_map_draw(const struct mafat_map *map, struct mafat_writer *w);

#endif
