/* Landlock rules: no path is written to except outputs, and no file is executed. Included by
 * sandbox.c. */
#ifndef MAFAT_PROGRAM_SANDBOX_LANDLOCK_H
#define MAFAT_PROGRAM_SANDBOX_LANDLOCK_H

/* For this thread and those that it makes from now on. Returns the version of Landlock that the
 * kernel has; 0: none, or it could not be had. What lies at an output's path is made, written and
 * removed in its folder; so is anything in the folder `copies`, unless it is NULL. */
int mafat_landlock_enter(const char *const *outputs, int n_outputs, const char *copies);

#endif
