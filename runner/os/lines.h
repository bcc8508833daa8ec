/* Reads small system files (/proc, cgroups) line by line through a stack buffer. It is used between
 * runs, so it needs little stack (touched stack stays resident) and truncates long lines. It calls
 * only C library functions that runs need anyway (runner/os/parts.def), because calling another
 * function could make 64 KB more of the program's code resident. Opens and closes descriptors.
 * Included by runner/os; called by programs/mafat/doctor.c. */
#ifndef MAFAT_RUNNER_OS_LINES_H
#define MAFAT_RUNNER_OS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAFAT_PATH_ROOM = 1024, MAFAT_LINE_ROOM = 2048 };

struct mafat_lines {
  int fd;
  size_t used, next; /* number of bytes in the buffer; index of the next one to return */
  char buffer[512];
  char line[MAFAT_LINE_ROOM]; /* without the newline */
};

/* Opens the file root + path (root: see runner/os/groups.h). False: it cannot be opened. */
bool mafat_lines_open(struct mafat_lines *l, const char *root, const char *path);
/* Reads the next line into l->line. At the end, closes the file and returns false. */
bool mafat_lines_next(struct mafat_lines *l);

/* Reads an open file from its beginning, with one system call, and appends a NUL. False: nothing
 * was read, or fd is -1. */
bool mafat_lines_read(int fd, char *text, size_t capacity);
/* Finds the first line of `text` that begins with `key`, and reads the number after it. False, with
 * *value unchanged: there is no such line. */
bool mafat_lines_number(const char *text, const char *key, uint64_t *value);

#endif
