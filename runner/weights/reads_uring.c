/* Reads with an io_uring that is restricted to reads. Called by runner/weights/reads.c through
 * struct mafat_read_queue_how (reads_method.h). Creates a ring in the kernel with liburing; closing
 * frees it. */
#include "runner/weights/reads.h"
#include "runner/weights/reads_method.h"

#include <errno.h>

#ifdef MAFAT_WITHOUT_URING

static int open_ring(void *memory)
{
  (void)memory;
  return ENOSYS;
}

const struct mafat_read_queue_how mafat_read_queue_uring = {
    .name = "io_uring", .ring_bytes = 1, .open = open_ring};

#else

#include <liburing.h>
#include <sys/syscall.h>
#include <unistd.h>

struct uring_ring {
  struct io_uring uring;
  struct io_uring_sqe *refused; /* entry that the kernel refused, reused by the next read */
  /* [slot]: memory to read into; kernels before 5.5 access this struct until the read is done */
  struct iovec vectors[MAFAT_READS_DEPTH];
};

/* An io_uring can open files, write and connect although a system call filter (seccomp) forbids it.
 * So the ring is restricted to reads before its first use. Fails on kernels before 5.10, which
 * cannot restrict a ring. */
static int open_ring(void *memory)
{
  struct uring_ring *r = memory;
  struct io_uring_restriction readv = {.opcode = IORING_RESTRICTION_SQE_OP,
                                       .sqe_op = IORING_OP_READV};
  int error = -io_uring_queue_init(MAFAT_READS_DEPTH, &r->uring, IORING_SETUP_R_DISABLED);
  if (error) return error;
  /* direct system calls, because liburing's wrappers are in pages that nothing else uses: they
   * would make 64 KB resident */
  int fd = r->uring.ring_fd;
  if (syscall(SYS_io_uring_register, fd, IORING_REGISTER_RESTRICTIONS, &readv, 1) != 0 ||
      syscall(SYS_io_uring_register, fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0) != 0)
    error = errno;
  if (error) io_uring_queue_exit(&r->uring);
  return error;
}

static void close_ring(void *memory)
{
  struct uring_ring *r = memory;
  io_uring_queue_exit(&r->uring);
}

/* Submits each read at once, so that an entry of the submission queue is always free. Uses readv,
 * because io_uring has had a plain read only since Linux 5.6. */
static int start(void *memory, unsigned slot, int fd, void *to, size_t bytes, uint64_t offset)
{
  struct uring_ring *r = memory;
  struct io_uring_sqe *entry = r->refused ? r->refused : io_uring_get_sqe(&r->uring);
  if (!entry) return EAGAIN;
  r->vectors[slot] = (struct iovec){.iov_base = to, .iov_len = bytes};
  io_uring_prep_readv(entry, fd, &r->vectors[slot], 1, offset);
  io_uring_sqe_set_data(entry, &r->vectors[slot]);
  int taken = io_uring_submit(&r->uring);
  r->refused = taken == 1 ? NULL : entry;
  return taken == 1 ? 0 : taken == 0 || taken == -EBUSY ? EAGAIN : -taken;
}

static int next(void *memory, unsigned *slot, ssize_t *result)
{
  struct uring_ring *r = memory;
  struct io_uring_cqe *done;
  int error = io_uring_wait_cqe(&r->uring, &done);
  if (error) return -error;
  *slot = (unsigned)((struct iovec *)io_uring_cqe_get_data(done) - r->vectors);
  *result = done->res;
  io_uring_cqe_seen(&r->uring, done);
  return 0;
}

const struct mafat_read_queue_how mafat_read_queue_uring = {.name = "io_uring",
                                                            .ring_bytes = sizeof(struct uring_ring),
                                                            .open = open_ring,
                                                            .close = close_ring,
                                                            .start = start,
                                                            .next = next};

#endif
