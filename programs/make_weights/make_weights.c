/* make_weights writes deterministic random weights for a .cfg, in Darknet's .weights format, or a
 * copy of an ONNX or TFLite model with random weights. Any network can then be run, timed and
 * compared without a trained file. The convolutions before Darknet's detection heads get weights
 * with which a picture gives some detections, not none or all. Started by the shell or by
 * programs/mafat. Reads the cfg or model; writes the output, and copies of a model's constants
 * files beside it. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/model_files.h"
#include "base/file_state.h"
#include "formats/darknet/darknet.h"
#include "include/mafat_file.h"
#include "include/mafat_pack.h"
#include "network/constant.h"
#include "programs/make_weights/like.h"
#include "programs/make_weights/numbers.h"
#include "programs/make_weights/recipe.h"
#include "programs/shared/option.h"
#include "programs/shared/streams.h"
#include "programs/shared/unfinished.h"
#include "runner/weights/weights.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, ".weights files are little-endian");

enum { PATH_ROOM = 4096 };

/* Exit status, the same as in the project's other programs. BAD_INPUT is also wrong usage. */
enum make_status { DONE = 0, FAILED = 1, BAD_INPUT = 2 };

#define OPTIONS_OF_MAKE
#define OPTIONS_STRUCT struct make_options

struct make_options {
#include "programs/shared/option_members.h"
  uint64_t chance;       /* seed of the random numbers: the value of --seed, or 1 */
  const char *cfg, *out; /* cfg: NULL with --like */
};

#include "programs/shared/option_rows.h"

#include "programs/shared/option_help.h"

static const char *program; /* name that messages begin with */

static const char usage[] =
    "usage: % [--seed N] [--quiet] MODEL.cfg OUT.weights\n"
    "       % [--seed N] [--quiet] --like MODEL.onnx|MODEL.tflite OUT\n"
    "Write random weights for MODEL.cfg in Darknet's format; the same seed gives the same file.\n"
    "\n";

static const char usage_end[] =
    "\n"
    "Exit status: 0 done, 1 the file could not be written, 2 wrong options or a bad model.\n";

/* ---- The file ---- */

static void put_biases(struct numbers_file *w, const struct mafat_layer *head, uint64_t n,
                       float branch)
{
  for (uint64_t i = 0; i < n; i++)
    numbers_put(w, 1, head ? aim_filter(head, (int)i).bias : 0, .1f * branch);
}

/* Scales, means, variances. */
static void put_normalization(struct numbers_file *w, uint64_t filters, float scale)
{
  numbers_put(w, filters, scale, .1f * scale);
  numbers_put(w, filters, 0, .1f);
  numbers_put(w, filters, 1, .2f);
}

static void put_weights(struct numbers_file *w, const struct mafat_layer *head, uint64_t n,
                        uint64_t filters, float limit)
{
  for (uint64_t i = 0; i < filters; i++)
    numbers_put(w, n / filters, 0, limit * (head ? aim_filter(head, (int)i).gain : 1));
}

/* Writes a layer's constants in the order of the file. r->branch (recipe.h) multiplies the biases,
 * and the scales if the layer is normalized, else the weights. */
static void put_layer(struct numbers_file *w, const struct mafat_network *n, int index,
                      const struct recipe *r)
{
  const struct mafat_layer_constants *c = &n->constants->layers[index];
  bool aimed = r->head >= 0 && mafat_layer_has_panels(&n->layers[index]);
  const struct mafat_layer *head = aimed ? &n->layers[r->head] : NULL;
  uint64_t normalized = c->normalization.n / 3;
  bool after = c->normalization.at > c->weights.at;
  put_biases(w, head, c->biases.n, r->branch);
  if (normalized && !after) put_normalization(w, normalized, r->branch);
  put_weights(w, head, c->weights.n, c->biases.n, r->limit * (normalized ? 1 : r->branch));
  if (normalized && after) put_normalization(w, normalized, r->branch);
}

static void put_header(FILE *file)
{
  static const int32_t version[3] = {0, 2, 0}; /* major, minor, revision */
  static const uint64_t seen = 0;              /* training pictures */
  fwrite(version, sizeof version, 1, file);
  fwrite(&seen, sizeof seen, 1, file);
}

static int write_weights(FILE *file, const struct mafat_network *n, const struct make_options *o,
                         struct mafat_diagnostic *d)
{
  struct numbers_file w;
  struct recipe *recipes = NULL;
  int code = make_recipes(&recipes, n, d);
  if (code) return code;
  if (numbers_open(&w, file, o->chance, mafat_weights_payload_bytes(n) / sizeof(float), o->quiet)) {
    put_header(file);
    for (int i = 0; i < n->n_layers; i++) put_layer(&w, n, i, &recipes[i]);
    numbers_close(&w);
  } else {
    code = mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", o->out);
  }
  free(recipes);
  return code;
}

/* Writes one output: for number 0 the model, for number n its n-th file of constants. The file gets
 * its name only when it is complete. */
static int write_file(const char *out, int number, const struct mafat_network *n,
                      const struct make_options *o, struct mafat_diagnostic *d)
{
  int fd = mafat_unfinished_create(out);
  if (fd < 0) return mafat_fail(d, MAFAT_EIO, "%s: %s", out, strerror(errno));
  FILE *file = fdopen(fd, "wb");
  int code = MAFAT_OK;
  if (file)
    code = o->like ? like_write(file, n, number, o->chance, o->quiet, d)
                   : write_weights(file, n, o, d);
  bool failed = !file || ferror(file);
  if (file ? fclose(file) != 0 : close(fd) != 0) failed = true;
  if (code == MAFAT_OK && (failed || mafat_unfinished_finish() != 0))
    code = mafat_fail(d, MAFAT_EIO, "%s: %s", out, strerror(errno));
  if (code != MAFAT_OK) mafat_unfinished_drop();
  return code;
}

/* Makes the path of the copy of a constants file. Its path relative to OUT's folder is that of the
 * original relative to the model's folder. */
static int place_beside(char *path, size_t capacity, const char *file, const struct make_options *o,
                        struct mafat_diagnostic *d)
{
  const char *from = strrchr(o->like, '/'), *to = strrchr(o->out, '/');
  size_t folder = from ? (size_t)(from + 1 - o->like) : 0;
  int n =
      snprintf(path, capacity, "%.*s%s", to ? (int)(to + 1 - o->out) : 0, o->out, file + folder);
  return n >= 0 && (size_t)n < capacity
             ? MAFAT_OK
             : mafat_fail(d, MAFAT_EIO, "%.60s...: the name is too long", o->out);
}

static int folder_of(const char *path, struct stat *st)
{
  char folder[PATH_ROOM];
  const char *slash = strrchr(path, '/');
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash + 1 - path) : 1, slash ? path : ".");
  return stat(folder, st);
}

/* True if both paths name the same file. It need not exist: names and folders are compared. */
static bool is_one_place(const char *a, const char *b)
{
  struct stat x, y;
  const char *of_a = strrchr(a, '/'), *of_b = strrchr(b, '/');
  if (strcmp(of_a ? of_a + 1 : a, of_b ? of_b + 1 : b) != 0) return false;
  return folder_of(a, &x) == 0 && folder_of(b, &y) == 0 && mafat_is_one_file(&x, &y);
}

/* Checks that the model's constants files can be read and that their copies overwrite no file. */
static int check_beside(const struct mafat_network *n, const struct make_options *o,
                        struct mafat_diagnostic *d)
{
  char path[PATH_ROOM];
  struct stat st;
  for (int i = 0; i < n->n_files; i++) {
    int code = place_beside(path, sizeof path, n->files[i], o, d);
    if (code) return code;
    if (access(n->files[i], R_OK) != 0)
      return mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", n->files[i], strerror(errno));
    if (stat(path, &st) == 0)
      return mafat_fail(d, MAFAT_EINVAL,
                        "%s: exists; the model's constants in other files are copied beside %s: "
                        "expected another folder for it",
                        path, o->out);
    if (is_one_place(path, o->out))
      return mafat_fail(
          d, MAFAT_EINVAL,
          "%s: expected a name of its own for the output, found that of the model's constants",
          o->out);
  }
  return MAFAT_OK;
}

/* Removes the first n of the files with constants. */
static void remove_files(const struct mafat_network *network, int n, const struct make_options *o)
{
  char path[PATH_ROOM];
  for (int i = 0; i < n; i++)
    if (place_beside(path, sizeof path, network->files[i], o, NULL) == MAFAT_OK) unlink(path);
}

/* Writes the constants files first and the model last, so that a model never lacks its files. On
 * failure removes the files. */
static int write_files(const struct mafat_network *n, const struct make_options *o,
                       struct mafat_diagnostic *d)
{
  char path[PATH_ROOM];
  int code = MAFAT_OK, written = 0;
  while (written < n->n_files && code == MAFAT_OK) {
    code = place_beside(path, sizeof path, n->files[written], o, d);
    if (code == MAFAT_OK) code = write_file(path, written + 1, n, o, d);
    if (code == MAFAT_OK) written++;
  }
  if (code == MAFAT_OK) code = write_file(o->out, 0, n, o, d);
  if (code) remove_files(n, written, o);
  return code;
}

/* ---- The command line ---- */

static int misused(const char *what, const char *value)
{
  mafat_streams_complain(program, "%s%s%s%s; see --help", what, value ? " '" : "",
                         value ? value : "", value ? "'" : "");
  return BAD_INPUT;
}

static int refuse_option(const struct mafat_option_reader *r)
{
  mafat_streams_complain(program, "%s", r->refused);
  return BAD_INPUT;
}

static void print_entry(struct option_walk *w)
{
  enum { COLUMN = 13 };
  option_help_print(&w->entry, COLUMN);
}

static int print_help(void)
{
  struct option_walk w = {.program = ANY, .emit = print_entry};
  mafat_streams_put_named(usage, program);
  option_walk(&w);
  return mafat_streams_say(program, usage_end) == 0 ? DONE : FAILED;
}

static bool read_seed(struct make_options *o)
{
  char *end;
  errno = 0;
  o->chance = o->seed ? strtoull(o->seed, &end, 10) : 1;
  return !o->seed || (*o->seed >= '0' && *o->seed <= '9' && !*end && !errno);
}

/* Returns -1 to continue; else the exit status. */
static int read_options(int argc, char **argv, struct make_options *o)
{
  struct mafat_option_reader r;
  enum mafat_option_answer answer;
  mafat_option_begin(&r, &options_table, ANY, argc, argv);
  while ((answer = mafat_option_next(&r, o)) == MAFAT_OPTION_READ) {
    if (o->show_help) return print_help();
    if (o->show_version)
      return mafat_streams_say_version(program) == 0 ? DONE : FAILED;
    if (!read_seed(o)) return misused("--seed expects a number from 0 to 2^64 - 1, found", o->seed);
  }
  if (answer != MAFAT_OPTION_END) return refuse_option(&r);
  if (o->like && argc - optind != 1) return misused("expected one OUT behind --like MODEL", NULL);
  if (!o->like && argc - optind != 2) return misused("expected MODEL.cfg and OUT.weights", NULL);
  if (!o->like) o->cfg = argv[optind];
  o->out = argv[argc - 1];
  return -1;
}

/* Fails if the output would replace a device or the file that is read. */
static int check_output(const struct make_options *o, struct mafat_diagnostic *d)
{
  struct stat in, out;
  if (stat(o->out, &out) != 0) return MAFAT_OK;
  if (!S_ISREG(out.st_mode))
    return mafat_fail(d, MAFAT_EINVAL, "%s: exists, and is no regular file: not replaced", o->out);
  if (stat(o->like ? o->like : o->cfg, &in) != 0 || !mafat_is_one_file(&in, &out)) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EINVAL, "%s: expected another file for the output, found the %s",
                    o->out, o->like ? "model" : "cfg");
}

/* Reads the cfg, or the model that is copied. */
static int read_network(struct mafat_network **n, const struct make_options *o,
                        struct mafat_diagnostic *d)
{
  struct stat in;
  int code = check_output(o, d);
  if (code) return code;
  if (!o->like) return mafat_darknet_read(n, o->cfg, NULL, NULL, d);
  if (stat(o->like, &in) != 0)
    return mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", o->like, strerror(errno));
  if (!S_ISREG(in.st_mode)) return mafat_fail(d, MAFAT_EIO, "%s: expected a regular file", o->like);
  if (!mafat_holds_weights(o->like) || mafat_is_packed(o->like))
    return mafat_fail(d, MAFAT_EINVAL, "%s: expected an ONNX or TFLite model", o->like);
  code = mafat_model_network(n, o->like, NULL, NULL, NULL, d);
  return code ? code : check_beside(*n, o, d);
}

int main(int argc, char **argv)
{
  struct make_options o = {.chance = 1};
  struct mafat_diagnostic d = {""};
  struct mafat_network *n = NULL;
  program = mafat_streams_installed(argv[0], "mafat-weights", "make_weights");
  mafat_streams_hold();
  int status = read_options(argc, argv, &o);
  if (status >= 0) return status;
  mafat_unfinished_mind_signals();
  status = DONE;
  int code = read_network(&n, &o, &d);
  if (code != MAFAT_OK) {
    status = BAD_INPUT;
  } else {
    code = write_files(n, &o, &d);
    if (code != MAFAT_OK)
      status = code == MAFAT_EUNSUPPORTED || code == MAFAT_EFORMAT ? BAD_INPUT : FAILED;
  }
  if (code != MAFAT_OK) mafat_streams_complain(program, "%s", d.text);
  mafat_network_close(&n);
  return status;
}
