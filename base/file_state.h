/* How long a file was and when it was last written to, at some time: whether it is the same still. Its inode has no part in it: some
 * file systems give another number to a file that they had forgotten. */
#ifndef MAFAT_BASE_FILE_STATE_H
#define MAFAT_BASE_FILE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct mafat_file_state {
  uint64_t bytes;
  int64_t seconds;
  long nanoseconds;
  bool known; /* else nobody has looked, or there is nothing to be said: of a pipe */
};

static inline struct mafat_file_state mafat_file_state(const struct stat *st)
{
  return (struct mafat_file_state){(uint64_t)st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec, S_ISREG(st->st_mode)};
}

/* What is not known is the same as anything. */
static inline bool mafat_file_state_same(const struct mafat_file_state *a, const struct mafat_file_state *b)
{
  if (!a->known || !b->known) return true;
  return a->bytes == b->bytes && a->seconds == b->seconds && a->nanoseconds == b->nanoseconds;
}

/* Are both one file, whatever names it has? Of two that were looked at just now. */
static inline bool mafat_is_one_file(const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

#endif
