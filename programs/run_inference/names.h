/* Names of a network's classes, from a text file with one label a line, line 0 for class 0, like
 * Darknet's data/coco.names. Read once, never changed; the opener closes it. Opens the file and
 * allocates. Included by output.h and session.h. */
#ifndef MAFAT_PROGRAM_NAMES_H
#define MAFAT_PROGRAM_NAMES_H

#include "include/mafat.h"

struct mafat_names;

enum {
  MAFAT_NAMES_MAX_BYTES = 8 << 20, /* largest file accepted */
  MAFAT_NAMES_MAX_LABELS = 1 << 20,
  MAFAT_NAMES_ROOM = 24 /* of a made-up label: "class -2147483648" */
};

/* Carriage returns and a byte order mark are dropped; an empty line keeps its
 * number. The file may be a pipe. Nothing promises that labels are UTF-8.
 * MAFAT_EIO; MAFAT_EFORMAT: too long, or no text; MAFAT_ENOMEM. *out is NULL
 * after a failure. */
int mafat_names_read(struct mafat_names **out, const char *path, struct mafat_diagnostic *d);
void mafat_names_close(struct mafat_names **names);

int mafat_names_count(const struct mafat_names *names); /* lines; 0 for NULL */

/* The label of a class; "class 17", written into `capacity`, where there is none:
 * names NULL, line empty, class beyond the last line. */
const char *mafat_names_label(const struct mafat_names *names, int class,
                              char capacity[MAFAT_NAMES_ROOM]);

#endif
