/* Predicts the milliseconds of a plan by walking over its schedule without running it. Called by
 * api/choose.c, the searches (search/best, search/common, search/motes),
 * predictor/transfers/prices.c and runner/calibrate. Allocates a schedule and a list of fetches
 * from the plan's heap, and frees both. */
#include "predictor/cost/latency.h"

#include "predictor/schedule/fetches.h"
#include "predictor/cost/work.h"

#include <string.h>

/* A read of weights into the ring buffer, as in runner/weights/stream.c. */
struct read {
  struct mafat_fetch fetch;
  double window; /* bytes occupied in the ring */
  double done;   /* time at which the read ends */
};

/* Simulates a processor and a disk, with the ring buffer of weights between them. Times are
 * nanoseconds since the run began. */
struct read_pipeline {
  const struct mafat_calibration *calibration;
  struct mafat_fetches *fetches;
  struct mafat_fetch next;      /* next read to submit, if has_next */
  bool has_next, begun;         /* begun: a step has needed weights; now the ring is kept full */
  double ring_bytes, used;      /* the ring's size, and its bytes in use */
  /* circular: n reads from index `first` on; the current step uses the first n_taken of them */
  struct read reads[MAFAT_READS_DEPTH];
  unsigned first, n, n_taken;
  double now, disk_free;        /* processor's time; end of the disk's last read */
  double waiting, reading;      /* sums for struct mafat_latency */
  bool packed;                  /* weights are in kernel order */
};

/* Latency of a read besides its transfer: the whole latency if the read is alone in the ring, zero
 * if there are ENOUGH reads to keep the disk busy. In between it falls about linearly with the
 * number of reads in the ring, as measured. */
static double wait_ns(const struct read_pipeline *p)
{
  enum { ENOUGH = 8 };
  int in_ring = (int)(p->n - p->n_taken) + 1;
  return in_ring >= ENOUGH ? 0 : p->calibration->disk_wait_ns * (ENOUGH - in_ring) / (ENOUGH - 1);
}

/* Submits reads as long as the ring has space. */
static void submit(struct read_pipeline *p)
{
  const struct mafat_calibration *c = p->calibration;
  while (p->has_next && p->n < MAFAT_READS_DEPTH) {
    double window = (double)mafat_fetch_window(p->next.bytes);
    if (p->n > 0 && p->used + window > p->ring_bytes) return;
    double bytes = (double)p->next.bytes * c->disk_ns;
    double begin = (p->disk_free > p->now ? p->disk_free : p->now) + wait_ns(p);
    p->reads[(p->first + p->n++) % MAFAT_READS_DEPTH] =
        (struct read){p->next, window, begin + bytes};
    p->disk_free = begin + bytes;
    p->reading += bytes;
    p->now += c->read_ns;
    p->used += window;
    p->has_next = mafat_fetches_next(p->fetches, &p->next);
  }
}

/* Frees the ring's space of the reads that the current step used. */
static void free_taken(struct read_pipeline *p)
{
  for (; p->n_taken > 0; p->n_taken--, p->n--) {
    p->used -= p->reads[p->first].window;
    p->first = (p->first + 1) % MAFAT_READS_DEPTH;
  }
}

/* Waits for the next read and returns true, if step `number` needs it. */
static bool take(struct read_pipeline *p, long long number)
{
  if (p->n_taken == p->n && (!p->has_next || p->next.step != number)) return false;
  if (p->n_taken < p->n &&
      p->reads[(p->first + p->n_taken) % MAFAT_READS_DEPTH].fetch.step != number)
    return false;
  p->begun = true;
  submit(p);
  if (p->n_taken == p->n) return false; /* cannot happen: the ring holds all reads of a step */
  const struct mafat_calibration *c = p->calibration;
  const struct read *r = &p->reads[(p->first + p->n_taken++) % MAFAT_READS_DEPTH];
  if (r->done > p->now) {
    p->waiting += r->done - p->now;
    p->now = r->done;
  }
  if (r->fetch.kind == MAFAT_FETCH_SLICE) return true;
  p->now += (double)r->fetch.bytes * (p->packed ? c->copy_ns : c->pack_ns);
  free_taken(p);
  return true;
}

int mafat_latency_predict(struct mafat_latency *out, const struct mafat_network *n,
                          const struct mafat_plan *plan, const struct mafat_layout *layout,
                          const struct mafat_calibration *calibration)
{
  struct read_pipeline p = {.calibration = calibration, .packed = plan->packed};
  struct mafat_work_context context;
  struct mafat_schedule *schedule = NULL;
  struct mafat_step step;
  double compute = 0;
  int code = mafat_schedule_open(&schedule, n, plan);
  if (code == MAFAT_OK && layout->ring_buffer >= 0)
    code = mafat_fetches_open(&p.fetches, n, plan, NULL);
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
      double ns = mafat_work_ns(&work, calibration, plan->n_threads);
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

int mafat_latency_of_layers(double *ms, const struct mafat_network *n,
                            const struct mafat_plan *plan, const struct mafat_layout *layout,
                            const struct mafat_calibration *c)
{
  struct mafat_work_context context;
  struct mafat_schedule *schedule = NULL;
  struct mafat_step step;
  int code = mafat_schedule_open(&schedule, n, plan);
  if (code) return code;
  memset(ms, 0, (size_t)plan->n_layers * sizeof *ms);
  mafat_work_open(&context, n, plan, layout, c);
  mafat_schedule_rewind(schedule);
  while (mafat_schedule_next(schedule, &step)) {
    struct mafat_work work = {{0}};
    if (step.kind == MAFAT_STEP_INPUT) continue;
    mafat_work_add_step(&context, &step, &work);
    ms[step.layer] += mafat_work_ns(&work, c, plan->n_threads) * 1e-6;
  }
  mafat_schedule_close(&schedule);
  return MAFAT_OK;
}
