/* Opens files and reads parts of them, retrying after signals and short reads. Included by base/,
 * runner/image and runner/weights. Opens file descriptors; allocates nothing. */
#ifndef MAFAT_BASE_OPEN_FILE_H
#define MAFAT_BASE_OPEN_FILE_H

#include <stdbool.h>
#include <sys/types.h>

/* Like open() for reading, with close-on-exec. -1: errno is set. For /dev/fd/N of an open pipe it
 * duplicates the descriptor: opening a named pipe anew would wait for another writer. */
int mafat_open_file(const char *path);

/* Returns a name for a file that is not regular, such as "a pipe", for messages. */
const char *mafat_file_kind(mode_t mode);

/* True if a failed read() should be repeated, judged by errno. After EAGAIN it waits for data:
 * another process may have made a shared pipe non-blocking. */
bool mafat_read_again(int fd);

/* Reads n bytes from offset `at` (-1: from the current position, for pipes). Returns less than n
 * only at the end of the file, although one read() may return less. -1: errno is set. */
ssize_t mafat_read_some(int fd, void *to, size_t n, off_t at);

#endif
