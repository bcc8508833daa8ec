/* A team of threads (workers) that compute one step together. They are created once and woken for
 * each step. All call the same function, whose work is divided into units. Each worker begins with
 * its own share of the units, the same in every step, so that its cache still holds the data that
 * it wrote. Then it takes units of others' shares. The caller's thread is worker 0. Opening
 * allocates and starts threads; closing ends and frees them; a step allocates nothing. Included by
 * runner/engine/kinds/kind.h, and so by all files that include it. */
#ifndef MAFAT_RUNNER_ENGINE_TEAM_H
#define MAFAT_RUNNER_ENGINE_TEAM_H

#include "base/error.h"

struct mafat_team;

enum {
  MAFAT_TEAM_MOST = 64, /* most workers of a team */
  MAFAT_TEAM_STACK_BYTES = 256 << 10 /* mapped for each thread; few pages are touched */
};

/* n_workers, 1 to MAFAT_TEAM_MOST, includes the caller. MAFAT_ENOMEM: out of memory, or the system
 * refuses a thread. */
int mafat_team_open(struct mafat_team **out, int n_workers, struct mafat_diagnostic *d);
void mafat_team_close(struct mafat_team **team);

int mafat_team_size(const struct mafat_team *team);

/* False in a child of fork() if the team has threads, because they do not exist there: the team
 * cannot run, and closing does not wait for threads. */
bool mafat_team_is_here(const struct mafat_team *team);

/* Calls work(context, worker) on the caller's thread as worker 0, and on those other threads that
 * wake before worker 0 has returned. Returns when all these calls have returned. A thread that
 * wakes later does not run `work` for this call, so `work` must get its units by mafat_team_take.
 * Memory that `work` writes is visible to all workers in the next call. */
void mafat_team_run(struct mafat_team *team, void (*work)(void *context, int worker),
                    void *context);

/* Called before and after a sequence of calls of mafat_team_run, on the same thread. If there are
 * exactly as many processors as workers, mafat_team_gather binds this thread to the processor that
 * the other threads do not use, and mafat_team_disperse restores its affinity. Else no effect. */
void mafat_team_gather(struct mafat_team *team);
void mafat_team_disperse(struct mafat_team *team);

/* Called inside `work`. Takes one of n units that no worker has taken, first from the worker's own
 * share, then from those of others. Returns its number, 0 to n - 1, or -1 if none is left. */
int mafat_team_take(struct mafat_team *team, int worker, int n);

/* Part number `part`, from 0, of the n_parts equal parts of a unit. n_parts is 1 for a whole
 * unit. */
struct mafat_team_part {
  int unit, part, n_parts;
};

/* Takes a unit as mafat_team_take does. But if there are several workers, the last unit of each
 * share is divided into `parts`, which are taken one by one, so that a worker at the end waits for
 * one part at most. False: none is left. */
bool mafat_team_take_part(struct mafat_team *team, int worker, int n, int parts,
                          struct mafat_team_part *taken);

#endif
