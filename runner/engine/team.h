/* Threads that run one step together: POSIX threads, made once, woken for each
 * step. All of them call the same function; what it does is divided into units.
 * Each worker begins with its own share of them, the same part of every step, so
 * that it finds in its cache what it wrote before; who is done takes from the
 * others, so a thread that the system holds up does less. The caller's thread is
 * worker 0. */
#ifndef MAFAT_RUNNER_ENGINE_TEAM_H
#define MAFAT_RUNNER_ENGINE_TEAM_H

#include "base/error.h"

struct mafat_team;

enum {
  MAFAT_TEAM_MOST = 64,
  MAFAT_TEAM_STACK_BYTES = 256 << 10 /* mapped for each thread; a few pages are touched */
};

/* n_workers >= 1, the caller included. MAFAT_ENOMEM when the system refuses a
 * thread. */
int mafat_team_open(struct mafat_team **out, int n_workers, struct mafat_diagnostic *d);
void mafat_team_close(struct mafat_team **team);

int mafat_team_size(const struct mafat_team *team);

/* Is this the process that has the threads, if there are any? In a child of fork() nothing can be
 * run by them, and closing waits for none. */
bool mafat_team_is_here(const struct mafat_team *team);

/* Calls work(context, worker) on the caller's thread as worker 0 and on those of
 * the others that come in time, and returns when all of these have returned: a
 * thread that the system does not let run is not waited for, so `work` must take
 * what it does as units. Writes of one call are seen by the next. */
void mafat_team_run(struct mafat_team *team, void (*work)(void *context, int worker), void *context);

/* Around many calls in a row, by the thread that makes them: where there is a
 * processor for each worker, it keeps to the one that the others leave. */
void mafat_team_gather(struct mafat_team *team);
void mafat_team_disperse(struct mafat_team *team);

/* For use inside `work`. The next of n units that nobody has taken: of the
 * worker's share, then of the others'; -1 when all are taken. */
int mafat_team_take(struct mafat_team *team, int worker, int n);

/* A unit, or one of the equal parts that it comes in. */
struct mafat_team_part {
  int unit, part, n_parts;
};

/* The same, but with several workers the last unit of each one's share comes in so many parts: who is
 * done first waits for one of them at most. False when all are taken. */
bool mafat_team_take_part(struct mafat_team *team, int worker, int n, int parts, struct mafat_team_part *taken);

#endif
