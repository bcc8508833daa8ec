/* Detects from a path whether a model's file holds weights, and reads the network of a model.
 * Called by api/model_files.c and, through headers, by programs/ (make_weights, pack_weights),
 * experiments/ (planners, separable) and the Python bindings. Opens, reads and closes files;
 * mafat_model_network allocates the network, which the caller closes. */
#include "api/model_files.h"
#include "include/mafat_pack.h"

#include <string.h>
#include <sys/stat.h>

/* True for a pipe that the process has open. Other pipes must not be opened, because that would
 * take data from their reader. */
static bool is_pipe_held(const char *path, const struct stat *st)
{
  return S_ISFIFO(st->st_mode) &&
         (strcmp(path, "/dev/stdin") == 0 || strncmp(path, "/dev/fd/", 8) == 0);
}

bool mafat_holds_weights(const char *path)
{
  struct mafat_model_source *s;
  struct stat st;
  if (!path || stat(path, &st) != 0 || !(S_ISREG(st.st_mode) || is_pipe_held(path, &st)))
    return false;
  bool holds =
      mafat_model_source_open(&s, path, NULL) == MAFAT_OK && mafat_reader_of(s)->holds_weights;
  mafat_model_source_close(&s);
  return holds;
}

bool mafat_is_packed(const char *path)
{
  struct mafat_model_source *s;
  struct stat st;
  if (!path || stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
      mafat_model_source_open_regular(&s, path, NULL) != MAFAT_OK)
    return false;
  bool packed = mafat_reader_weights_kind(s).packed;
  mafat_model_source_close(&s);
  return packed;
}

int mafat_model_network(struct mafat_network **out, const char *path,
                        const struct mafat_darknet_overrides *overrides,
                        const struct mafat_given *given, const struct mafat_warning_sink *warnings,
                        struct mafat_diagnostic *d)
{
  struct mafat_model_source *s;
  *out = NULL;
  int code = mafat_model_source_open(&s, path, d);
  if (code == MAFAT_OK)
    code = mafat_reader_network(out, s, &(struct mafat_reading){overrides, given, warnings}, d);
  mafat_model_source_close(&s);
  return code;
}
