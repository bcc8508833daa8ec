/* Packs networks: implements include/mafat_pack.h. Called by programs/pack_weights and the Python
 * bindings. Reads the model, writes a temporary file and renames it at the end; allocates struct
 * mafat_pack, which the caller closes. */
#include "formats/darknet/fork.h"
#include "formats/darknet/darknet.h"
#include "formats/packed/graph.h"
#include "api/model_files.h"
#include "api/packing/packing.h"
#include "api/packing/paths.h"
#include "api/footprint.h"
#include "api/picture.h"
#include "base/sized.h"
#include "runner/detect/heads/heads.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct mafat_pack {
  struct mafat_pack_options options;
  struct mafat_pack_paths paths;
  struct mafat_packing packing;
  struct mafat_packing_run run;
  struct mafat_files_taken taken;
  struct mafat_model_files files;
  struct mafat_stored_options stored;
  struct mafat_narrowing *narrowing; /* weights in narrow types; NULL: `numbering` packs */
  struct mafat_numbering *numbering; /* activations of int8; NULL: `narrowing` packs */
  bool created; /* the temporary file exists and must be removed */
  bool whole;   /* the file is complete and not renamed yet */
  bool done;    /* the file has its final name */
  /* Darknet's networks: */
  struct mafat_darknet_overrides overrides;
  struct mafat_cfg *cfg;
  /* other formats: */
  struct mafat_embedded_graph *embedded_graph;
};

/* ---- options ---- */

static double keep_above(const struct mafat_pack_options *o)
{
  return o->keep_above ? *o->keep_above : INFINITY;
}

static int check_options(const struct mafat_pack_options *o, struct mafat_packing *p,
                         struct mafat_diagnostic *d)
{
  const char *activations = o->activations ? o->activations : "float32";
  p->integers = strcmp(activations, "int8") == 0;
  p->type = p->integers ? MAFAT_I8 : MAFAT_F32;
  if (o->weights && !mafat_dtype_find_packing(&p->type, o->weights))
    return mafat_fail(d, MAFAT_EINVAL, "weights: expected one of %s, found '%s'",
                      mafat_dtype_packings, o->weights);
  if (!p->integers && strcmp(activations, "float32") != 0)
    return mafat_fail(d, MAFAT_EINVAL, "activations: expected float32 or int8, found '%s'",
                      activations);
  if (p->integers && p->type != MAFAT_I8)
    return mafat_fail(d, MAFAT_EINVAL, "activations of int8: expected weights of int8, found %s",
                      o->weights);
  if (p->integers != (o->n_calibrate > 0))
    return mafat_fail(d, MAFAT_EINVAL,
                      p->integers
                          ? "activations of int8: expected pictures to calibrate by, found none"
                          : "calibrate: expected activations of int8, found float32");
  if (o->n_calibrate < 0 || (o->n_calibrate > 0 && !o->calibrate))
    return mafat_fail(d, MAFAT_EINVAL,
                      "calibrate: expected a list of %d pictures, found NULL",
                      o->n_calibrate);
  for (int i = 0; i < o->n_calibrate; i++)
    if (!o->calibrate[i])
      return mafat_fail(d, MAFAT_EINVAL,
                        "calibrate: expected the path of picture %d, found nothing", i);
  if (!(keep_above(o) >= 0))
    return mafat_fail(d, MAFAT_EINVAL, "keep_above: expected a number, 0 or more, found %g",
                      keep_above(o));
  if (keep_above(o) < INFINITY && !o->measure && !p->integers)
    return mafat_fail(d, MAFAT_EINVAL, "keep_above: expected a picture to measure by, found none");
  return mafat_given_check(&(struct mafat_given){o->constants, o->n_constants}, d);
}

static bool copy_word(char *to, size_t capacity, const char *word)
{
  return !word || snprintf(to, capacity, "%s", word) < (int)capacity;
}

/* Copies the options that the file stores; check_stored checks them when the network is known. */
static int store_options(struct mafat_stored_options *s, const struct mafat_pack_options *o,
                         struct mafat_diagnostic *d)
{
  const char *decode = o->decode && strcmp(o->decode, "auto") != 0 ? o->decode : NULL;
  s->numbers = (o->mean ? MAFAT_STORED_MEAN : 0) | (o->scale ? MAFAT_STORED_SCALE : 0) |
               (o->pad ? MAFAT_STORED_PAD : 0);
  if (o->pad) s->pad = *o->pad;
  if (!copy_word(s->channels, sizeof s->channels, o->channels))
    return mafat_fail(d, MAFAT_EINVAL, "channels: expected rgb, bgr or gray, found '%.60s'",
                      o->channels);
  if (!copy_word(s->resize, sizeof s->resize, o->resize))
    return mafat_fail(d, MAFAT_EINVAL,
                      "resize: expected stretch, letterbox, corner or crop, found '%.60s'",
                      o->resize);
  if (!copy_word(s->decode, sizeof s->decode, decode))
    return mafat_fail(d, MAFAT_EINVAL, "decode: expected a head, found '%.60s'", o->decode);
  return MAFAT_OK;
}

/* ---- network ---- */

/* Sets the stored options and chooses the detection head in a network that was just read. Opening
 * the packed file later does the same. */
static int settle(const struct mafat_pack *pack, struct mafat_network *n,
                  struct mafat_diagnostic *d)
{
  const struct mafat_pack_options *o = &pack->options;
  int channels = mafat_network_picture_shape(n).c == 1 ? 1 : 3;
  n->stored = pack->stored;
  for (int c = 0; c < channels; c++) {
    if (o->mean) n->stored.mean[c] = o->mean[c];
    if (o->scale) n->stored.scale[c] = o->scale[c];
  }
  return mafat_heads_choose(n, n->n_layers, *n->stored.decode ? n->stored.decode : NULL, d);
}

/* Fails if the stored options do not suit the network. */
static int check_stored(struct mafat_pack *pack, struct mafat_diagnostic *d)
{
  const struct mafat_model_options none = {.size = sizeof none};
  struct mafat_picture picture;
  const struct mafat_network *n = pack->packing.network;
  if (!mafat_stored_any(&n->stored)) return MAFAT_OK;
  pack->stored = n->stored;
  pack->packing.origin.options = &pack->stored;
  int code = mafat_picture_make(&picture, n, &none, mafat_kernels_find(NULL), d);
  bool pictures = n->stored.numbers || *n->stored.channels || *n->stored.resize;
  return code || !pictures ? code : mafat_footprint_check_input(&picture.input, n, d);
}

static int read_darknet(void *context, struct mafat_network **n, struct mafat_diagnostic *d)
{
  const struct mafat_pack *pack = context;
  int code = mafat_darknet_make(n, pack->cfg, &pack->overrides, NULL, d);
  return code ? code : settle(pack, *n, d);
}

/* Fails if an open source is the file to be written. Compares files, because a source that is a
 * descriptor has no path. */
static int check_given(const struct mafat_pack *pack, const struct mafat_model_source *s,
                       struct mafat_diagnostic *d)
{
  const char *written[] = {pack->paths.path, pack->paths.out};
  struct stat out;
  for (int i = 0; s && s->shared && i < 2; i++)
    if (stat(written[i], &out) == 0 && mafat_is_one_file(&s->st, &out))
      return mafat_fail(d, MAFAT_EINVAL,
                        "%s: expected another file for the output, found the model",
                        written[i]);
  return MAFAT_OK;
}

static int open_files(struct mafat_pack *pack, struct mafat_diagnostic *d)
{
  int code = mafat_model_files_open(&pack->files, &pack->taken.model, pack->taken.own_weights, d);
  if (code == MAFAT_OK)
    code = mafat_model_files_open_weights(&pack->files, pack->taken.own_weights, d);
  if (code == MAFAT_OK) code = check_given(pack, pack->files.model, d);
  if (code == MAFAT_OK) code = check_given(pack, pack->files.weights, d);
  pack->packing.weights = pack->files.weights;
  return code;
}

static int open_darknet(struct mafat_pack *pack, struct mafat_diagnostic *d)
{
  struct mafat_packing *p = &pack->packing;
  if (pack->options.n_constants || *pack->stored.decode)
    return mafat_fail(d, MAFAT_EINVAL, "%s: %s only for ONNX and TFLite models", pack->paths.cfg,
                      pack->options.n_constants ? "constants are" : "decode is");
  int code = mafat_fork_find(&pack->overrides.fork, pack->options.fork, d);
  if (code == MAFAT_OK) code = mafat_pack_paths_check(&pack->paths, d);
  if (code == MAFAT_OK) code = open_files(pack, d);
  if (code == MAFAT_OK) code = mafat_cfg_read_source(&pack->cfg, pack->files.model, d);
  p->origin.cfg = pack->cfg;
  p->read = read_darknet;
  return code ? code : read_darknet(pack, &p->network, d);
}

static int check_format(const struct mafat_pack *pack, struct mafat_diagnostic *d)
{
  const struct mafat_reader *reader = mafat_reader_of(pack->files.model);
  if (reader->graph) return MAFAT_OK;
  return reader->holds_weights
             ? mafat_fail(d, MAFAT_EINVAL, "%s: is a packed weights file already",
                          pack->paths.weights)
             : mafat_fail(d, MAFAT_EINVAL,
                          "%s: expected an ONNX or TFLite model, or MODEL.cfg with MODEL.weights",
                          pack->paths.weights);
}

static int read_model(const struct mafat_pack *pack, struct mafat_network **n,
                      struct mafat_embedded_graph **embedded_graph, struct mafat_diagnostic *d)
{
  const struct mafat_given given = {pack->options.constants, pack->options.n_constants};
  int code = mafat_packed_graph_read(n, embedded_graph, pack->files.model, &given, d);
  return code ? code : settle(pack, *n, d);
}

static int read_graph(void *context, struct mafat_network **n, struct mafat_diagnostic *d)
{
  struct mafat_embedded_graph *embedded_graph = NULL;
  int code = read_model(context, n, &embedded_graph, d);
  mafat_embedded_graph_close(&embedded_graph);
  return code;
}

static int open_model(struct mafat_pack *pack, struct mafat_diagnostic *d)
{
  struct mafat_packing *p = &pack->packing;
  if (pack->options.fork)
    return mafat_fail(d, MAFAT_EINVAL, "%s: fork is only for cfg files", pack->paths.weights);
  int code = mafat_pack_paths_check(&pack->paths, d);
  if (code == MAFAT_OK) code = open_files(pack, d);
  if (code == MAFAT_OK) code = check_format(pack, d);
  if (code == MAFAT_OK) code = read_model(pack, &p->network, &pack->embedded_graph, d);
  p->origin.embedded_graph = pack->embedded_graph;
  p->read = read_graph;
  return code;
}

/* ---- opening, closing ---- */

static int name_file(struct mafat_pack *pack, struct mafat_diagnostic *d)
{
  static const char after[] = ".part";
  size_t n = strlen(pack->paths.out);
  pack->paths.path = malloc(n + sizeof after);
  if (!pack->paths.path) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", pack->paths.out);
  memcpy(pack->paths.path, pack->paths.out, n);
  memcpy(pack->paths.path + n, after, sizeof after);
  return MAFAT_OK;
}

static int open_pack(struct mafat_pack *pack, const char *out_path, struct mafat_diagnostic *d)
{
  const struct mafat_pack_options *o = &pack->options;
  const struct mafat_file *darknets = pack->taken.own_weights,
                          *weights = darknets ? darknets : &pack->taken.model;
  pack->paths =
      (struct mafat_pack_paths){.cfg = darknets ? mafat_model_files_name(&pack->taken.model) : NULL,
                                .weights = mafat_model_files_name(weights),
                                .given = weights->data || weights->has_fd,
                                .out = out_path,
                                .replace = o->replace,
                                .replace_name = o->replace_name ? o->replace_name : "replace"};
  int code = check_options(o, &pack->packing, d);
  if (code == MAFAT_OK) code = store_options(&pack->stored, o, d);
  if (code == MAFAT_OK) code = name_file(pack, d);
  pack->packing = (struct mafat_packing){.fd = -1,
                                         .path = pack->paths.path,
                                         .out = out_path,
                                         .warnings = o->warnings,
                                         .type = pack->packing.type,
                                         .integers = pack->packing.integers,
                                         .calibrate = {o->calibrate, o->n_calibrate},
                                         .measure = {&o->measure, o->measure != NULL},
                                         .most_error = keep_above(o),
                                         .context = pack};
  if (code == MAFAT_OK) code = mafat_pack_paths_check_read(&pack->paths, o, d);
  if (code == MAFAT_OK) code = darknets ? open_darknet(pack, d) : open_model(pack, d);
  if (code == MAFAT_OK) code = check_stored(pack, d);
  return code ? code : mafat_pack_paths_check_network(&pack->paths, pack->packing.network, d);
}

int mafat_pack_open_files(struct mafat_pack **out, const struct mafat_file *model,
                          const struct mafat_file *weights, const char *out_path,
                          const struct mafat_pack_options *options, struct mafat_diagnostic *d)
{
  *out = NULL;
  if (!model || !out_path)
    return mafat_fail(d, MAFAT_EINVAL,
                      "expected the paths of a model and of the file to be written");
  struct mafat_pack *pack = calloc(1, sizeof *pack);
  if (!pack) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", out_path);
  pack->packing.fd = -1;
  int code = mafat_sized_take(&pack->options, sizeof pack->options, options, d);
  if (code == MAFAT_OK) code = mafat_model_files_take(&pack->taken, model, weights, d);
  if (code == MAFAT_OK) code = open_pack(pack, out_path, d);
  if (code == MAFAT_OK) *out = pack;
  else mafat_pack_close(&pack);
  return code;
}

int mafat_pack_open(struct mafat_pack **out, const char *model_path, const char *weights_path,
                    const char *out_path, const struct mafat_pack_options *options,
                    struct mafat_diagnostic *d)
{
  const struct mafat_file model = {.size = sizeof model, .path = model_path},
                          weights = {.size = sizeof weights, .path = weights_path};
  return mafat_pack_open_files(out, model_path ? &model : NULL, weights_path ? &weights : NULL,
                               out_path, options, d);
}

void mafat_pack_close(struct mafat_pack **out)
{
  if (!out || !*out) return;
  struct mafat_pack *pack = *out;
  mafat_packer_close(&pack->run.packer);
  mafat_narrowing_close(&pack->narrowing);
  mafat_numbering_close(&pack->numbering);
  if (pack->created) unlink(pack->paths.path);
  if (pack->packing.fd >= 0) close(pack->packing.fd);
  mafat_network_close(&pack->packing.network);
  mafat_cfg_close(&pack->cfg);
  mafat_model_files_close(&pack->files);
  mafat_embedded_graph_close(&pack->embedded_graph);
  free(pack->run.layers);
  free(pack->paths.path);
  free(pack);
  *out = NULL;
}

/* ---- work ---- */

static int create(struct mafat_pack *pack, struct mafat_diagnostic *d)
{
  int code = mafat_pack_paths_create(&pack->paths, &pack->packing.fd, d);
  pack->created = code == MAFAT_OK;
  return code;
}

static int work(struct mafat_pack *pack, struct mafat_diagnostic *d)
{
  const struct mafat_packing *p = &pack->packing;
  if (p->integers)
    return pack->numbering ? mafat_numbering_step(pack->numbering, &pack->run, &pack->whole, d)
                           : mafat_numbering_open(&pack->numbering, p, d);
  return pack->narrowing ? mafat_narrowing_step(pack->narrowing, &pack->run, &pack->whole, d)
                         : mafat_narrowing_open(&pack->narrowing, p, d);
}

static int finish(struct mafat_pack *pack, struct mafat_diagnostic *d)
{
  /* The file is synced before it is renamed. It is renamed before it is closed, because closing
   * releases the lock. */
  if (fsync(pack->packing.fd) != 0)
    return mafat_fail(d, MAFAT_EIO, "%s: %s", pack->paths.out, strerror(errno));
  int code = mafat_pack_paths_finish(&pack->paths, d);
  pack->done = code == MAFAT_OK;
  pack->created = !pack->done;
  return code;
}

int mafat_pack_step(struct mafat_pack *pack, bool *done, struct mafat_diagnostic *d)
{
  int code = pack->done       ? MAFAT_OK
             : !pack->created ? create(pack, d)
             : pack->whole    ? finish(pack, d)
                              : work(pack, d);
  *done = pack->done;
  return code;
}

/* ---- report ---- */

int mafat_pack_describe(const struct mafat_pack *pack, struct mafat_pack_facts *out)
{
  const struct mafat_packing_run *run = &pack->run;
  struct mafat_pack_facts f = {.path = pack->paths.path,
                               .pass = run->pass,
                               .share =
                                   run->packer ? mafat_packer_share(run->packer) : pack->whole};
  if (pack->whole) {
    f.n_layers = run->n_layers;
    f.n_candidates = run->n_candidates;
    f.error = run->error;
    f.largest = run->largest;
  }
  return mafat_sized_give(out, &f, sizeof f);
}

int mafat_pack_layer(const struct mafat_pack *pack, int index, struct mafat_pack_layer_facts *out)
{
  if (index < 0 || index >= pack->run.n_layers) return MAFAT_EINVAL;
  return mafat_sized_give(out, &pack->run.layers[index], sizeof *pack->run.layers);
}

int mafat_pack_candidate(const struct mafat_pack *pack, int index,
                         struct mafat_pack_candidate_facts *out)
{
  if (index < 0 || index >= pack->run.n_candidates) return MAFAT_EINVAL;
  return mafat_sized_give(out, &pack->run.candidates[index], sizeof *pack->run.candidates);
}
