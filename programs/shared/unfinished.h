/* Output file that has a temporary name beside its own until it is complete, so that no failure or
 * signal leaves a part of it. Only one at a time. Opens, renames and removes files; sets signal
 * handlers. Included by programs/annotate, programs/make_weights/make_weights.c,
 * programs/pack_weights/pack_weights.c and programs/run_inference. */
#ifndef MAFAT_PROGRAMS_SHARED_UNFINISHED_H
#define MAFAT_PROGRAMS_SHARED_UNFINISHED_H

/* Installs handlers: a signal that ends the program removes the file first. Ignored signals, such
 * as hang-ups under nohup, stay ignored. A write to a closed pipe, or past the limit of file sizes,
 * returns an error instead of a signal. */
void mafat_unfinished_mind_signals(void);

/* Creates the temporary file with the permissions of a new file. `path` is the final name, or a
 * link to an existing file. Returns a descriptor for writing; -1: see errno. */
int mafat_unfinished_create(const char *path);
/* Like create, and installs the signal handlers. But a path that exists and is no regular file
 * (device, pipe, link) is opened itself; then finish and drop do nothing to it. */
int mafat_unfinished_open(const char *path);
/* Renames the complete and closed file to its final name, replacing a file of that name; a link
 * stays. -1: see errno; the file is removed. */
int mafat_unfinished_finish(void);
/* Removes the file; keeps errno. */
void mafat_unfinished_drop(void);

/* Registers a temporary file that the program creates itself; "": there is none any more. */
void mafat_unfinished_remember(const char *temporary);

#endif
