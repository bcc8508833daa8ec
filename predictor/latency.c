#include "predictor/latency.h"

#include "predictor/fetches.h"
#include "predictor/work.h"

/* A read that was begun: as in runner/stream.c. */
struct read {
  struct mafat_fetch fetch;
  double window; /* bytes of the ring */
  double done;   /* when it is there */
};

enum { DEPTH = 64 }; /* reads under way */

/* Processor and disk, and what lies between them. Times are nanoseconds of the run. */
struct pipeline {
  const struct mafat_calibration *calibration;
  struct mafat_fetches *fetches;
  struct mafat_fetch next; /* to be read */
  bool has_next, begun;
  double ring_bytes, used;
  struct read reads[DEPTH]; /* round: `n` from `first` on, the first n_taken of them taken */
  unsigned first, n, n_taken;
  double now, disk_free; /* of the processor; when the disk has nothing to do */
  double waiting, reading;
  bool packed;
};

static void submit(struct pipeline *p)
{
  const struct mafat_calibration *c = p->calibration;
  while (p->has_next && p->n < DEPTH) {
    double window = (double)mafat_fetch_window(p->next.bytes);
    if (p->n > 0 && p->used + window > p->ring_bytes) return;
    double bytes = (double)p->next.bytes * c->disk_ns;
    bool idle = p->disk_free <= p->now;
    double begin = idle ? p->now + c->disk_wait_ns : p->disk_free;
    p->reads[(p->first + p->n++) % DEPTH] = (struct read){p->next, window, begin + bytes};
    p->disk_free = begin + bytes;
    p->reading += bytes;
    p->now += c->read_ns;
    p->used += window;
    p->has_next = mafat_fetches_next(p->fetches, &p->next);
  }
}

static void free_taken(struct pipeline *p)
{
  for (; p->n_taken > 0; p->n_taken--, p->n--) {
    p->used -= p->reads[p->first].window;
    p->first = (p->first + 1) % DEPTH;
  }
}

/* What step `number` needs, if the next read is for it. */
static bool take(struct pipeline *p, long long number)
{
  if (p->n_taken == p->n && (!p->has_next || p->next.step != number)) return false;
  if (p->n_taken < p->n && p->reads[(p->first + p->n_taken) % DEPTH].fetch.step != number) return false;
  p->begun = true;
  submit(p);
  if (p->n_taken == p->n) return false; /* cannot be: the ring holds what a step needs */
  const struct mafat_calibration *c = p->calibration;
  const struct read *r = &p->reads[(p->first + p->n_taken++) % DEPTH];
  if (r->done > p->now) {
    p->waiting += r->done - p->now;
    p->now = r->done;
  }
  if (r->fetch.kind == MAFAT_FETCH_SLICE) return true;
  p->now += (double)r->fetch.bytes * (p->packed ? c->copy_ns : c->pack_ns);
  free_taken(p);
  return true;
}

static double step_ns(const struct mafat_calibration *c, const struct mafat_plan *plan, const struct mafat_work *w)
{
  double ns = plan->n_threads > 1 ? c->thread_step_ns : 0;
  for (int t = 0; t < MAFAT_N_TERMS; t++) ns += w->n[t] * c->ns[t];
  return ns;
}

int mafat_latency_predict(struct mafat_latency *out, const struct mafat_network *n, const struct mafat_plan *plan,
                          const struct mafat_layout *layout, const struct mafat_calibration *calibration)
{
  struct pipeline p = {.calibration = calibration, .packed = plan->packed};
  struct mafat_work_context context;
  struct mafat_schedule *schedule = NULL;
  struct mafat_step step;
  double compute = 0;
  int code = mafat_schedule_open(&schedule, n, plan);
  if (code == MAFAT_OK && layout->ring_buffer >= 0) code = mafat_fetches_open(&p.fetches, n, plan);
  if (code == MAFAT_OK) {
    if (p.fetches) {
      p.ring_bytes = (double)layout->buffers[layout->ring_buffer].bytes - MAFAT_FETCH_ALIGNMENT;
      p.has_next = mafat_fetches_next(p.fetches, &p.next);
    }
    mafat_work_open(&context, n, plan, layout, calibration);
    mafat_schedule_rewind(schedule);
    for (long long number = 0; mafat_schedule_next(schedule, &step); number++) {
      struct mafat_work work = {{0}};
      while (take(&p, number)) {}
      if (p.begun) submit(&p);
      mafat_work_add_step(&context, &step, &work);
      double ns = step_ns(calibration, plan, &work);
      compute += ns;
      p.now += ns;
      free_taken(&p);
      if (p.begun) submit(&p);
    }
    *out = (struct mafat_latency){p.now * 1e-6, compute * 1e-6, p.reading * 1e-6, p.waiting * 1e-6};
  }
  mafat_schedule_close(&schedule);
  mafat_fetches_close(&p.fetches);
  return code;
}
