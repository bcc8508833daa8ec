/* Implements --map: draws the arena of a plan as SVG. Each buffer is a box: its lifetime in steps
 * of the run to the right, its addresses upwards. Below the boxes are the live bytes at each time,
 * and to the right is a list of the buffers at the peak. Allocates and writes a file. Included by
 * programs/mafat_serve/work.c and programs/run_inference. */
#ifndef MAFAT_PROGRAM_MAP_H
#define MAFAT_PROGRAM_MAP_H

#include "programs/run_inference/plan_report.h"

/* Writes the picture to a temporary file and renames it; a path that is no regular file is written
 * directly. Returns MAFAT_OK, MAFAT_EIO (it cannot be created or written) or MAFAT_ENOMEM. */
int mafat_map_write(const char *path, const struct mafat_report_request *q,
                    const struct mafat_plan_report *a, struct mafat_diagnostic *d);

/* ---- what is drawn ---- */

/* Tags in the order of reports and stacks. */
enum mafat_map_tag {
  MAFAT_MAP_ACTIVATIONS, MAFAT_MAP_INPUT, MAFAT_MAP_SCRATCH, MAFAT_MAP_WEIGHTS, MAFAT_MAP_IO,
  MAFAT_MAP_TAGS
};

/* A column of the picture: a step of one layer or of several that run at the same position, with
 * the layers fused into them. */
struct mafat_map_step {
  int layer;    /* first layer of the step */
  int group;    /* group in which it runs */
  int position; /* position in the plan's order; positions without a step are not drawn */
  int more;     /* number of other layers in it */
};

struct mafat_map {
  const struct mafat_report_request *request;
  const struct mafat_plan_report *report;
  struct mafat_plan_facts plan;
  struct mafat_arena_facts arena;
  struct mafat_buffer_facts *buffers; /* (arena.n_buffers) */
  struct mafat_map_step *steps;       /* (n_steps) */
  int n_steps;                        /* at least 1 */
  /* [position]: index of the position's step, or of the next step; n_steps after the last step */
  int *columns;
  size_t (*alive)[MAFAT_MAP_TAGS];    /* [time]: live bytes of each tag */
  int peak_begin,
      peak_end; /* all buffers of the peak are live at the times peak_begin to peak_end - 1 */
};

/* Collects what is drawn. *map: all zeros on entry; the caller closes it, even after a failure.
 * Returns MAFAT_OK, MAFAT_ENOMEM or an error of the report. */
int mafat_map_find(struct mafat_map *map, const struct mafat_report_request *q,
                   const struct mafat_plan_report *a);
void mafat_map_close(struct mafat_map *map);

const char *mafat_map_tag_name(int tag); /* "activations" */
int mafat_map_tag_of(const struct mafat_buffer_facts *buffer);
size_t mafat_map_alive(const struct mafat_map *map, int time); /* live bytes of all tags */
/* Returns the x position at which a time begins, in widths of a step. Each position has two times:
 * in the first, the step's input is transformed; in the second, the step itself runs. */
double mafat_map_begin(const struct mafat_map *map, int time);
/* Index of the step at a time. */
int mafat_map_step_at(const struct mafat_map *map, int time);
static inline bool mafat_map_is_at_peak(const struct mafat_map *map,
                                        const struct mafat_buffer_facts *b)
{
  return b->first <= map->arena.peak_time && map->arena.peak_time <= b->last;
}

void mafat_map_draw(const struct mafat_map *map, struct mafat_writer *w);

#endif
