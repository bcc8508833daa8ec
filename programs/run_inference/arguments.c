/* Detects arguments in the wrong position, by the first bytes of their files. Called by
 * options.c before any model is read. Reads at most 16 bytes of a file. */
#include "programs/run_inference/arguments.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 16 };

static const struct signature {
  const char *what;
  const char *bytes;
  size_t n;
} signatures[] = {
    {"a JPEG picture", "\xff\xd8\xff", 3},
    {"a PNG picture", "\x89PNG\r\n\x1a\n", 8},
    {"a PPM picture", "P6\n", 3},
    {"a PGM picture", "P5\n", 3},
    {"a BMP picture", "BM", 2},
    {"a GIF picture", "GIF8", 4},
};

/* Describes a file that is neither model nor weights: "a JPEG picture". NULL: it may be one. */
static const char *find_wrong(const char *path)
{
  unsigned char head[HEAD];
  struct stat st;
  if (stat(path, &st) != 0) return NULL;
  if (S_ISDIR(st.st_mode)) return "a directory";
  if (!S_ISREG(st.st_mode)) return NULL;
  if (st.st_size == 0) return "an empty file";
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd >= 0 ? read(fd, head, sizeof head) : -1;
  if (fd >= 0) close(fd);
  for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
    if (got >= (ssize_t)signatures[i].n && memcmp(head, signatures[i].bytes, signatures[i].n) == 0)
      return signatures[i].what;
  return NULL;
}

int mafat_arguments_check(char *const *rest, int n, bool alone, struct mafat_diagnostic *d)
{
  const char *wrong = n > 0 ? find_wrong(rest[0]) : NULL;
  if (wrong)
    return mafat_fail(d, MAFAT_EINVAL,
                      "%.200s: expected a model, found %s; the order is MODEL.cfg MODEL.weights "
                      "IMAGE..., or MODEL.onnx IMAGE...",
                      rest[0], wrong);
  wrong = n > 1 && !alone ? find_wrong(rest[1]) : NULL;
  if (!wrong) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EINVAL,
                    "%.200s: expected the weights of %.100s, found %s; the order is MODEL.cfg "
                    "MODEL.weights IMAGE...",
                    rest[1], rest[0], wrong);
}
