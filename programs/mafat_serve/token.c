/* Reads the token from a file or the environment. Called by mafat_serve.c at its start. Opens the
 * file; overwrites and unsets the environment variable. */
#include "programs/mafat_serve/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int check(char *token, const char *where, struct mafat_diagnostic *d)
{
  const size_t n = strcspn(token, "\r\n");
  token[n] = '\0';
  if (n < MAFAT_TOKEN_LEAST || n >= MAFAT_TOKEN_ROOM - 1)
    return mafat_fail(
        d, MAFAT_EINVAL,
        "%.200s: expected a token of %d to %d characters in the first line, found %zu", where,
        MAFAT_TOKEN_LEAST, MAFAT_TOKEN_ROOM - 2, n);
  for (size_t i = 0; i < n; i++)
    if (token[i] <= ' ' || token[i] > '~')
      return mafat_fail(d, MAFAT_EINVAL,
                        "%.200s: expected a token of printable characters without blanks", where);
  return MAFAT_OK;
}

static int read_file(char token[MAFAT_TOKEN_ROOM], const char *path, struct mafat_diagnostic *d)
{
  size_t n = 0;
  ssize_t got = 1;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && n < MAFAT_TOKEN_ROOM - 1 && got != 0) {
    got = read(fd, token + n, MAFAT_TOKEN_ROOM - 1 - n);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    n += (size_t)got;
  }
  token[n] = '\0';
  int code = fd < 0 || got < 0 ? mafat_fail(d, MAFAT_EIO, "%.200s: cannot read the token: %s", path,
                                            strerror(errno))
                               : check(token, path, d);
  if (fd >= 0) close(fd);
  return code;
}

/* Overwrites the value, because other processes can read /proc/PID/environ; then unsets the
 * variable. */
static void wipe(char *value, const char *variable)
{
  memset(value, 0, strlen(value));
  unsetenv(variable);
}

int mafat_token_read(char token[MAFAT_TOKEN_ROOM], const struct mafat_options *o,
                     struct mafat_diagnostic *d)
{
  token[0] = '\0';
  if (o->token_file) return read_file(token, o->token_file, d);
  if (!o->token) return MAFAT_OK;
  strncat(token, o->token, MAFAT_TOKEN_ROOM - 1);
  wipe((char *)o->token, mafat_variable_token); /* the environment's own text */
  return check(token, mafat_variable_token, d);
}
