/* Opening files to read them. */
#ifndef MAFAT_BASE_OPEN_FILE_H
#define MAFAT_BASE_OPEN_FILE_H

/* As open(), closed on exec; -1: errno. Of a pipe that the process holds open (/dev/fd/3) this is that end: a named one
 * that has been written would otherwise wait for another writer. */
int mafat_open_file(const char *path);

#endif
