/* Simulates all ranks of a plan together, to predict their costs (rank_latency.h). Called by
 * api/rank_choice.c. Allocates from the plans' heap, and frees all of it. */
#include "predictor/cost/rank_latency.h"

#include "predictor/cost/work.h"
#include "predictor/ranks/rank_parts.h"

#include <math.h>

/* State of one rank. */
struct runner {
  const struct mafat_plan *plan;
  struct mafat_schedule *schedule;
  struct mafat_work_context context;
  struct mafat_step step; /* next step, if has_step */
  bool has_step;
  double speed;        /* of the rank's machine, relative to the calibrated one */
  /* the rank's current time and the end of its last transmission, in nanoseconds */
  double now, sending;
  struct mafat_rank_costs *costs;
};

struct rank_walk {
  const struct mafat_network *network;
  const struct mafat_calibration *calibration;
  const struct mafat_rank_wire *wire;
  struct runner *runners;
  double *there; /* [message]: arrival of the message in nanoseconds; negative: not sent yet */
  int n_ranks;
};

uint64_t mafat_rank_part_bytes(const struct mafat_network *n, const struct mafat_layer_part *part)
{
  bool integers = part->sums && mafat_layer_sums_integers(&n->layers[part->layer]);
  uint64_t bytes = 0;
  if (integers) return mafat_rank_part_values(n, part, 0) * sizeof(int32_t);
  for (int k = 0; k < mafat_layer_n_outputs(&n->layers[part->layer]); k++)
    bytes +=
        mafat_dtype_bytes(mafat_network_tensor_type(n, mafat_network_output(n, part->layer, k)),
                          mafat_rank_part_values(n, part, k));
  return bytes;
}

static void send(struct rank_walk *w, struct runner *r, const struct mafat_layer_part *part)
{
  uint64_t bytes = mafat_rank_part_bytes(w->network, part);
  r->sending = fmax(r->sending, r->now) + (double)bytes * 8e9 / w->wire->bits_per_second;
  w->there[part->message] = r->sending + w->wire->seconds * 1e9;
  r->costs->sent_bytes += bytes;
  r->costs->n_messages++;
}

/* Returns false if the message has not been sent yet. */
static bool receive(struct rank_walk *w, struct runner *r, const struct mafat_layer_part *part)
{
  double there = w->there[part->message];
  if (there < 0) return false;
  if (there > r->now) {
    r->costs->waiting_ms += (there - r->now) * 1e-6;
    r->now = there;
  }
  r->costs->received_bytes += mafat_rank_part_bytes(w->network, part);
  return true;
}

/* Executes the rank's current step. Returns false if it has to wait for a message. */
static bool take(struct rank_walk *w, struct runner *r)
{
  const struct mafat_layer_part *part =
      r->step.part < 0 ? NULL : &r->plan->parts->list[r->step.part];
  struct mafat_work work = {{0}};
  if (r->step.kind == MAFAT_STEP_RECEIVE) return receive(w, r, part);
  if (r->step.kind == MAFAT_STEP_SEND) send(w, r, part);
  if (mafat_step_exchanges(&r->step)) return true;
  mafat_work_add_step(&r->context, &r->step, &work);
  double ns = mafat_work_ns(&work, w->calibration, r->plan->n_threads) / r->speed;
  r->costs->compute_ms += ns * 1e-6;
  r->now += ns;
  return true;
}

/* Runs each rank until it waits, again and again, until no rank proceeds. */
static void walk(struct rank_walk *w)
{
  for (bool moved = true; moved;) {
    moved = false;
    for (struct runner *r = w->runners; r < w->runners + w->n_ranks; r++)
      while (r->has_step && take(w, r)) {
        r->has_step = mafat_schedule_next(r->schedule, &r->step);
        moved = true;
      }
  }
  for (struct runner *r = w->runners; r < w->runners + w->n_ranks; r++)
    r->costs->total_ms = r->now * 1e-6;
}

static int open_walk(struct rank_walk *w, struct mafat_plan *const *plans,
                     struct mafat_layout *const *layouts, const double *speeds,
                     struct mafat_rank_costs *costs)
{
  struct mafat_heap *heap = plans[0]->heap;
  int n_messages = 0;
  w->runners = mafat_heap_calloc(heap, (size_t)w->n_ranks, sizeof *w->runners);
  if (!w->runners) return MAFAT_ENOMEM;
  for (int i = 0; i < w->n_ranks; i++) {
    struct runner *r = &w->runners[i];
    r->plan = plans[i];
    r->speed = speeds ? speeds[i] : 1;
    r->costs = &costs[i];
    *r->costs = (struct mafat_rank_costs){.arena_bytes = layouts[i]->total_bytes,
                                          .kept_bytes = layouts[i]->kept_bytes};
    int code = mafat_schedule_open(&r->schedule, w->network, plans[i]);
    if (code) return code;
    mafat_work_open(&r->context, w->network, plans[i], layouts[i], w->calibration);
    mafat_schedule_rewind(r->schedule);
    r->has_step = mafat_schedule_next(r->schedule, &r->step);
    for (int p = 0; p < plans[i]->parts->n; p++)
      if (plans[i]->parts->list[p].message >= n_messages)
        n_messages = plans[i]->parts->list[p].message + 1;
  }
  w->there = mafat_heap_calloc(heap, (size_t)n_messages + 1, sizeof *w->there);
  for (int m = 0; m < n_messages && w->there; m++) w->there[m] = -1;
  return w->there ? MAFAT_OK : MAFAT_ENOMEM;
}

int mafat_rank_latency(struct mafat_rank_costs *costs, struct mafat_plan *const *plans,
                       struct mafat_layout *const *layouts, int n_ranks,
                       const struct mafat_network *n, const struct mafat_calibration *calibration,
                       const struct mafat_rank_wire *wire, const double *speeds)
{
  struct rank_walk w = {.network = n, .calibration = calibration, .wire = wire, .n_ranks = n_ranks};
  int code = open_walk(&w, plans, layouts, speeds, costs);
  if (code == MAFAT_OK) walk(&w);
  for (int i = 0; i < n_ranks && w.runners; i++) mafat_schedule_close(&w.runners[i].schedule);
  mafat_heap_free(plans[0]->heap, w.runners);
  mafat_heap_free(plans[0]->heap, w.there);
  return code;
}
