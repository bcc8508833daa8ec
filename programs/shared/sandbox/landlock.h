/* Restricts access to files by Landlock: files can be read, but only outputs can be written, and no
 * file can be executed. Included by sandbox.c. */
#ifndef MAFAT_PROGRAM_SANDBOX_LANDLOCK_H
#define MAFAT_PROGRAM_SANDBOX_LANDLOCK_H

/* Restricts this thread and those that it starts later. In the folders of the outputs, and in the
 * folder `copies` unless it is NULL, files can be created, written and removed; an output that is
 * no regular file can be written. Returns the kernel's version of Landlock; 0: it has none, or the
 * rules could not be applied. */
int mafat_landlock_enter(const char *const *outputs, int n_outputs, const char *copies);

#endif
