/* Gives an output file a temporary name beside its final one until it is complete, so that no
 * failure or signal leaves an incomplete file. One file at a time. Creates, renames and removes
 * files; sets signal handlers. Included by programs/annotate,
 * programs/make_weights/make_weights.c, programs/pack_weights/pack_weights.c and
 * programs/run_inference. */
#ifndef MAFAT_PROGRAMS_SHARED_UNFINISHED_H
#define MAFAT_PROGRAMS_SHARED_UNFINISHED_H

/* Installs signal handlers: a signal that ends the program removes the file first. Signals that
 * are ignored, such as hang-ups under nohup, stay ignored. A write to a closed pipe, or beyond
 * the limit of file sizes, then returns an error instead of raising a signal. */
void mafat_unfinished_mind_signals(void);

/* Creates the temporary file with the permissions of a new file. `path` is the final name, or a
 * link to an existing file. Returns a descriptor for writing; -1: see errno. */
int mafat_unfinished_create(const char *path);
/* Like mafat_unfinished_create, but installs the signal handlers first. A path that exists and is
 * no regular file (a device, pipe or link) is opened itself; mafat_unfinished_finish and _drop
 * then do nothing. */
int mafat_unfinished_open(const char *path);
/* Renames the complete, closed file to its final name, and replaces a file of that name. If the
 * path was a link, the file it points to is replaced. Returns 0, or -1 (see errno) after removing
 * the file. */
int mafat_unfinished_finish(void);
/* Removes the file; keeps errno. */
void mafat_unfinished_drop(void);

/* Remembers a temporary file that the program created itself, so that signals remove it; "":
 * forgets it. */
void mafat_unfinished_remember(const char *temporary);

#endif
