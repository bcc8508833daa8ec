/* Replays a log of dm-log-writes: replay LOG DISK FROM COUNT. Started by tests/flakey/inside.sh.
 *
 * Writes COUNT entries of the file LOG to DISK, from entry FROM (the first is 0), and prints a
 * line for the last of these entries: "write", "mark NAME", or "end" if the log has no such
 * entry. Exit status 1: LOG is not a log, or DISK cannot be written.
 *
 * The log's format is the kernel's (Documentation/admin-guide/device-mapper/log-writes.rst,
 * drivers/md/dm-log-writes.c): a header sector, then the entries. The first sector of an entry
 * has its position, length and flags, and the name if it is a mark; the sectors to write follow. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FLUSH = 1, FUA = 2, DISCARD = 4, MARK = 8, MOST_SECTOR = 4096 };

struct start {
  uint64_t magic, version, n_entries;
  uint32_t sector_bytes;
};

struct entry {
  uint64_t sector, n_sectors, flags, name_bytes;
};

static const uint64_t magic = 0x6a736677736872;

static int fail(const char *what)
{
  perror(what);
  return 1;
}

/* Copies an entry's sectors to the disk. */
static bool copy(int log, off_t from, int disk, off_t to, uint64_t bytes)
{
  char buffer[1 << 16];
  for (ssize_t got; bytes > 0; bytes -= (uint64_t)got, from += got, to += got) {
    got = pread(log, buffer, bytes < sizeof buffer ? (size_t)bytes : sizeof buffer, from);
    if (got <= 0 || pwrite(disk, buffer, (size_t)got, to) != got) return false;
  }
  return true;
}

int main(int argc, char **argv)
{
  if (argc != 5) return fprintf(stderr, "replay: expected LOG DISK FROM COUNT\n"), 1;
  const uint64_t first = strtoull(argv[3], NULL, 10), count = strtoull(argv[4], NULL, 10);
  int log = open(argv[1], O_RDONLY), disk = open(argv[2], O_WRONLY);
  struct start start;
  if (log < 0) return fail(argv[1]);
  if (disk < 0) return fail(argv[2]);
  if (pread(log, &start, sizeof start, 0) != sizeof start || start.magic != magic ||
      start.version != 1 || start.sector_bytes > MOST_SECTOR)
    return fprintf(stderr, "replay: %s: expected a log of dm-log-writes\n", argv[1]), 1;
  off_t at = start.sector_bytes;
  char text[MOST_SECTOR] = "end";
  for (uint64_t i = 0; i < start.n_entries && i < first + count; i++) {
    char sector[MOST_SECTOR + 1] = "";
    struct entry e;
    if (pread(log, sector, start.sector_bytes, at) != (ssize_t)start.sector_bytes)
      return fail(argv[1]);
    memcpy(&e, sector, sizeof e);
    at += start.sector_bytes;
    const bool has_bytes = !(e.flags & DISCARD);
    const uint64_t bytes = has_bytes ? e.n_sectors * start.sector_bytes : 0;
    if (i >= first && bytes && !copy(log, at, disk, (off_t)(e.sector * start.sector_bytes), bytes))
      return fail(argv[2]);
    at += (off_t)bytes;
    if (i + 1 == first + count)
      snprintf(text, sizeof text, e.flags & MARK ? "mark %s" : "write", sector + sizeof e);
  }
  puts(text);
  return 0;
}
