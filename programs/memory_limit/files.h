/* Evicts files from the page cache, and opens output files. Included by memory_limit.c. */
#ifndef MAFAT_MEMORY_LIMIT_FILES_H
#define MAFAT_MEMORY_LIMIT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "programs/memory_limit/why.h"

/* Writes the file back and drops it from the page cache, which is seen to. */
bool file_evict(const char *path, struct why *why);

/* Is what was opened the regular file of this name? */
bool file_is(int fd, const char *path);

/* A file to write to. It keeps what it holds until it is wanted. */
struct output {
  const char *path; /* NULL: none, or a descriptor of somebody else's */
  int fd;
  bool made; /* it was not there before */
};

/* With the path NULL it is `fd`. */
bool output_open(struct output *output, const char *path, int fd, struct why *why);
bool output_empty(struct output *output, struct why *why);
/* Keeps the file, or removes it if it was made here. */
void output_close(struct output *output, bool keep);

/* Path of a program found by PATH. */
bool program_find(char *path, size_t capacity, const char *name, struct why *why);

#endif
