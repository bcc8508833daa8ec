#include "runner/model_kind.h"

#include "formats/onnx/import.h"
#include "formats/packed/packed.h"
#include "formats/tflite/import.h"
#include "formats/tflite/tflite.h"
#include "runner/weights/weights_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* So many bytes, zeros where there are fewer. */
static bool read_beginning(const char *path, char *beginning, size_t n)
{
  struct stat st;
  memset(beginning, 0, n);
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return false;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* one page, not what lies behind it */
  ssize_t got = pread(fd, beginning, n, 0);
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
                        const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  switch (mafat_model_format_of(path)) {
  case MAFAT_MODEL_PACKED:
  case MAFAT_MODEL_PACKED_GRAPH: return mafat_weights_file_network(out, path, wish, warnings, d);
  case MAFAT_MODEL_ONNX: return mafat_onnx_network_read(out, path, d);
  case MAFAT_MODEL_TFLITE: return mafat_tflite_network_read(out, path, d);
  default: return mafat_darknet_read(out, path, wish, warnings, d);
  }
}
