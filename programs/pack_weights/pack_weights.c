/* Program pack_weights: writes a Darknet, ONNX or TFLite model as one packed file, with the weights
 * in the order in which the kernels read them, for plans that stream weights during a run; or
 * checks a packed file. Reads the model and pictures; writes OUT.packed.part and renames it. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mebibytes.h"
#include "base/utf8.h"
#include "include/mafat_file.h"
#include "include/mafat_pack.h"
#include "programs/shared/option.h"
#include "programs/shared/progress.h"
#include "programs/shared/streams.h"
#include "programs/shared/unfinished.h"
#include "runner/weights/packer.h"

/* Exit status, the same as in the project's other programs. BAD_INPUT is also wrong usage. */
enum pack_status { DONE = 0, FAILED = 1, BAD_INPUT = 2 };

#define OPTIONS_OF_PACK
#define OPTIONS_STRUCT struct pack_options

struct pack_options {
#include "programs/shared/option_members.h"
  struct mafat_pack_options pack;    /* its lists are `pictures` and those of the members above */
  const char **pictures;             /* pictures to calibrate by; the list is owned */
  const char *model, *weights,
      *out; /* weights: NULL if the model is not a cfg */
};

#include "programs/shared/option_rows.h"

#include "programs/shared/option_help.h"

static const char *program; /* name that messages begin with */

static const char usage[] =
    "usage: % [options] MODEL.cfg MODEL.weights OUT.packed\n"
    "       % [options] MODEL.onnx|MODEL.tflite OUT.packed\n"
    "       % --activations int8 --calibrate PICTURE... MODEL... OUT.packed\n"
    "       % --check [--quiet] FILE.packed\n"
    "Writes a network with its weights in the order that run_inference computes with.\n"
    "Such a file takes the place of the model's files. It needs less memory and is faster\n"
    "where weights are read for every picture.\n"
    "\n";

static const char usage_end[] =
    "\n"
    "Examples\n"
    "  % yolov2.cfg yolov2.weights yolov2.packed\n"
    "  % --weights int8 yolox_nano.onnx yolox_nano.packed\n"
    "  run_inference yolov2.packed dog.jpg\n"
    "\n"
    "Exit status: 0 done, 1 failed while running, 2 bad options or input.\n";

static const char usage_end_all[] =
    "\n"
    "A cfg given beside a packed file must fit: one with layers of other shapes is\n"
    "rejected. A packed file has about as many bytes as the weights. Packing takes a few\n"
    "megabytes of memory; --measure and --calibrate keep the outputs of all layers. The\n"
    "output is written as OUT.packed.part and renamed when it is complete.\n"
    "\n"
    "Exit status: 0 done, 1 failed while running, 2 bad options or input.\n"
    "\n"
    "Examples\n"
    "  % yolov2.cfg yolov2.weights yolov2.packed\n"
    "  % --weights int8 --measure dog.jpg --keep-above 0.02 yolov2.cfg \\\n"
    "    yolov2.weights yolov2-int8.packed\n"
    "  % --activations int8 --calibrate pictures/*.jpg yolov2.cfg \\\n"
    "    yolov2.weights yolov2-whole.packed\n"
    "  run_inference yolov2.packed dog.jpg\n"
    "  % yolox_nano.onnx yolox_nano.packed\n";

/* ---- progress ---- */

static void show_bytes(void *context, uint64_t done, uint64_t total)
{
  (void)context;
  mafat_progress_show(total ? (double)done / (double)total : 1);
}

/* ---- measurements ---- */

static void print_candidates(const struct mafat_pack *pack, const struct mafat_pack_facts *facts)
{
  struct mafat_pack_candidate_facts candidate = {.size = sizeof candidate};
  for (int i = 0; i < facts->n_candidates && mafat_pack_candidate(pack, i, &candidate) == MAFAT_OK;
       i++)
    printf("ranges by %s, channels %s: outputs are off by %.2g%s\n", candidate.ranges,
           candidate.equalized ? "equalized" : "as they are", candidate.error,
           candidate.taken ? ", taken" : "");
}

static int print_measured(const struct mafat_pack *pack, const struct mafat_pack_facts *facts,
                          struct mafat_diagnostic *d)
{
  struct mafat_pack_layer_facts l = {.size = sizeof l};
  bool computes = facts->n_candidates > 0;
  mafat_progress_erase();
  print_candidates(pack, facts);
  printf("layer  kind             %sweights    bytes      error      largest\n",
         computes ? "computes  " : "");
  for (int i = 0; i < facts->n_layers && mafat_pack_layer(pack, i, &l) == MAFAT_OK; i++) {
    printf("%5d  %-15s  ", l.layer, l.type);
    if (computes) printf("%-8s  ", l.computes);
    printf("%-8s %10zu  %9.2g  %9.2g%s\n", l.weights ? l.weights : "", l.bytes, l.error, l.largest,
           l.kept ? "  kept wider" : "");
  }
  printf("outputs, with all of them: error %.2g, largest %.2g\n", facts->error, facts->largest);
  return mafat_streams_finish() == 0
             ? MAFAT_OK
             : mafat_fail(d, MAFAT_EIO, "cannot write to standard output: %s", strerror(errno));
}

/* ---- the file ---- */

static int status_of(int code)
{
  return code == MAFAT_OK ? DONE : code == MAFAT_EIO || code == MAFAT_ENOMEM ? FAILED : BAD_INPUT;
}

/* Exit status of a failure: an unreadable file is bad input. */
static int refusal_of(int code)
{
  return code == MAFAT_ENOMEM ? FAILED : BAD_INPUT;
}

/* Writes the file. Prints all measurements before the last step, which gives the file its name. */
static int write_file(struct mafat_pack *pack, struct mafat_diagnostic *d)
{
  struct mafat_pack_facts facts = {.size = sizeof facts};
  int code = MAFAT_OK;
  for (bool done = false; code == MAFAT_OK && !done;) {
    code = mafat_pack_step(pack, &done, d);
    mafat_pack_describe(pack, &facts);
    if (code == MAFAT_OK && !done) mafat_unfinished_remember(facts.path);
    if (code == MAFAT_OK) mafat_progress_show(facts.share);
    if (code == MAFAT_OK && !done && facts.n_layers > 0) code = print_measured(pack, &facts, d);
  }
  return code;
}

/* Prints the file's size and a command that runs it. */
static int say_packed(const char *path)
{
  char line[PATH_MAX * 2 + 100];
  struct stat st = {.st_size = 0};
  stat(path, &st);
  snprintf(line, sizeof line, "%s: packed, %.1f MiB; try: %s %s IMAGE", path,
           mafat_mebibytes((size_t)st.st_size),
           strncmp(program, "mafat", 5) == 0 ? "mafat run" : "run_inference", path);
  mafat_utf8_keep_to_one_line(line);
  mafat_progress_erase();
  puts(line);
  return mafat_streams_say(program, "") == 0 ? DONE : FAILED;
}

static int pack_model(const struct pack_options *o, struct mafat_diagnostic *d)
{
  struct mafat_pack *pack;
  int code = mafat_pack_open(&pack, o->model, o->weights, o->out, &o->pack, d);
  if (code != MAFAT_OK) return refusal_of(code);
  int status = status_of(write_file(pack, d));
  mafat_pack_close(&pack);
  mafat_unfinished_remember("");
  bool table = o->pack.measure || o->pack.n_calibrate > 0; /* printed in place of the line */
  return status == DONE && !o->quiet && !table ? say_packed(o->out) : status;
}

static int check(const struct pack_options *o, struct mafat_diagnostic *d)
{
  const struct mafat_packer_progress progress = {show_bytes, NULL};
  int code = mafat_packer_check(o->out, &progress, d);
  return code == MAFAT_OK ? DONE : refusal_of(code);
}

static void warn(void *context, const char *text)
{
  (void)context;
  mafat_progress_erase();
  mafat_streams_complain(program, "%s", text);
}

/* ---- the command line ---- */

static int misused(const char *what, const char *value)
{
  mafat_streams_complain(program, "%s%s%s%s; see --help", what, value ? " '" : "",
                         value ? value : "", value ? "'" : "");
  return BAD_INPUT;
}

/* Takes arguments before the model as further pictures to calibrate by: `--calibrate *.jpg`.
 * Returns the number of arguments that are left at the end. */
static int take_pictures(struct pack_options *o, char **arguments, int n)
{
  if (o->pack.n_calibrate == 0 || n < 3) return n;
  const char *last = arguments[n - 2];
  int of_model = mafat_holds_weights(last) && !mafat_is_packed(last) ? 2 : 3;
  for (int i = 0; i < n - of_model; i++) o->pictures[o->pack.n_calibrate++] = arguments[i];
  return of_model;
}

/* Checks the options that --activations needs. -1: continue; else the exit status. */
static int check_activations(const struct mafat_pack_options *o)
{
  if (!o->activations)
    return o->n_calibrate ? misused("--calibrate expects --activations int8 beside it", NULL) : -1;
  if (o->n_calibrate == 0)
    return misused("--activations int8 expects --calibrate PICTURE beside it", NULL);
  if (o->weights && strcmp(o->weights, "int8") != 0)
    return misused("--activations int8 expects --weights int8, or none", NULL);
  return -1;
}

static bool stores_options(const struct mafat_pack_options *p)
{
  return p->mean || p->scale || p->channels || p->resize || p->pad || p->decode;
}

/* -1: go on; else the exit status. */
static int check_options(struct pack_options *o, int argc, char **argv)
{
  int n = take_pictures(o, argv + optind, argc - optind), status;
  const struct mafat_pack_options *p = &o->pack;
  if (p->keep_above && !p->measure && !p->activations)
    return misused("--keep-above expects --measure PICTURE beside it", NULL);
  if (o->check && (p->activations || p->n_calibrate))
    return misused("--activations and --calibrate make no sense with --check: nothing is packed",
                   NULL);
  if ((status = check_activations(p)) >= 0) return status;
  if (o->check && ((o->type && strcmp(o->type, "float32") != 0) || p->measure))
    return misused("--weights and --measure make no sense with --check: nothing is packed", NULL);
  if (o->check && p->fork)
    return misused("--fork makes no sense with --check: nothing is packed", NULL);
  if (o->check && p->n_constants)
    return misused("--constant makes no sense with --check: nothing is packed", NULL);
  if (o->check && stores_options(p))
    return misused("options of pictures and outputs make no sense with --check: nothing is packed",
                   NULL);
  if (p->decode && n == 3)
    return misused("--decode is of ONNX and TFLite models: expected one of them and OUT.packed",
                   NULL);
  if (p->n_constants && n == 3)
    return misused("--constant is of ONNX and TFLite models: expected one of them and OUT.packed",
                   NULL);
  if (o->check && n != 1) return misused("expected one FILE.packed after --check", NULL);
  if (!o->check && n != 2 && n != 3)
    return misused("expected MODEL.cfg, MODEL.weights and OUT.packed, or MODEL.onnx or "
                   "MODEL.tflite and OUT.packed",
                   NULL);
  if (!o->check && n == 2 && p->fork)
    return misused(
        "--fork is of Darknet's networks: expected MODEL.cfg, MODEL.weights and OUT.packed", NULL);
  o->out = argv[argc - 1];
  if (o->check) return -1;
  o->model = argv[argc - n];
  if (n == 3) o->weights = argv[argc - 2];
  return -1;
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

static void print_brief(struct option_walk *w)
{
  enum { COLUMN = 23 };
  if (w->entry.brief) option_help_print_text(&w->entry, w->entry.brief, COLUMN);
}

static int print_help(bool all)
{
  struct option_walk w = {.program = ANY, .emit = all ? print_entry : print_brief};
  mafat_streams_put_named(usage, program);
  option_walk(&w);
  mafat_streams_put_named(all ? usage_end_all : usage_end, program);
  return mafat_streams_say(program, "") == 0 ? DONE : FAILED;
}

static int refuse(const struct mafat_option_reader *r, enum mafat_option_answer answer)
{
  char text[MAFAT_OPTION_TEXT_ROOM], expected[MAFAT_OPTION_TEXT_ROOM];
  if (answer != MAFAT_OPTION_BAD_VALUE) return refuse_option(r);
  snprintf(text, sizeof text, "--%s expects %s, found", mafat_option_name(r->table, r->row),
           mafat_option_expects(r->table, r->row, expected));
  return misused(text, r->value);
}

/* Reads the options. -1: continue; else the exit status. */
static int read_options(int argc, char **argv, struct pack_options *o)
{
  struct mafat_option_reader r;
  enum mafat_option_answer answer;
  mafat_option_begin(&r, &options_table, ANY, argc, argv);
  while ((answer = mafat_option_next(&r, o)) == MAFAT_OPTION_READ) {
    if (o->show_help) return print_help(*o->show_help);
    if (o->show_version)
      return mafat_streams_say_version(program) == 0 ? DONE : FAILED;
    if (r.row == OPTION_calibrate) o->pictures[o->pack.n_calibrate++] = r.value;
  }
  if (answer != MAFAT_OPTION_END) return refuse(&r, answer);
  o->pack.replace = o->force;
  o->pack.fork = o->fork;
  o->pack.weights = o->type;
  o->pack.activations =
      o->activations && strcmp(o->activations, "int8") == 0 ? o->activations : NULL;
  o->pack.measure = o->measure;
  o->pack.keep_above = o->keep_above >= 0 ? &o->keep_above : NULL;
  o->pack.n_constants = o->constants.n;
  o->pack.mean = o->mean.n ? o->mean.x : NULL;
  o->pack.scale = o->scale.n ? o->scale.x : NULL;
  o->pack.channels = o->channels;
  o->pack.resize = o->resize;
  o->pack.pad = o->pad.n ? o->pad.x : NULL;
  o->pack.decode = o->decode;
  return check_options(o, argc, argv);
}
int main(int argc, char **argv)
{
  struct pack_options o = {.keep_above = -1};
  struct mafat_diagnostic d = {""};
  program = mafat_streams_installed(argv[0], "mafat-pack", "pack_weights");
  mafat_streams_hold();
  o.pack = (struct mafat_pack_options){.size = sizeof o.pack};
  o.pictures = calloc((size_t)argc, sizeof *o.pictures);
  if (!o.pictures) {
    mafat_streams_complain(program, "out of memory");
    return FAILED;
  }
  o.pack.calibrate = o.pictures;
  o.pack.constants = o.constants.list;
  o.pack.replace_name = "--force";
  o.pack.warnings.warn = warn;
  int status = read_options(argc, argv, &o);
  if (status >= 0) {
    free(o.pictures);
    return status;
  }
  mafat_unfinished_mind_signals();
  mafat_progress_begin(o.check ? "checking" : "packing", o.quiet);
  status = o.check ? check(&o, &d) : pack_model(&o, &d);
  mafat_progress_end();
  if (status != DONE && *d.text) mafat_streams_complain(program, "%s", d.text);
  free(o.pictures);
  return status;
}
