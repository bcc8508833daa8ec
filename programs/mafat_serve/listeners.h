/* Listening sockets, at numeric addresses or paths; names are never looked up. Opens sockets, and
 * removes a stale socket file at a listener's path. Included by server.h. */
#ifndef MAFAT_PROGRAM_SERVE_LISTENERS_H
#define MAFAT_PROGRAM_SERVE_LISTENERS_H

#include <stdbool.h>
#include <stddef.h>

#include "include/mafat.h"
#include "programs/shared/sandbox/filter.h"

/* Requested size of a socket's queue in each direction, in bytes; the kernel doubles it for its
 * records. */
enum { MAFAT_LISTENERS_QUEUE = 8 << 10 };

struct mafat_listeners {
  int fds[MAFAT_SANDBOX_LISTENERS]; /* (n) non-blocking sockets */
  int n;
  /* (n) such as "unix:/run/mafat" or "http://127.0.0.1:8080/"; if port 0 was given, it has the port
   * that the kernel chose */
  char names[MAFAT_SANDBOX_LISTENERS][120];
  bool local; /* only this machine can reach the listeners */
};

/* Adds a listener at "127.0.0.1:8080", "[::1]:0", "localhost:8080" or "unix:/run/mafat". A stale
 * socket at the path is replaced. MAFAT_EINVAL: not an address; MAFAT_EIO: listening fails. */
int mafat_listeners_open(struct mafat_listeners *listeners, const char *address,
                         struct mafat_diagnostic *d);
void mafat_listeners_close(struct mafat_listeners *listeners);

/* Accepts the next connection of a listener as a non-blocking socket; -1: see errno. */
int mafat_listeners_accept(const struct mafat_listeners *listeners, int index);

/* Duplicates fd to a number of at least `first`, closed on exec, and closes fd. Returns the new
 * descriptor; -1: see errno. */
int mafat_listeners_number(int fd, int first);

#endif
