/* Opening files, and reading parts of them. */
#ifndef MAFAT_BASE_OPEN_FILE_H
#define MAFAT_BASE_OPEN_FILE_H

#include <stdbool.h>
#include <sys/types.h>

/* As open(), closed on exec; -1: errno. Of a pipe that the process holds open (/dev/fd/3) this is that end: a named one
 * that has been written would otherwise wait for another writer. */
int mafat_open_file(const char *path);

/* What is no regular file, for a line that tells so: "a pipe". */
const char *mafat_file_kind(mode_t mode);

/* Is what read() has just refused, by errno, to be asked for again? After a signal; and of a pipe that somebody who shares it has made
 * non-blocking, once there is something, or its end. */
bool mafat_read_again(int fd);

/* n bytes from `at` on (-1: from where it stands, of what can only be read in a row); fewer only where the file ends: network and user
 * file systems, pipes and signals give less at a time. -1: errno. */
ssize_t mafat_read_some(int fd, void *to, size_t n, off_t at);

#endif
