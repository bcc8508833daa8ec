/* A file that is written under a temporary name beside its own, which it gets when it is whole:
 * neither a failure nor a signal that ends the program leaves a part of it. One at a time. */
#ifndef MAFAT_PROGRAMS_SHARED_UNFINISHED_H
#define MAFAT_PROGRAMS_SHARED_UNFINISHED_H

/* Signals that end the program remove the file first. What a caller ignores, such as nohup's
 * hang-ups, stays ignored; writing to a pipe that nobody reads, or past the largest file that is
 * allowed, fails where it is written. */
void mafat_unfinished_mind_signals(void);

/* The file, open for writing, with the rights of any new file; path is its own name, or a link to
 * one that there is. -1: errno says why. */
int mafat_unfinished_create(const char *path);
/* The same, and minds signals; but what is there and no regular file (a device, a pipe, a link to
 * anything) is opened as it is, and neither finishing nor dropping it does anything. */
int mafat_unfinished_open(const char *path);
/* It is whole, and closed: it takes its name, whatever had it; a link stays. -1: errno says why; it
 * is removed. */
int mafat_unfinished_finish(void);
/* Removes it; errno stays. */
void mafat_unfinished_drop(void);

/* For a program that names and creates the temporary file itself; "": there is none any more. */
void mafat_unfinished_remember(const char *temporary);

#endif
