/* Threads that run one step together. The POSIX threads are created once and woken for each step.
 * All call the same function, whose work is divided into units. Each worker begins with its own
 * share, the same in every step, so that its cache still has what it wrote. When done, it takes
 * units of others, so a thread delayed by the system does less. The caller's thread is worker 0.
 * Opening allocates and starts threads; steps only lock. Included by runner/engine/kinds/kind.h. */
#ifndef MAFAT_RUNNER_ENGINE_TEAM_H
#define MAFAT_RUNNER_ENGINE_TEAM_H

#include "base/error.h"

struct mafat_team;

enum {
  MAFAT_TEAM_MOST = 64,
  MAFAT_TEAM_STACK_BYTES = 256 << 10 /* mapped for each thread; few pages are touched */
};

/* n_workers >= 1 includes the caller. MAFAT_ENOMEM if the system refuses a thread. */
int mafat_team_open(struct mafat_team **out, int n_workers, struct mafat_diagnostic *d);
void mafat_team_close(struct mafat_team **team);

int mafat_team_size(const struct mafat_team *team);

/* False in a child of fork(), where the threads do not exist: nothing can run, and closing waits
 * for none. */
bool mafat_team_is_here(const struct mafat_team *team);

/* Calls work(context, worker) on the caller's thread as worker 0 and on other threads that wake in
 * time. Returns when all of these have returned. A thread that the system does not schedule is not
 * waited for, so `work` must take its work as units. Writes of one call are visible in the next. */
void mafat_team_run(struct mafat_team *team, void (*work)(void *context, int worker),
                    void *context);

/* Around a sequence of calls, by the calling thread: if there is a processor for each worker, the
 * caller is pinned to the one that the others leave free. */
void mafat_team_gather(struct mafat_team *team);
void mafat_team_disperse(struct mafat_team *team);

/* Inside `work`: next of n units that is not taken, from the worker's share, then from others'; -1
 * when none is left. */
int mafat_team_take(struct mafat_team *team, int worker, int n);

/* A unit, or one of the equal parts into which it is divided. */
struct mafat_team_part {
  int unit, part, n_parts;
};

/* Like mafat_team_take, but with several workers the last unit of each share is divided into
 * `parts`, so that a worker that is done waits for one part at most. False when none is left. */
bool mafat_team_take_part(struct mafat_team *team, int worker, int n, int parts,
                          struct mafat_team_part *taken);

#endif
