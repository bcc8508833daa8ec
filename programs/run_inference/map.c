/* Implements --map: collects buffers and steps and writes the picture. Called by predict.c and
 * mafat_serve/work.c. Creates the file; allocates and frees what is drawn. */
#include "programs/run_inference/map.h"
#include "programs/shared/unfinished.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Draws the map into fd and closes fd. Returns false, with errno, if writing fails. */
static bool write_picture(const struct mafat_map *map, int fd)
{
  struct mafat_writer w;
  mafat_writer_open(&w, fd);
  mafat_map_draw(map, &w);
  bool good = mafat_writer_flush(&w, NULL) == MAFAT_OK;
  int cause = w.error;
  if (close(fd) == 0 && good) return true;
  if (!good) errno = cause;
  return false;
}

static int write_file(const char *path, const struct mafat_map *map, struct mafat_diagnostic *d)
{
  int fd = mafat_unfinished_open(path);
  if (fd < 0) return mafat_fail(d, MAFAT_EIO, "%s: cannot create: %s", path, strerror(errno));
  if (write_picture(map, fd) && mafat_unfinished_finish() == 0) return MAFAT_OK;
  int code = mafat_fail(d, MAFAT_EIO, "%s: cannot write: %s", path, strerror(errno));
  mafat_unfinished_drop();
  return code;
}

int mafat_map_write(const char *path, const struct mafat_report_request *q,
                    const struct mafat_plan_report *a, struct mafat_diagnostic *d)
{
  struct mafat_map map = {0};
  int code = mafat_map_find(&map, q, a);
  code = code ? mafat_fail(d, code, "%s: out of memory", path) : write_file(path, &map, d);
  mafat_map_close(&map);
  return code;
}
