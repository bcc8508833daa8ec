/* Handles --input and --dump-output: finds inputs and outputs by name, checks and writes files.
 * Called by output.c, plan_report_json.c, plan_report_text.c, predict.c and run_inference.c.
 * Creates and renames the files of outputs (programs/shared/unfinished.h); passes the paths of
 * inputs to the model. */
#include "programs/run_inference/ports.h"

#include "base/part.h"
#include "programs/shared/unfinished.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum side { IN, OUT };

/* Describes an input or output of the model, or, if m is NULL, of the dry run. Returns false if
 * there is no such input or output. */
static bool describe(const struct mafat_model *m, const struct mafat_dry_run *q, enum side side,
                     int index, struct mafat_port_facts *f)
{
  if (m)
    return (side == IN ? mafat_model_describe_input(m, index, f)
                       : mafat_model_describe_output(m, index, f)) == MAFAT_OK;
  return (side == IN ? mafat_dry_run_describe_input(q, index, f)
                     : mafat_dry_run_describe_output(q, index, f)) == MAFAT_OK;
}

/* ---- files of ports ---- */

/* Returns the index of the input or output that `text`, "NAME=FILE", names; if there is only one,
 * `text` may be just "FILE". Returns -1 if there is none. Sets *path to FILE. */
static int find_port(const struct mafat_model *m, const struct mafat_dry_run *q, enum side side,
                     const char *text, const char **path)
{
  struct mafat_port_facts f = {.size = sizeof f};
  int found = -1, n = 0;
  size_t longest = 0;
  for (; describe(m, q, side, n, &f); n++) {
    size_t length = strlen(f.name);
    if (strncmp(text, f.name, length) != 0 || text[length] != '=' ||
        (found >= 0 && length < longest))
      continue;
    found = n;
    longest = length;
  }
  *path = found < 0 ? text : text + longest + 1;
  return found < 0 && n == 1 ? 0 : found;
}

/* Writes the names of all inputs or outputs: "a, b". */
static void list_names(const struct mafat_model *m, const struct mafat_dry_run *q, enum side side,
                       char *text, size_t capacity)
{
  struct mafat_port_facts f = {.size = sizeof f};
  size_t length = 0;
  text[0] = '\0';
  for (int i = 0; describe(m, q, side, i, &f) && length < capacity; i++)
    length += (size_t)snprintf(text + length, capacity - length, "%s%.60s", i ? ", " : "", f.name);
}

static int read_port(const struct mafat_model *m, const struct mafat_dry_run *q, enum side side,
                     const char *text, const char **path, struct mafat_port_facts *f, int *index,
                     struct mafat_diagnostic *d)
{
  char names[200];
  const char *option = side == IN ? "input" : "dump-output";
  *index = find_port(m, q, side, text, path);
  list_names(m, q, side, names, sizeof names);
  if (*index < 0 || !**path)
    return mafat_fail(d, MAFAT_EINVAL,
                      "--%s expects NAME=FILE, with one of the names %s, found %.100s", option,
                      names, text);
  describe(m, q, side, *index, f);
  return MAFAT_OK;
}

/* An image is read into the first input. Fails if images are given and --input names a file for the
 * first input, too. */
static int check_image(const struct mafat_model *m, const struct mafat_dry_run *q,
                       const struct mafat_options *o, int index, struct mafat_diagnostic *d)
{
  struct mafat_port_facts f = {.size = sizeof f};
  if (!o->n_images || index > 0) return MAFAT_OK;
  if (!describe(m, q, IN, 1, &f))
    return mafat_fail(d, MAFAT_EINVAL, MAFAT_INPUT_AND_IMAGE, o->images[0]);
  describe(m, q, IN, 0, &f);
  return mafat_fail(d, MAFAT_EINVAL, "--input: input %.100s takes the image, found %.100s too",
                    f.name, o->inputs.list[0]);
}

int mafat_inputs_take(struct mafat_model *m, const struct mafat_dry_run *q,
                      const struct mafat_options *o, struct mafat_diagnostic *d)
{
  unsigned set = 0; /* bit per port that has a file */
  for (int i = 0; i < o->inputs.n; i++) {
    struct mafat_port_facts f = {.size = sizeof f};
    const char *path;
    int index, code = read_port(m, q, IN, o->inputs.list[i], &path, &f, &index, d);
    if (code == MAFAT_OK && index < 32 && set >> index & 1)
      code = mafat_fail(d, MAFAT_EINVAL, "--input: input %.100s has two files", f.name);
    if (code == MAFAT_OK) code = check_image(m, q, o, index, d);
    if (code == MAFAT_OK && m) code = mafat_model_set_input_file(m, f.name, path, d);
    if (code) return code;
    if (index < 32) set |= 1u << index;
  }
  return MAFAT_OK;
}

int mafat_dumps_read(struct mafat_dump *dumps, const struct mafat_model *m,
                     const struct mafat_dry_run *q, const struct mafat_options *o,
                     struct mafat_diagnostic *d)
{
  struct mafat_dump one;
  for (int i = 0; i < o->dumps.n; i++) {
    struct mafat_dump *dump = dumps ? &dumps[i] : &one;
    dump->port.size = sizeof dump->port;
    int index, code = read_port(m, q, OUT, o->dumps.list[i], &dump->path, &dump->port, &index, d);
    if (code) return code;
  }
  return MAFAT_OK;
}

int mafat_dump_check(const struct mafat_dump *dump, struct mafat_diagnostic *d)
{
  char folder[PATH_MAX];
  if (mafat_dump_is_direct(dump)) return MAFAT_OK;
  snprintf(folder, sizeof folder, "%s", dump->path);
  char *slash = strrchr(folder, '/');
  if (slash) slash[1] = '\0';
  if (access(slash ? folder : ".", W_OK | X_OK) == 0) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EIO, "%s: cannot create: %s", dump->path, strerror(errno));
}

/* ---- writing outputs ---- */

static bool ends_in_npy(const char *path)
{
  size_t n = strlen(path);
  return n > 4 && strcmp(path + n - 4, ".npy") == 0;
}

/* Writes the header of a .npy file: dimensions as text, padded to a multiple of 64 bytes. */
static bool write_header(const struct mafat_port_facts *f, FILE *file)
{
  char header[320] = "\x93NUMPY\1", *text = header + 10;
  size_t capacity = sizeof header - 10,
         n = (size_t)snprintf(text, capacity,
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (");
  for (int i = 0; i < f->rank; i++)
    n += (size_t)snprintf(text + n, capacity - n, "%lld,%s", (long long)f->dims[i],
                          i < f->rank - 1 ? " " : "");
  n += (size_t)snprintf(text + n, capacity - n, "), }");
  size_t bytes = (10 + n + 1 + 63) / 64 * 64;
  memset(text + n, ' ', bytes - 10 - n);
  header[7] = 0;
  header[8] = (char)((bytes - 10) & 0xff);
  header[9] = (char)((bytes - 10) >> 8);
  header[bytes - 1] = '\n';
  return fwrite(header, 1, bytes, file) == bytes;
}

/* Writes an output part by part, with a small buffer. */
static bool write_floats(const struct mafat_dump *dump, const struct mafat_model *m, FILE *file)
{
  enum { PART = 1024 };
  float part[PART];
  for (size_t first = 0; first < dump->port.n; first += PART) {
    size_t n = dump->port.n - first < PART ? dump->port.n - first : PART;
    if (mafat_model_read_output_part(m, dump->port.name, first, part, n, NULL) != MAFAT_OK ||
        fwrite(part, sizeof *part, n, file) != n)
      return false;
  }
  return true;
}

static bool write_all(const struct mafat_dump *dump, const struct mafat_model *m, int fd)
{
  FILE *file = fdopen(fd, "wb");
  if (!file) {
    close(fd);
    return false;
  }
  bool good =
      (!ends_in_npy(dump->path) || write_header(&dump->port, file)) && write_floats(dump, m, file);
  int cause = errno;
  if (fclose(file) == 0 && good) return true;
  if (!good) errno = cause;
  return false;
}

bool mafat_dump_is_direct(const struct mafat_dump *dump)
{
  struct stat st;
  return lstat(dump->path, &st) == 0 && !S_ISREG(st.st_mode);
}

int mafat_dump_write(const struct mafat_dump *dump, const struct mafat_model *m,
                     struct mafat_diagnostic *d)
{
  int fd = mafat_unfinished_open(dump->path);
  if (fd < 0) return mafat_fail(d, MAFAT_EIO, "%s: cannot create: %s", dump->path, strerror(errno));
  if (write_all(dump, m, fd) && mafat_unfinished_finish() == 0) return MAFAT_OK;
  int code = mafat_fail(d, MAFAT_EIO, "%s: cannot write: %s", dump->path, strerror(errno));
  mafat_unfinished_drop();
  return code;
}

/* ---- lists of ports ---- */

static void put_json(const struct mafat_model *m, const struct mafat_dry_run *q, enum side side,
                     struct mafat_writer *w)
{
  struct mafat_port_facts f = {.size = sizeof f};
  mafat_json_key(w, side == IN ? "inputs" : "outputs");
  mafat_json_begin(w, "[");
  for (int i = 0; describe(m, q, side, i, &f); i++) {
    mafat_json_separate(w);
    mafat_json_begin(w, "{");
    mafat_json_string(w, "name", f.name);
    mafat_json_string(w, "type", f.type);
    mafat_json_key(w, "dims");
    mafat_json_begin(w, "[");
    for (int k = 0; k < f.rank; k++) {
      mafat_json_separate(w);
      mafat_writer_put_integer(w, f.dims[k]);
    }
    mafat_json_end(w, "]");
    if (f.scale > 0) {
      mafat_json_number(w, "scale", f.scale);
      mafat_json_key(w, "zero_point");
      mafat_writer_put_integer(w, f.zero);
    }
    mafat_json_end(w, "}");
  }
  mafat_json_end(w, "]");
}

void mafat_ports_json(const struct mafat_model *m, const struct mafat_dry_run *q,
                      struct mafat_writer *w)
{
  put_json(m, q, IN, w);
  put_json(m, q, OUT, w);
}

MAFAT_PART(opening)
static void put_text(const struct mafat_dry_run *q, enum side side, struct mafat_writer *w)
{
  struct mafat_port_facts f = {.size = sizeof f};
  for (int i = 0; describe(NULL, q, side, i, &f); i++) {
    if (i) mafat_writer_put(w, ", ");
    mafat_writer_put_plain(w, f.name);
    mafat_writer_put(w, " ");
    mafat_writer_put(w, f.type);
    mafat_writer_put(w, "[");
    for (int k = 0; k < f.rank; k++) {
      if (k) mafat_writer_put(w, ", ");
      mafat_writer_put_integer(w, f.dims[k]);
    }
    mafat_writer_put(w, "]");
  }
  mafat_writer_put(w, "\n");
}

MAFAT_PART(opening)
void mafat_ports_inputs_text(const struct mafat_dry_run *q, struct mafat_writer *w)
{
  put_text(q, IN, w);
}

MAFAT_PART(opening)
void mafat_ports_outputs_text(const struct mafat_dry_run *q, struct mafat_writer *w)
{
  put_text(q, OUT, w);
}
