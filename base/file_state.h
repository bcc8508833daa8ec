/* Length and modification time of a file, to detect that it was changed. The inode is left out:
 * some file systems assign a new number to a file that they evicted. Included by api/packing,
 * base/, network/, programs/make_weights and runner/image. Pure inline functions. */
#ifndef MAFAT_BASE_FILE_STATE_H
#define MAFAT_BASE_FILE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct mafat_file_state {
  uint64_t bytes;
  int64_t seconds;
  long nanoseconds;
  bool known; /* false: not looked up yet, or a pipe */
};

static inline struct mafat_file_state mafat_file_state(const struct stat *st)
{
  return (struct mafat_file_state){(uint64_t)st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
                                   S_ISREG(st->st_mode)};
}

/* True if both are equal, or if either is unknown. */
static inline bool mafat_file_state_same(const struct mafat_file_state *a,
                                         const struct mafat_file_state *b)
{
  if (!a->known || !b->known) return true;
  return a->bytes == b->bytes && a->seconds == b->seconds && a->nanoseconds == b->nanoseconds;
}

/* True if both are one file, under any name. Both must be recent results of stat(): the inode
 * number of a deleted file is reused. */
static inline bool mafat_is_one_file(const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

#endif
