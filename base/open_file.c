#include "base/open_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

int mafat_open_file(const char *path)
{
  struct stat st;
  int fd;
  char more;
  if (sscanf(path, "/dev/fd/%d%c", &fd, &more) == 1 && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return open(path, O_RDONLY | O_CLOEXEC);
}
