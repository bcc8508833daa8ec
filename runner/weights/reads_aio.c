/* Reads with Linux AIO, by its system calls (without libaio). Called by runner/weights/reads.c
 * through struct mafat_read_queue_how (reads_method.h). Creates an AIO context in the kernel, which
 * closing destroys. */
#include "runner/weights/reads.h"
#include "runner/weights/reads_method.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer 32-bit architectures do not have io_getevents: then this method cannot be opened. */
#if !defined SYS_io_setup || !defined SYS_io_getevents

static int open_ring(void *memory)
{
  (void)memory;
  return ENOSYS;
}

const struct mafat_read_queue_how mafat_read_queue_aio = {
    .name = "aio", .ring_bytes = 1, .open = open_ring};

#else

#include <linux/aio_abi.h>

struct aio_ring {
  aio_context_t context;
  /* [slot]: its request. The kernel copies it, but valgrind reads it again when the read is done */
  struct iocb blocks[MAFAT_READS_DEPTH];
};

static int open_ring(void *memory)
{
  struct aio_ring *r = memory;
  return syscall(SYS_io_setup, MAFAT_READS_DEPTH, &r->context) == 0 ? 0 : errno;
}

static void close_ring(void *memory)
{
  struct aio_ring *r = memory;
  syscall(SYS_io_destroy, r->context);
}

static int start(void *memory, unsigned slot, int fd, void *to, size_t bytes, uint64_t offset)
{
  struct aio_ring *r = memory;
  struct iocb *block = &r->blocks[slot];
  *block = (struct iocb){.aio_data = slot,
                         .aio_lio_opcode = IOCB_CMD_PREAD,
                         .aio_fildes = (uint32_t)fd,
                         .aio_buf = (uintptr_t)to,
                         .aio_nbytes = bytes,
                         .aio_offset = (int64_t)offset};
  long taken = syscall(SYS_io_submit, r->context, 1L, &block);
  return taken == 1 ? 0 : taken == 0 ? EAGAIN : errno;
}

static int next(void *memory, unsigned *slot, ssize_t *result)
{
  struct aio_ring *r = memory;
  struct io_event done;
  long n = syscall(SYS_io_getevents, r->context, 1L, 1L, &done, NULL);
  if (n != 1) return n == 0 ? EINTR : errno;
  *slot = (unsigned)done.data;
  *result = (ssize_t)done.res;
  return 0;
}

const struct mafat_read_queue_how mafat_read_queue_aio = {.name = "aio",
                                                          .ring_bytes = sizeof(struct aio_ring),
                                                          .open = open_ring,
                                                          .close = close_ring,
                                                          .start = start,
                                                          .next = next};

#endif
