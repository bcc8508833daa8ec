/* An arena is the memory mapping in which plans run. One executor owns it, or several share it and
 * run one at a time. It is as large as its largest user needs. Its users are executors; `user` is
 * an executor's address, which is not dereferenced. All functions lock the arena's mutex. Included
 * by api/footprint.h and executor.h; other folders that run plans include it through executor.h. */
#ifndef MAFAT_RUNNER_ENGINE_ARENA_H
#define MAFAT_RUNNER_ENGINE_ARENA_H

#include "runner/os/lock.h"

/* mafat_arena_open and mafat_arena_close are in the public header. The arena is freed when it is
 * closed and has no users; its memory is mapped only while it has users. */

/* Asks for huge pages in the first `bytes` of mappings that are made later. Only for an arena that
 * never returns a part of its pages (mafat_arena_make_room), because the kernel frees a huge page
 * only as a whole. */
void mafat_arena_make_huge(struct mafat_arena *a, size_t bytes);
/* Adds a user that needs `bytes`; messages begin with `name`. If the mapping has to grow, its
 * contents are lost. If `lock` is not NULL and on, the whole mapping is locked in memory, for all
 * users. MAFAT_EINVAL: the mapping would have to grow while a user runs. MAFAT_ENOMEM: it cannot be
 * mapped. MAFAT_ELIMIT: it cannot be locked. */
int mafat_arena_join(struct mafat_arena *a, size_t bytes, struct mafat_lock *lock, const char *name,
                     struct mafat_diagnostic *d);
/* Removes a user. */
void mafat_arena_leave(struct mafat_arena *a, const void *user);

/* Begins a run and sets *memory to the mapping. MAFAT_EINVAL: a user already runs. */
int mafat_arena_begin(struct mafat_arena *a, char **memory, const char *name,
                      struct mafat_diagnostic *d);
/* Ends the user's run. good: its output is valid from now on. */
void mafat_arena_end(struct mafat_arena *a, const void *user, bool good);

/* Called during a run. Populates the missing pages of the mapping's first `bytes` in one system
 * call, because a page fault costs 2 us in a virtual machine. Does nothing above 16 MB, because a
 * run cannot be canceled during the call. */
void mafat_arena_populate(struct mafat_arena *a, size_t bytes);
/* Called during a run, before mafat_arena_populate. Populates the whole pages in the `bytes` from
 * offset `begin` on, unless they are more than 16 MB. */
void mafat_arena_populate_part(struct mafat_arena *a, size_t begin, size_t bytes);

/* Invalidates the user's output. */
void mafat_arena_drop(struct mafat_arena *a, const void *user);

/* Returns the address of the mapping to a user that will write to it before its run. Invalidates
 * the output of any other user. */
void *mafat_arena_take(struct mafat_arena *a, const void *user);

/* Called before and after reading an output. mafat_arena_hold returns false if the user has no
 * valid output. Else it sets *memory to the mapping and keeps the arena's mutex locked: until
 * mafat_arena_unhold, no run begins and the mapping does not move. */
bool mafat_arena_hold(struct mafat_arena *a, const void *user, char **memory);
void mafat_arena_unhold(struct mafat_arena *a);

/* Returns all pages to the system and invalidates the output. Does nothing while a user runs, or if
 * `user` is not NULL and another user's output is valid. */
void mafat_arena_forget(struct mafat_arena *a, const void *user);
/* Returns pages outside the mapping's bytes [begin, end) to the system: as many as hold `bytes`, or
 * all of them if there are fewer. Does nothing while a user runs. This makes room for memory that
 * is needed before the next run. Invalidates the output. */
void mafat_arena_make_room(struct mafat_arena *a, size_t begin, size_t end, size_t bytes);

/* Returns the size of the mapping in bytes if all of it is locked in memory, else 0. */
size_t mafat_arena_locked_bytes(struct mafat_arena *a);
/* Returns the size of the mapping in bytes; *resident_bytes: how many of them are resident. */
size_t mafat_arena_bytes(struct mafat_arena *a, size_t *resident_bytes);
/* Returns the mapping's current address. */
const void *mafat_arena_memory(struct mafat_arena *a);

#endif
