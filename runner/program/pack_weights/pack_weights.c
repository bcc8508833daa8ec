/* pack_weights: the weights of a Darknet network, or of an ONNX or TFLite model, in the order that the
 * kernels take them, for plans that read weights while they run. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/darknet/darknet.h"
#include "formats/darknet/fork.h"
#include "formats/packed/graph.h"
#include "runner/model_kind.h"
#include "runner/program/pack_weights/pack.h"
#include "runner/program/streams.h"
#include "runner/program/unfinished.h"

/* As in the project's other programs: BAD_INPUT is also the answer to misuse. */
enum status { DONE = 0, FAILED = 1, BAD_INPUT = 2 };

enum { MOST_CONSTANTS = 16 };

struct options {
  bool force, quiet, check;
  const char *constants[MOST_CONSTANTS]; /* "NAME=FILE" */
  int n_constants;
  const char *fork; /* NULL: auto */
  enum mafat_dtype type; /* of weights */
  bool typed;            /* somebody said so */
  bool whole_numbers;    /* activations */
  const char *picture;   /* to measure by; NULL: nothing is measured */
  struct mafat_pictures calibrate; /* owned */
  double most_error;     /* of a layer, from where on it is kept wider; INFINITY: none is */
  const char *cfg, *weights, *out; /* cfg: NULL where the weights are a model of another format */
};

static const char usage[] =
    "usage: pack_weights [options] MODEL.cfg MODEL.weights OUT.packed\n"
    "       pack_weights [options] MODEL.onnx|MODEL.tflite OUT.packed\n"
    "       pack_weights --activations int8 --calibrate PICTURE... MODEL... OUT.packed\n"
    "       pack_weights --check [--quiet] FILE.packed\n"
    "Write a network with its weights in the order that run_inference computes with,\n"
    "normalization folded in. A packed file takes the place of both .cfg and .weights, of\n"
    "the model with the files that it keeps constants in. Plans that read weights while\n"
    "they run read it faster and need less memory: what is read is used as it lies there,\n"
    "so that a part of a layer is enough.\n"
    "\n"
    "  --force    replace OUT.packed if it exists\n"
    "  --fork NAME  whose Darknet the network was trained by: darknet (pjreddie's),\n"
    "             alexeyab, or auto (default), as of run_inference, which is then to\n"
    "             be told the same\n"
    "  --constant NAME=FILE  an input of an ONNX or TFLite model that is known beforehand, as of\n"
    "             run_inference, which is not to be told of it again; 16 times at most\n"
    "  --weights TYPE  how convolutions' and connected layers' weights lie in the file:\n"
    "             float32 (default), fp16, int8 or int4. Fewer bytes to keep, or to read\n"
    "             for every picture; computing goes on in floats, and results differ by\n"
    "             what the type loses. Convolutions in groups have int8 for int4\n"
    "  --activations TYPE  float32 (default), or int8: convolutions between the first and\n"
    "             the last ones, and what lies between them, compute with whole numbers,\n"
    "             and --weights is int8; the rest stays as it is\n"
    "  --calibrate PICTURE  what these numbers mean is chosen by what layers put out for\n"
    "             it; as often as wanted, and more pictures may stand before the model.\n"
    "             Prints how far each layer moves, and which way of choosing moves\n"
    "             outputs least\n"
    "  --measure PICTURE  print how far types move what each layer puts out for this\n"
    "             picture, and the outputs with all of them\n"
    "  --keep-above ERROR  with either: a layer that is moved by more, such as 0.01, gets\n"
    "             the next wider type, until none is\n"
    "  --check    read a packed file and compare its checksums; write nothing\n"
    "  --quiet    no progress bar\n"
    "  --help     this text\n"
    "\n"
    "A cfg beside the file must fit: one whose layers differ in shape is refused. It holds\n"
    "about as many bytes as the weights did; packing takes a few megabytes of memory,\n"
    "but for --measure and --calibrate, which keep what all layers put out. The\n"
    "output is written as OUT.packed.part and renamed when it is whole.\n"
    "\n"
    "Exit status: 0 done, 1 failed while running, 2 misuse or bad input.\n"
    "\n"
    "Examples\n"
    "  pack_weights yolov2.cfg yolov2.weights yolov2.packed\n"
    "  pack_weights --weights int8 --measure dog.jpg --keep-above 0.02 yolov2.cfg \\\n"
    "    yolov2.weights yolov2-int8.packed\n"
    "  pack_weights --activations int8 --calibrate pictures/*.jpg yolov2.cfg \\\n"
    "    yolov2.weights yolov2-whole.packed\n"
    "  run_inference yolov2.packed dog.jpg\n"
    "  pack_weights yolox_nano.onnx yolox_nano.packed\n";

/* ---- progress ---- */

struct bar {
  const char *what;
  int percent; /* shown last */
};

static void show_bar(void *context, uint64_t done, uint64_t total)
{
  struct bar *b = context;
  int percent = total ? (int)((double)done * 100 / (double)total) : 100;
  if (percent == b->percent) return;
  b->percent = percent;
  fprintf(stderr, "\r%s %3d %%%s", b->what, percent, percent == 100 ? "\n" : "");
}

static void end_bar(const struct bar *b)
{
  if (b->percent >= 0 && b->percent < 100) fputc('\n', stderr);
}

/* ---- the file ---- */

static int replace(const char *from, const char *to, bool force, struct mafat_diagnostic *d)
{
  /* A link fails where the name exists by now; some file systems have none. */
  if (!force && link(from, to) == 0) {
    unlink(from);
    return MAFAT_OK;
  }
  if (!force && errno == EEXIST) return mafat_fail(d, MAFAT_EIO, "%s: exists; --force replaces it", to);
  return rename(from, to) == 0 ? MAFAT_OK : mafat_fail(d, MAFAT_EIO, "%s: %s", to, strerror(errno));
}

static bool is_file(const char *path, const struct stat *other)
{
  struct stat st;
  return stat(path, &st) == 0 && st.st_dev == other->st_dev && st.st_ino == other->st_ino;
}

/* Is this path, which will be written, one of those that are read? */
static int check_apart(const struct options *o, const char *path, struct mafat_diagnostic *d)
{
  struct stat out;
  const char *same = NULL;
  if (stat(path, &out) != 0) return MAFAT_OK;
  if (is_file(o->weights, &out)) same = o->cfg ? "weights" : "model";
  if (o->cfg && is_file(o->cfg, &out)) same = "cfg";
  return same ? mafat_fail(d, MAFAT_EINVAL, "%s: expected a file of its own for the output, found the %s", path, same)
              : MAFAT_OK;
}

/* The files that a model keeps constants in: are they there, and is none of them this path? */
static int check_files(const struct mafat_network *n, const char *path, struct mafat_diagnostic *d)
{
  struct stat in, out;
  bool exists = stat(path, &out) == 0;
  for (int i = 0; i < n->n_files; i++) {
    if (stat(n->files[i], &in) != 0 || access(n->files[i], R_OK) != 0) return mafat_fail(d, MAFAT_EINVAL, "%s: cannot open: %s", n->files[i], strerror(errno));
    if (!S_ISREG(in.st_mode)) return mafat_fail(d, MAFAT_EINVAL, "%s: expected a regular file", n->files[i]);
    if (exists && is_file(n->files[i], &out))
      return mafat_fail(d, MAFAT_EINVAL, "%s: expected a file of its own for the output, found constants of the model", path);
  }
  return MAFAT_OK;
}

/* How a model is read, once more if need be. */
typedef int read_function(void *context, struct mafat_network **n, struct mafat_diagnostic *d);

/* Under its own name only when it is whole. */
static int write_file(struct mafat_network *n, const struct mafat_packed_origin *origin, const struct options *o, read_function *read,
                      void *context, const struct mafat_packer_progress *progress, struct mafat_diagnostic *d)
{
  char temporary[4096];
  const char *picture = o->picture;
  if (snprintf(temporary, sizeof temporary, "%s.part", o->out) >= (int)sizeof temporary)
    return mafat_fail(d, MAFAT_EIO, "%.60s...: the name is too long", o->out);
  if (check_apart(o, temporary, d) || check_files(n, temporary, d) || check_files(n, o->out, d))
    return MAFAT_EINVAL;
  int fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return mafat_fail(d, MAFAT_EIO, "%s: %s", temporary, strerror(errno));
  mafat_unfinished_remember(temporary);
  const struct mafat_packing packing = {
      .fd = fd, .path = temporary, .out = o->out, .weights = o->weights, .origin = *origin, .progress = progress, .type = o->type,
      .whole_numbers = o->whole_numbers, .calibrate = o->calibrate, .measure = {&picture, picture != NULL}, .most_error = o->most_error,
      .read = read, .context = context};
  int code = mafat_pack_file(&packing, n, d);
  if (close(fd) != 0 && code == MAFAT_OK) code = mafat_fail(d, MAFAT_EIO, "%s: %s", o->out, strerror(errno));
  if (code == MAFAT_OK && mafat_streams_finish()) code = mafat_fail(d, MAFAT_EIO, "cannot write to standard output: %s", strerror(errno));
  if (code == MAFAT_OK) code = replace(temporary, o->out, o->force, d);
  if (code != MAFAT_OK) unlink(temporary);
  mafat_unfinished_remember("");
  return code;
}

/* Neither a folder nor a device is a source, or gives way to a file. */
static int check_paths(const struct options *o, struct mafat_diagnostic *d)
{
  struct stat in, out;
  bool exists = lstat(o->out, &out) == 0;
  if (exists && !o->force) return mafat_fail(d, MAFAT_EINVAL, "%s: exists; --force replaces it", o->out);
  if (exists && !S_ISREG(out.st_mode) && !S_ISLNK(out.st_mode))
    return mafat_fail(d, MAFAT_EINVAL, "%s: exists, and is no regular file: not replaced", o->out);
  if (stat(o->weights, &in) != 0 || access(o->weights, R_OK) != 0)
    return mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", o->weights, strerror(errno));
  if (!S_ISREG(in.st_mode)) return mafat_fail(d, MAFAT_EIO, "%s: expected a regular file", o->weights);
  /* A link gives way itself, not what it points to. */
  return exists && S_ISREG(out.st_mode) ? check_apart(o, o->out, d) : MAFAT_OK;
}

static int status_of(int code)
{
  return code == MAFAT_OK ? DONE : code == MAFAT_EIO || code == MAFAT_ENOMEM ? FAILED : BAD_INPUT;
}

struct darknet {
  struct mafat_darknet_wish wish;
  struct mafat_cfg *cfg;
};

static int read_darknet(void *context, struct mafat_network **n, struct mafat_diagnostic *d)
{
  const struct darknet *model = context;
  return mafat_darknet_make(n, model->cfg, &model->wish, NULL, d);
}

static int pack_darknet(const struct options *o, const struct mafat_packer_progress *progress, struct mafat_diagnostic *d)
{
  struct darknet model = {.cfg = NULL};
  struct mafat_network *n = NULL;
  int status = BAD_INPUT;
  if (mafat_fork_find(&model.wish.fork, o->fork, d) == MAFAT_OK && check_paths(o, d) == MAFAT_OK &&
      mafat_cfg_read(&model.cfg, o->cfg, d) == MAFAT_OK && read_darknet(&model, &n, d) == MAFAT_OK)
    status = status_of(write_file(n, &(struct mafat_packed_origin){.cfg = model.cfg}, o, read_darknet, &model, progress, d));
  mafat_network_close(&n);
  mafat_cfg_close(&model.cfg);
  return status;
}

static int find_format(enum mafat_format *format, const char *path, struct mafat_diagnostic *d)
{
  switch (mafat_model_format_of(path)) {
  case MAFAT_MODEL_ONNX: *format = MAFAT_FORMAT_ONNX; return MAFAT_OK;
  case MAFAT_MODEL_TFLITE: *format = MAFAT_FORMAT_TFLITE; return MAFAT_OK;
  case MAFAT_MODEL_CFG: return mafat_fail(d, MAFAT_EINVAL, "%s: expected an ONNX or TFLite model, or MODEL.cfg with MODEL.weights", path);
  default: return mafat_fail(d, MAFAT_EINVAL, "%s: is a packed weights file already", path);
  }
}

struct graph {
  enum mafat_format format;
  const char *path;
  struct mafat_given given;
};

static int read_graph(void *context, struct mafat_network **n, struct mafat_diagnostic *d)
{
  const struct graph *model = context;
  struct mafat_excerpt *excerpt = NULL;
  int code = mafat_packed_graph_read(n, &excerpt, model->format, model->path, &model->given, d);
  mafat_excerpt_close(&excerpt);
  return code;
}

static int pack_model(const struct options *o, const struct mafat_packer_progress *progress, struct mafat_diagnostic *d)
{
  struct mafat_network *n = NULL;
  struct mafat_excerpt *excerpt = NULL;
  struct graph model = {MAFAT_FORMAT_ONNX, o->weights, {o->constants, o->n_constants}};
  int status = BAD_INPUT;
  if (check_paths(o, d) == MAFAT_OK && find_format(&model.format, o->weights, d) == MAFAT_OK &&
      mafat_packed_graph_read(&n, &excerpt, model.format, o->weights, &model.given, d) == MAFAT_OK)
    status = status_of(write_file(n, &(struct mafat_packed_origin){.excerpt = excerpt}, o, read_graph, &model, progress, d));
  mafat_network_close(&n);
  mafat_excerpt_close(&excerpt);
  return status;
}

static int check(const struct options *o, const struct mafat_packer_progress *progress, struct mafat_diagnostic *d)
{
  int code = mafat_packer_check(o->out, progress, d);
  return code == MAFAT_OK ? DONE : code == MAFAT_ENOMEM ? FAILED : BAD_INPUT;
}

/* ---- the command line ---- */

static int misused(const char *what, const char *value)
{
  fprintf(stderr, "pack_weights: %s%s%s%s; --help lists the options\n", what, value ? " '" : "",
          value ? value : "", value ? "'" : "");
  return BAD_INPUT;
}

static bool read_error(double *error, const char *text)
{
  char *end;
  *error = strtod(text, &end);
  return end > text && !*end && *error >= 0 && isfinite(*error);
}

/* Pictures before the model are for calibrating, too: `--calibrate *.jpg`. Returns how many arguments are left at the end. */
static int take_pictures(struct options *o, char **arguments, int n)
{
  if (o->calibrate.n == 0 || n < 3) return n;
  enum mafat_model_format format = mafat_model_format_of(arguments[n - 2]);
  int of_model = format == MAFAT_MODEL_ONNX || format == MAFAT_MODEL_TFLITE ? 2 : 3;
  for (int i = 0; i < n - of_model; i++) o->calibrate.list[o->calibrate.n++] = arguments[i];
  return of_model;
}

/* What activations ask for. -1: go on. */
static int check_activations(struct options *o)
{
  if (!o->whole_numbers) return o->calibrate.n ? misused("--calibrate expects --activations int8 beside it", NULL) : -1;
  if (o->calibrate.n == 0) return misused("--activations int8 expects --calibrate PICTURE beside it", NULL);
  if (o->typed && o->type != MAFAT_I8) return misused("--activations int8 expects --weights int8, or none", NULL);
  o->type = MAFAT_I8;
  return -1;
}

/* -1: go on; else the exit status. */
static int read_options(int argc, char **argv, struct options *o)
{
  static const struct option names[] = {{"force", no_argument, NULL, 'f'},
                                        {"fork", required_argument, NULL, 'k'},
                                        {"constant", required_argument, NULL, 'n'},
                                        {"weights", required_argument, NULL, 'w'},
                                        {"activations", required_argument, NULL, 'i'},
                                        {"calibrate", required_argument, NULL, 'b'},
                                        {"measure", required_argument, NULL, 'm'},
                                        {"keep-above", required_argument, NULL, 'a'},
                                        {"check", no_argument, NULL, 'c'},
                                        {"quiet", no_argument, NULL, 'q'},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, ":", names, NULL)) != -1;) {
    switch (c) {
    case 'f': o->force = true; break;
    case 'k': o->fork = optarg; break;
    case 'w':
      if (!mafat_dtype_find_packing(&o->type, optarg)) return misused("--weights expects float32, fp16, int8 or int4, found", optarg);
      o->typed = true;
      break;
    case 'i':
      o->whole_numbers = strcmp(optarg, "int8") == 0;
      if (!o->whole_numbers && strcmp(optarg, "float32") != 0) return misused("--activations expects float32 or int8, found", optarg);
      break;
    case 'b': o->calibrate.list[o->calibrate.n++] = optarg; break;
    case 'm': o->picture = optarg; break;
    case 'a':
      if (!read_error(&o->most_error, optarg)) return misused("--keep-above expects a number, 0 or more, found", optarg);
      break;
    case 'c': o->check = true; break;
    case 'n':
      if (!strchr(optarg, '=')) return misused("--constant expects NAME=FILE, found", optarg);
      if (o->n_constants == MOST_CONSTANTS) return misused("--constant is to be given 16 times at most, found", optarg);
      o->constants[o->n_constants++] = optarg;
      break;
    case 'q': o->quiet = true; break;
    case 'h': fputs(usage, stdout); return mafat_streams_finish() == 0 ? DONE : FAILED;
    case ':': return misused("expected a value after", argv[optind - 1]);
    default: return misused("unknown option", argv[optind - 1]);
    }
  }
  int n = take_pictures(o, argv + optind, argc - optind), status;
  if (o->most_error < INFINITY && !o->picture && !o->whole_numbers) return misused("--keep-above expects --measure PICTURE beside it", NULL);
  if (o->check && (o->whole_numbers || o->calibrate.n))
    return misused("--activations and --calibrate make no sense with --check: nothing is packed", NULL);
  if ((status = check_activations(o)) >= 0) return status;
  if (o->check && (o->type != MAFAT_F32 || o->picture)) return misused("--weights and --measure make no sense with --check: nothing is packed", NULL);
  if (o->check && o->fork) return misused("--fork makes no sense with --check: nothing is packed", NULL);
  if (o->check && o->n_constants) return misused("--constant makes no sense with --check: nothing is packed", NULL);
  if (o->n_constants && n == 3)
    return misused("--constant is of ONNX and TFLite models: expected one of them and OUT.packed", NULL);
  if (o->check && n != 1) return misused("expected one FILE.packed after --check", NULL);
  if (!o->check && n != 2 && n != 3)
    return misused("expected MODEL.cfg, MODEL.weights and OUT.packed, or MODEL.onnx or MODEL.tflite and OUT.packed", NULL);
  if (!o->check && n == 2 && o->fork) return misused("--fork is of Darknet's networks: expected MODEL.cfg, MODEL.weights and OUT.packed", NULL);
  o->out = argv[argc - 1];
  if (o->check) return -1;
  if (n == 3) o->cfg = argv[argc - 3];
  o->weights = argv[argc - 2];
  return -1;
}

int main(int argc, char **argv)
{
  struct options o = {.type = MAFAT_F32, .most_error = INFINITY};
  struct mafat_diagnostic d = {""};
  mafat_streams_hold();
  o.calibrate.list = calloc((size_t)argc, sizeof *o.calibrate.list);
  if (!o.calibrate.list) {
    fputs("pack_weights: out of memory\n", stderr);
    return FAILED;
  }
  int status = read_options(argc, argv, &o);
  if (status >= 0) {
    free(o.calibrate.list);
    return status;
  }
  mafat_unfinished_mind_signals();
  struct bar bar = {o.check ? "checking" : "packing", -1};
  struct mafat_packer_progress progress = {o.quiet || !isatty(STDERR_FILENO) ? NULL : show_bar, &bar};
  status = o.check ? check(&o, &progress, &d) : o.cfg ? pack_darknet(&o, &progress, &d) : pack_model(&o, &progress, &d);
  if (status != DONE) {
    end_bar(&bar);
    fprintf(stderr, "pack_weights: %s\n", d.text);
  }
  free(o.calibrate.list);
  return status;
}
