/* Evicts files from the page cache, opens and removes output files, and finds programs in PATH.
 * Included by memory_limit.c. */
#ifndef MAFAT_MEMORY_LIMIT_FILES_H
#define MAFAT_MEMORY_LIMIT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "programs/memory_limit/why.h"

/* Writes the file back and drops it from the page cache. Returns false, with the reason, if pages
 * are still cached afterwards. */
bool file_evict(const char *path, struct why *why);

/* True if fd is open on the regular file at this path. */
bool file_is(int fd, const char *path);

/* An output file. Its old content is kept until output_empty. */
struct output {
  const char *path; /* NULL: no file, or a descriptor that the caller opened */
  int fd;
  bool made; /* output_open created the file */
};

/* Opens the file for writing, without emptying it. path NULL: uses the open descriptor fd. Returns
 * false with the reason. */
bool output_open(struct output *output, const char *path, int fd, struct why *why);
/* Empties a regular file that output_open opened. Returns false with the reason. */
bool output_empty(struct output *output, struct why *why);
/* Closes the file. keep false: removes it if output_open created it. */
void output_close(struct output *output, bool keep);

/* Finds a program as the shell does, by the environment's PATH. */
bool program_find(char *path, size_t capacity, const char *name, struct why *why);

#endif
