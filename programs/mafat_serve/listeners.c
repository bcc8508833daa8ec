/* Opens listening sockets, by numeric address or path, and accepts connections. Called by
 * mafat_serve.c before it serves, and by server.c. Opens sockets; removes a stale socket file at a
 * listener's path. */
#include "programs/mafat_serve/listeners.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
  BACKLOG = 4096,
  ADDRESS_ROOM = 64
}; /* the kernel limits BACKLOG to net.core.somaxconn */

union address {
  struct sockaddr any;
  struct sockaddr_in four;
  struct sockaddr_in6 six;
  struct sockaddr_un file;
};

/* Length of an address for bind(). A name that begins with a NUL (abstract socket) has no
 * terminating NUL, so its length must be exact. */
static socklen_t address_bytes(const union address *a)
{
  if (a->any.sa_family == AF_UNIX)
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                       (a->file.sun_path[0] ? strlen(a->file.sun_path) + 1
                                            : 1 + strlen(a->file.sun_path + 1)));
  return a->any.sa_family == AF_INET6 ? sizeof a->six : sizeof a->four;
}

static bool read_port(const char *text, uint16_t *port)
{
  char *end;
  errno = 0;
  unsigned long n = strtoul(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno || n > 65535) return false;
  *port = htons((uint16_t)n);
  return true;
}

/* Parses the path of "unix:PATH" or "unix:@NAME". The latter is an abstract socket: it has no file
 * and is gone when it is closed. */
static bool read_path(union address *a, const char *path)
{
  const size_t n = strlen(path);
  if (n < 1 + (*path == '@') || n >= sizeof a->file.sun_path) return false;
  a->file = (struct sockaddr_un){.sun_family = AF_UNIX};
  memcpy(a->file.sun_path, path, n);
  if (*path == '@') a->file.sun_path[0] = '\0';
  return true;
}

/* Parses "ADDRESS:PORT", split at the last colon, or "unix:...". */
static bool read_address(union address *a, const char *text)
{
  char host[ADDRESS_ROOM];
  const char *colon = strrchr(text, ':');
  const size_t n = colon ? (size_t)(colon - text) : 0;
  uint16_t port;
  *a = (union address){.any = {.sa_family = AF_UNSPEC}};
  if (strncmp(text, "unix:", 5) == 0) return read_path(a, text + 5);
  if (n == 0 || n >= sizeof host || !read_port(colon + 1, &port)) return false;
  memcpy(host, text, n);
  host[n] = '\0';
  if (strcmp(host, "localhost") == 0) strcpy(host, "127.0.0.1");
  if (host[0] == '[' && host[n - 1] == ']') {
    host[n - 1] = '\0';
    a->six = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port};
    return inet_pton(AF_INET6, host + 1, &a->six.sin6_addr) == 1;
  }
  a->four = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port};
  return inet_pton(AF_INET, host, &a->four.sin_addr) == 1;
}

static bool is_local(const union address *a)
{
  if (a->any.sa_family == AF_UNIX) return true;
  if (a->any.sa_family == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&a->six.sin6_addr);
  return ntohl(a->four.sin_addr.s_addr) >> 24 == 127;
}

/* Removes the socket at the address's path if no process listens on it. The server that made it
 * could not remove it: its sandbox forbids that (programs/shared/sandbox). */
static void remove_old(const union address *a)
{
  struct stat st;
  if (a->any.sa_family != AF_UNIX || !a->file.sun_path[0] || lstat(a->file.sun_path, &st) != 0 ||
      !S_ISSOCK(st.st_mode))
    return;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  if (connect(fd, &a->any, address_bytes(a)) != 0 && errno == ECONNREFUSED)
    unlink(a->file.sun_path);
  close(fd);
}

/* Sets options; accepted sockets inherit the queue sizes and TCP_NODELAY. The kernel offers a TCP
 * connection for acceptance when its first bytes have arrived, or after a second, so that clients
 * that send nothing take no place until then. */
static bool set_up(int fd, const union address *a)
{
  const int one = 1, queue = MAFAT_LISTENERS_QUEUE;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &queue, sizeof queue);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &queue, sizeof queue);
  if (a->any.sa_family != AF_UNIX) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (a->any.sa_family != AF_UNIX)
    setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &one, sizeof one);
  if (a->any.sa_family == AF_INET6)
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one); /* IPv4 has another listener */
  remove_old(a);
  return bind(fd, &a->any, address_bytes(a)) == 0 && listen(fd, BACKLOG) == 0;
}

int mafat_listeners_number(int fd, int first)
{
  if (fd < 0) return -1;
  int moved = fcntl(fd, F_DUPFD_CLOEXEC, first),
      error = errno == EINVAL ? EMFILE : errno; /* the limit of files is below `first` */
  close(fd);
  errno = error;
  return moved;
}

static void name_listener(int fd, char *text, size_t capacity)
{
  union address a = {.any = {.sa_family = AF_INET}};
  socklen_t n = sizeof a; /* getsockname() may not terminate a path */
  char host[ADDRESS_ROOM] = "?";
  getsockname(fd, &a.any, &n);
  if (a.any.sa_family == AF_UNIX) {
    const bool named = a.file.sun_path[0];
    snprintf(text, capacity, named ? "unix:%s" : "unix:@%s", a.file.sun_path + !named);
    return;
  }
  const bool six = a.any.sa_family == AF_INET6;
  inet_ntop(a.any.sa_family, six ? (const void *)&a.six.sin6_addr : &a.four.sin_addr, host,
            sizeof host);
  snprintf(text, capacity, six ? "http://[%s]:%d/" : "http://%s:%d/", host,
           ntohs(six ? a.six.sin6_port : a.four.sin_port));
}

int mafat_listeners_open(struct mafat_listeners *listeners, const char *address,
                         struct mafat_diagnostic *d)
{
  union address a;
  if (!read_address(&a, address))
    return mafat_fail(d, MAFAT_EINVAL,
                      "--listen expects an address and a port, such as 127.0.0.1:8080 or "
                      "[::1]:8080, or unix:PATH, found %.100s",
                      address);
  int fd =
      mafat_listeners_number(socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
                             MAFAT_SANDBOX_FIRST_LISTENER);
  if (fd < 0 || !set_up(fd, &a)) {
    int code = mafat_fail(d, MAFAT_EIO, "--listen %.100s: %s", address, strerror(errno));
    if (fd >= 0) close(fd);
    return code;
  }
  listeners->local = (listeners->n == 0 || listeners->local) && is_local(&a);
  name_listener(fd, listeners->names[listeners->n], sizeof listeners->names[0]);
  listeners->fds[listeners->n++] = fd;
  return MAFAT_OK;
}

void mafat_listeners_close(struct mafat_listeners *listeners)
{
  for (int i = 0; i < listeners->n; i++) close(listeners->fds[i]);
  listeners->n = 0;
}

int mafat_listeners_accept(const struct mafat_listeners *listeners, int index)
{
  return accept4(listeners->fds[index], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
