/* Small files of the system, line by line, through the stack. Runs come through here: stack that is touched stays
 * resident, so longer lines are cut short. And of the C library only what runs use anyway is called
 * (parts.def): each other function could bring 64 KB. */
#ifndef MAFAT_RUNNER_OS_LINES_H
#define MAFAT_RUNNER_OS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAFAT_PATH_ROOM = 1024, MAFAT_LINE_ROOM = 2048 };

struct mafat_lines {
  int fd;
  size_t used, next; /* of the buffer */
  char buffer[512];
  char line[MAFAT_LINE_ROOM]; /* without its end */
};

/* root: runner/os/groups.h. False: it cannot be opened. */
bool mafat_lines_open(struct mafat_lines *l, const char *root, const char *path);
/* Closes at the end. */
bool mafat_lines_next(struct mafat_lines *l);

/* Of a file that is open, from its beginning: as much as one reading gives and the room holds, and NUL. False: nothing;
 * fd -1: there is none. */
bool mafat_lines_read(int fd, char *text, size_t room);
/* The number behind `key` at the start of one of a text's lines; it stays what it was where there is none. */
bool mafat_lines_number(const char *text, const char *key, uint64_t *value);

#endif
