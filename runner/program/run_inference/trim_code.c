#include "runner/program/run_inference/trim_code.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

extern char __executable_start[], edata[]; /* by the linker */

void mafat_trim_code(void)
{
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t from = (uintptr_t)__executable_start / page * page, to = (uintptr_t)edata / page * page;
  madvise((void *)from, to - from, MADV_RANDOM); /* advice: failing does no harm */
  int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* what was read ahead; not what is mapped */
  close(fd);
}
