#include "api/model_kind.h"

#include "base/open_file.h"
#include "formats/onnx/import.h"
#include "formats/packed/packed.h"
#include "formats/tflite/import.h"
#include "formats/tflite/tflite.h"
#include "runner/weights/weights_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pipe that the process holds open: whoever opened a named one would take it from its reader. */
static bool is_pipe_held(const char *path, const struct stat *st)
{
  return S_ISFIFO(st->st_mode) && (strcmp(path, "/dev/stdin") == 0 || strncmp(path, "/dev/fd/", 8) == 0);
}

/* What comes first, which stays in the pipe; waits for it. */
static bool look_into_pipe(const char *path, char *beginning, size_t n)
{
  int ends[2], fd = mafat_open_file(path);
  bool seen = fd >= 0 && pipe2(ends, O_CLOEXEC) == 0;
  if (seen) {
    ssize_t got = tee(fd, ends[1], n, 0);
    seen = got > 0 && read(ends[0], beginning, (size_t)got) == got;
    close(ends[0]);
    close(ends[1]);
  }
  if (fd >= 0) close(fd);
  return seen;
}

/* So many bytes, zeros where there are fewer. */
static bool read_beginning(const char *path, char *beginning, size_t n)
{
  struct stat st;
  memset(beginning, 0, n);
  if (!path || stat(path, &st) != 0) return false;
  if (is_pipe_held(path, &st)) return look_into_pipe(path, beginning, n);
  if (!S_ISREG(st.st_mode)) return false;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* one page, not what lies behind it */
  ssize_t got = mafat_read_some(fd, beginning, n, 0);
  close(fd);
  return got > 0;
}

/* A cfg begins with a section or a comment, which no ONNX file does. */
enum mafat_model_format mafat_model_format_of(const char *path)
{
  char beginning[16];
  if (!read_beginning(path, beginning, sizeof beginning)) return MAFAT_MODEL_CFG;
  if (mafat_packed_begins(beginning)) return mafat_packed_imports(beginning) ? MAFAT_MODEL_PACKED_GRAPH : MAFAT_MODEL_PACKED;
  if (mafat_tflite_begins(beginning)) return MAFAT_MODEL_TFLITE;
  return mafat_onnx_begins(beginning) ? MAFAT_MODEL_ONNX : MAFAT_MODEL_CFG;
}

bool mafat_holds_weights(const char *path)
{
  return mafat_model_format_of(path) != MAFAT_MODEL_CFG;
}

int mafat_model_network(struct mafat_network **out, const char *path, const struct mafat_darknet_wish *wish,
                        const struct mafat_given *given, const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  enum mafat_model_format format = mafat_model_format_of(path);
  if (given && given->n > 0 && format != MAFAT_MODEL_ONNX && format != MAFAT_MODEL_TFLITE)
    return mafat_fail(d, MAFAT_EINVAL, "%s: constants are given to ONNX and TFLite files, found %.100s", path, given->list[0]);
  switch (format) {
  case MAFAT_MODEL_PACKED:
  case MAFAT_MODEL_PACKED_GRAPH: return mafat_weights_file_network(out, path, wish, warnings, d);
  case MAFAT_MODEL_ONNX: return mafat_onnx_network_read(out, path, given, d);
  case MAFAT_MODEL_TFLITE: return mafat_tflite_network_read(out, path, given, d);
  default: return mafat_darknet_read(out, path, wish, warnings, d);
  }
}
