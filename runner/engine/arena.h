/* An arena is the memory mapping in which plans run. One executor owns it, or several share it and
 * run one at a time. It is as large as its largest user needs. Its users are executors; `user` is
 * only compared as a pointer. All functions lock the arena's mutex. Included by api/footprint.h and
 * executor.h. */
#ifndef MAFAT_RUNNER_ENGINE_ARENA_H
#define MAFAT_RUNNER_ENGINE_ARENA_H

#include "runner/os/lock.h"

/* mafat_arena_open and mafat_arena_close are in the public header. The arena is freed when it is
 * closed and has no users; its memory is mapped only while it has users. */

/* Adds a user that needs `bytes`; `name` is for messages. If the mapping has to grow, its contents
 * are lost. With a lock, all of the mapping is locked in memory, for all users. MAFAT_EINVAL: it
 * would grow while a user runs. MAFAT_ENOMEM: it cannot be mapped. MAFAT_ELIMIT: it cannot be
 * locked. */
int mafat_arena_join(struct mafat_arena *a, size_t bytes, struct mafat_lock *lock, const char *name,
                     struct mafat_diagnostic *d);
/* Removes a user. */
void mafat_arena_leave(struct mafat_arena *a, const void *user);

/* Begin and end a run; *memory is the mapping. MAFAT_EINVAL: another user runs. With `good`, the
 * user's output is valid afterwards. */
int mafat_arena_begin(struct mafat_arena *a, char **memory, const char *name,
                      struct mafat_diagnostic *d);
void mafat_arena_end(struct mafat_arena *a, const void *user, bool good);

/* For the user that runs: populates the missing pages of the first `bytes` in one call, if
 * permitted and at most 16 MB: a single fault costs 2 us in a virtual machine, but a run cannot be
 * canceled meanwhile. */
void mafat_arena_populate(struct mafat_arena *a, size_t bytes);
/* The same for the whole pages of a part; others may still be missing. */
void mafat_arena_populate_part(struct mafat_arena *a, size_t begin, size_t bytes);

/* Invalidates the user's output. */
void mafat_arena_drop(struct mafat_arena *a, const void *user);

/* Returns the mapping to a user that writes before its run; invalidates outputs of others. */
void *mafat_arena_take(struct mafat_arena *a, const void *user);

/* Around reading an output: false if the user has no valid output. Else no run begins, and the
 * mapping does not move, until unhold. */
bool mafat_arena_hold(struct mafat_arena *a, const void *user, char **memory);
void mafat_arena_unhold(struct mafat_arena *a);

/* Returns all pages to the system, unless a user runs. If `user` is not NULL, also keeps them if
 * another user's output is valid. */
void mafat_arena_forget(struct mafat_arena *a, const void *user);
/* Returns up to `bytes` of pages outside [begin, end) to the system, unless a user runs. This makes
 * room for memory that is needed before the next run. Invalidates the output. */
void mafat_arena_make_room(struct mafat_arena *a, size_t begin, size_t end, size_t bytes);

/* Bytes of the mapping that are locked: all or 0. */
size_t mafat_arena_locked_bytes(struct mafat_arena *a);
/* Size of the mapping, and its resident part. */
size_t mafat_arena_bytes(struct mafat_arena *a, size_t *resident_bytes);
/* Current address. */
const void *mafat_arena_memory(struct mafat_arena *a);

#endif
