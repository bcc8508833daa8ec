/* The memory that plans run in: one mapping for one executor, or for several, of which one
 * runs at a time; as large as the largest of them wants. Who uses it is named by a pointer
 * that is nothing else here. Locked inside. */
#ifndef MAFAT_RUNNER_ENGINE_ARENA_H
#define MAFAT_RUNNER_ENGINE_ARENA_H

#include "runner/os/lock.h"

/* mafat_arena_open and mafat_arena_close are in the public header. The arena lives until it
 * is closed and nobody uses it any more; its memory, as long as somebody does. */

/* One user more, who wants so many bytes, and maybe locked ones (lock NULL: no); `name` for messages. Where the
 * arena has to grow, what can be read in it is gone. Locked for one user, it is so for all, as long as it has any.
 * MAFAT_EINVAL: it had to grow, and somebody runs. MAFAT_ENOMEM; MAFAT_ELIMIT of the lock. */
int mafat_arena_join(struct mafat_arena *a, size_t bytes, struct mafat_lock *lock, const char *name,
                     struct mafat_diagnostic *d);
/* One less: `user` will not come back. */
void mafat_arena_leave(struct mafat_arena *a, const void *user);

/* Around a run: where the memory is. MAFAT_EINVAL: another one runs. `good`: the user's output
 * lies there from now on. */
int mafat_arena_begin(struct mafat_arena *a, char **memory, const char *name, struct mafat_diagnostic *d);
void mafat_arena_end(struct mafat_arena *a, const void *user, bool good);

/* Of the user that runs, in one go: of the first `bytes` all pages that are not there yet, if that may be and they are not so many that
 * a run's time hides what they take one by one (4 MB; 2 us each in a virtual machine). */
void mafat_arena_populate(struct mafat_arena *a, size_t bytes);

/* Of the user's, no output lies there any more. */
void mafat_arena_drop(struct mafat_arena *a, const void *user);

/* Where it is, for a user who is going to write there before his run: no output of another's lies there any more. */
void *mafat_arena_take(struct mafat_arena *a, const void *user);

/* Around reading: false where no output of the user lies there; else nobody begins to run, and
 * nothing moves, before unhold. */
bool mafat_arena_hold(struct mafat_arena *a, const void *user, char **memory);
void mafat_arena_unhold(struct mafat_arena *a);

/* Gives the pages back, unless somebody runs. With a user: unless another's output is there. */
void mafat_arena_forget(struct mafat_arena *a, const void *user);
/* The same of so many bytes outside of [begin, end), or of all there are, for what the next run
 * needs before it comes to them: what can be read there is gone. */
void mafat_arena_make_room(struct mafat_arena *a, size_t begin, size_t end, size_t bytes);

/* Of the mapping: all or none. */
size_t mafat_arena_locked_bytes(struct mafat_arena *a);
/* Of the mapping, and how much of it has pages. */
size_t mafat_arena_bytes(struct mafat_arena *a, size_t *resident_bytes);
/* Where it is now. */
const void *mafat_arena_memory(struct mafat_arena *a);

#endif
