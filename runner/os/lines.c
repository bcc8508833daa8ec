/* Reads small files of /proc and /sys by line, without the C library's streams. Called by runner/os
 * and programs/mafat/doctor.c. Opens and closes descriptors; allocates nothing. */
#include "runner/os/lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool mafat_lines_open(struct mafat_lines *l, const char *root, const char *path)
{
  char name[MAFAT_PATH_ROOM];
  int n = snprintf(name, sizeof name, "%s%s", root, path);
  l->used = l->next = 0;
  l->fd = n > 0 && (size_t)n < sizeof name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
  return l->fd >= 0;
}

static int next_char(struct mafat_lines *l)
{
  if (l->next == l->used) {
    ssize_t n = read(l->fd, l->buffer, sizeof l->buffer);
    if (n <= 0) return EOF;
    l->used = (size_t)n;
    l->next = 0;
  }
  return (unsigned char)l->buffer[l->next++];
}

bool mafat_lines_next(struct mafat_lines *l)
{
  size_t n = 0;
  int c;
  while ((c = next_char(l)) != EOF && c != '\n')
    if (n < sizeof l->line - 1) l->line[n++] = (char)c;
  l->line[n] = '\0';
  if (c == EOF && n == 0) {
    close(l->fd);
    return false;
  }
  return true;
}

bool mafat_lines_read(int fd, char *text, size_t capacity)
{
  ssize_t n = fd < 0 ? -1 : pread(fd, text, capacity - 1, 0);
  text[n > 0 ? n : 0] = '\0';
  return n > 0;
}

bool mafat_lines_number(const char *text, const char *key, uint64_t *value)
{
  size_t n = strlen(key);
  for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
    if (strncmp(line, key, n) == 0) {
      *value = strtoull(line + n, NULL, 10);
      return true;
    }
  return false;
}
