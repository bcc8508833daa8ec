/* Names of a network's classes, from a text file with one label on each line, line 0 for class 0,
 * like Darknet's data/coco.names. Read once, never changed. Opens the file and allocates;
 * mafat_names_close frees. Included by output.h and session.h; called by programs/run_inference and
 * programs/mafat_serve. */
#ifndef MAFAT_PROGRAM_NAMES_H
#define MAFAT_PROGRAM_NAMES_H

#include "include/mafat.h"

struct mafat_names;

enum {
  MAFAT_NAMES_MAX_BYTES = 8 << 20, /* largest file accepted */
  MAFAT_NAMES_MAX_LABELS = 1 << 20,
  MAFAT_NAMES_ROOM = 24 /* bytes for a made-up label: "class -2147483648" */
};

/* Reads the file, which may be a pipe. Drops carriage returns and a byte order mark; empty lines
 * count. Labels need not be UTF-8. The caller closes *out; it is NULL after a failure. Returns
 * MAFAT_OK, MAFAT_EIO, MAFAT_ENOMEM or MAFAT_EFORMAT (the file is too long or no text). */
int mafat_names_read(struct mafat_names **out, const char *path, struct mafat_diagnostic *d);
/* Like mafat_names_read, in at most `most` bytes of memory. Returns MAFAT_ELIMIT if more would be
 * needed. */
int mafat_names_read_within(struct mafat_names **out, const char *path, size_t most,
                            struct mafat_diagnostic *d);
void mafat_names_close(struct mafat_names **names);

int mafat_names_count(const struct mafat_names *names); /* lines; 0 for NULL */

/* Returns the label of a class. If there is none (names NULL, line empty or missing), writes
 * "class" and the class's number into the buffer `capacity` and returns the buffer. */
const char *mafat_names_label(const struct mafat_names *names, int class,
                              char capacity[MAFAT_NAMES_ROOM]);

#endif
