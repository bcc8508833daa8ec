/* A team of threads that compute one step together. They are created once and woken for each step.
 * All call the same function, whose work is divided into units. Each worker begins with its own
 * share of the units, the same in every step, so that its cache still holds what it wrote. Then it
 * takes units of others. The caller's thread is worker 0. Opening allocates and starts threads;
 * steps only lock. Included by runner/engine/kinds/kind.h. */
#ifndef MAFAT_RUNNER_ENGINE_TEAM_H
#define MAFAT_RUNNER_ENGINE_TEAM_H

#include "base/error.h"

struct mafat_team;

enum {
  MAFAT_TEAM_MOST = 64, /* workers */
  MAFAT_TEAM_STACK_BYTES = 256 << 10 /* mapped for each thread; few pages are touched */
};

/* n_workers >= 1 includes the caller. MAFAT_ENOMEM if the system refuses a thread. */
int mafat_team_open(struct mafat_team **out, int n_workers, struct mafat_diagnostic *d);
void mafat_team_close(struct mafat_team **team);

int mafat_team_size(const struct mafat_team *team);

/* False in a child of fork(), where the threads do not exist: nothing can run, and closing waits
 * for none. */
bool mafat_team_is_here(const struct mafat_team *team);

/* Calls work(context, worker) on the caller's thread as worker 0, and on the other threads that
 * wake before it returns. Returns when all of these have returned. Other threads never run this
 * call, so `work` must get its share by mafat_team_take. Writes of one call are visible in the
 * next. */
void mafat_team_run(struct mafat_team *team, void (*work)(void *context, int worker),
                    void *context);

/* Called by the calling thread before and after a sequence of calls: if there is a processor for
 * each worker, pins the caller to the one that the others leave free, and unpins it. */
void mafat_team_gather(struct mafat_team *team);
void mafat_team_disperse(struct mafat_team *team);

/* Called inside `work`. Returns the next of n units that is not taken, from the worker's share
 * first, then from others'; -1 if none is left. */
int mafat_team_take(struct mafat_team *team, int worker, int n);

/* A unit, or one of the equal parts into which it is divided. */
struct mafat_team_part {
  int unit, part, n_parts;
};

/* Like mafat_team_take, but the last unit of each share is divided into `parts` if there are
 * several workers. A worker that has finished then waits for one part at most. False if none is
 * left. */
bool mafat_team_take_part(struct mafat_team *team, int worker, int n, int parts,
                          struct mafat_team_part *taken);

#endif
