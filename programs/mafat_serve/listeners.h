/* Listening sockets, at numeric addresses or paths; names are never looked up. Opens sockets, and
 * removes a stale one at its path. Included by server.h. */
#ifndef MAFAT_PROGRAM_SERVE_LISTENERS_H
#define MAFAT_PROGRAM_SERVE_LISTENERS_H

#include <stdbool.h>
#include <stddef.h>

#include "include/mafat.h"
#include "programs/shared/sandbox/filter.h"

/* Bytes that a socket's queues hold at most, in each direction, as they are asked for: the kernel
 * doubles them for its records. */
enum { MAFAT_LISTENERS_QUEUE = 8 << 10 };

struct mafat_listeners {
  int fds[MAFAT_SANDBOX_LISTENERS]; /* (n) not blocking */
  int n;
  char names[MAFAT_SANDBOX_LISTENERS][120]; /* (n) "http://127.0.0.1:8080/", with the port that was
                                               found; "unix:/run/mafat" */
  bool local; /* nobody but this machine can reach any of them */
};

/* "127.0.0.1:8080", "[::1]:0", "localhost:8080", "unix:/run/mafat"; a socket that lies there and
 * nobody listens at is replaced. MAFAT_EINVAL: no address; MAFAT_EIO: it cannot be listened at. */
int mafat_listeners_open(struct mafat_listeners *listeners, const char *address,
                         struct mafat_diagnostic *d);
void mafat_listeners_close(struct mafat_listeners *listeners);

/* The next that waits at one of them, not blocking; -1: errno. */
int mafat_listeners_accept(const struct mafat_listeners *listeners, int index);

/* fd at a number from `first` on, closed on exec, in its place; -1: errno. */
int mafat_listeners_number(int fd, int first);

#endif
