/* Checks that Darknet lacks. A failed check prints one line on stderr and ends the process with
 * status 2 (guard_unwritten: 1); Darknet would crash, stay silent or report success. Compiled into
 * the patched Darknet: 0005-guards.patch inserts most calls. Keeps the label names and the least
 * batch in static variables; allocates nothing. */
#ifndef MAFAT_GUARD_H
#define MAFAT_GUARD_H

#include "darknet.h"

#ifdef __cplusplus
extern "C" {
#endif

/* True if a display is set, so that windows can be opened. Warns once if not. */
int guard_display(void);

/* Ends the process with the text of an error of Darknet's. */
void guard_error(const char *text) __attribute__((noreturn));

/* Fails if the path does not fit an array of `capacity` bytes. `capacity` is the array's size less
 * what Darknet appends; it includes the terminating zero. */
void guard_path(const char *path, int capacity);

/* Call if a picture could not be written: fails with status 1, or returns while training. */
void guard_unwritten(const char *file);

/* Call if a picture could not be loaded: fails, or returns while training, which then goes on
 * without it. `why` is printed if the file itself can be opened. */
void guard_picture(const char *file, const char *why);

/* ---- the cfg ---- */

/* Fails for values of a section that Darknet would divide by (0) or multiply into an overflow. */
void guard_section(const list *options);

/* Fails unless `layer`, of type `type`, reads an earlier layer `index`. */
void guard_source(int index, int layer, const char *type);

/* Fails unless head `index` expects as many values as its input has. */
void guard_head(layer l, int index, int inputs);

/* Networks made after this call have a batch of at least `least`, whatever their cfg says. */
void guard_batch(int least);

/* Returns `batch`, which is the cfg's batch divided by its subdivisions, or the least batch set by
 * guard_batch if that is larger. While training, a batch below 1 fails. */
int guard_least_batch(int batch);

/* Call after layer i has been read from a weights file: fails at a read error or early end. Files
 * from which a training starts may be short. */
void guard_weights(FILE *from, const char *file, int i);

/* ---- names of classes ---- */

/* Remembers how many names there are. Returns `names`. */
char **guard_names(char **names, int n);

/* Fails if there are more classes than names. */
void guard_classes(char **names, int classes);

/* True if names[index] may be read. */
int guard_named(char **names, int index);

#ifdef __cplusplus
}
#endif

#endif
