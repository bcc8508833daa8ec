#include "runner/weights.h"

#include "runner/pack.h"
#include "runner/stream.h"
#include "runner/weights_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What is known of a layer's weights in the file. */
struct trust {
  bool checked;      /* all of them have been read once, and were good */
  uint64_t left;     /* packed: bytes that have not been */
  uint64_t checksum; /* packed: of those that have */
};

/* Of a step whose layer is streamed. */
struct streamed {
  int layer; /* -1: no layer is */
  struct mafat_span filters, channels;
  const float *panels[MAFAT_MAX_THREADS]; /* packed file: the slice of each panel, in the ring */
};

struct mafat_weights {
  const struct mafat_network *network;
  const struct mafat_plan *plan;     /* NULL: all is kept */
  const struct mafat_layout *layout;
  int n_layers;
  struct mafat_weights_file *file;
  float *kept;                       /* one mapping */
  size_t kept_bytes;
  struct mafat_pack_image *images;   /* [layer]: kept, loaded, or the panels that a step needs */
  struct trust *trust;               /* [layer] */
  struct mafat_piece *pieces;        /* room for packing */
  float *affine;                     /* of the layer that is being packed: scales, then biases */
  struct mafat_fetches *fetches;     /* of a run: NULL where it reads nothing */
  struct mafat_stream *stream;
  size_t ring_bytes;
  struct streamed step;
  char *arena;
  bool begun;                        /* a run has something in the ring, or has had */
  /* Of reads that are over, where runs read nothing. */
  uint64_t bytes_read;
  const char *method;
  bool direct;
};

static const char *layer_name(const struct mafat_weights *w, int layer)
{
  return mafat_layer_type_name(w->network->layers[layer].type);
}

static bool is_packed(const struct mafat_weights *w)
{
  return w->file->packed;
}

/* ---- taking in what was read ---- */

static int refuse(const struct mafat_weights *w, int layer, struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_EFORMAT, "%s: layer %d [%s] has weights that are not finite numbers",
                    w->file->name, layer, layer_name(w, layer));
}

/* Everything is looked at once. */
static int check(struct mafat_weights *w, const struct mafat_fetch *fetch, const char *data,
                 struct mafat_diagnostic *d)
{
  struct trust *t = &w->trust[fetch->layer];
  if (t->checked) return MAFAT_OK;
  if (!is_packed(w)) /* normalization: once it is folded */
    return fetch->kind == MAFAT_FETCH_NORMALIZATION || fetch->kind == MAFAT_FETCH_AFFINE ||
           mafat_pack_is_finite((const float *)(const void *)data, fetch->bytes / sizeof(float))
               ? MAFAT_OK : refuse(w, fetch->layer, d);
  t->checksum += mafat_packed_checksum(data, fetch->into / sizeof(float), fetch->bytes);
  t->left -= fetch->bytes;
  if (t->left > 0) return MAFAT_OK;
  int code = mafat_packed_check_layer(&w->file->entries[fetch->layer], t->checksum, w->file->name, w->network,
                                      fetch->layer, d);
  t->checked = code == MAFAT_OK;
  return code;
}

/* Per-filter values: to the affine buffer; of batchnorm layers to their image. */
static int take_affine(struct mafat_weights *w, const struct mafat_fetch *fetch, const float *values,
                       struct mafat_diagnostic *d)
{
  const struct mafat_layer *l = &w->network->layers[fetch->layer];
  bool alone = l->type == MAFAT_BATCHNORM;
  size_t n = (size_t)l->out.c, room = alone ? (size_t)mafat_round_up(l->in.c, MAFAT_PANEL_STEP) : n;
  float *scale = alone ? w->images[fetch->layer].floats : w->affine, *bias = scale + room;
  if (alone) memset(scale, 0, 2 * room * sizeof *scale);
  if (fetch->kind != MAFAT_FETCH_NORMALIZATION) {
    mafat_pack_biases(values, n, scale, bias);
    values += n;
  }
  if (fetch->kind != MAFAT_FETCH_BIASES) mafat_pack_normalization(values, n, scale, bias);
  bool good = w->trust[fetch->layer].checked || (mafat_pack_is_finite(scale, n) && mafat_pack_is_finite(bias, n));
  return good ? MAFAT_OK : refuse(w, fetch->layer, d);
}

static void take_slices(struct mafat_weights *w, const struct mafat_fetch *fetch, const float *values)
{
  const struct mafat_layer *l = &w->network->layers[fetch->layer];
  size_t first = mafat_packed_offset(l, fetch->filters.begin);
  for (int f = fetch->filters.begin; f < fetch->filters.end; f = mafat_panel_end(l, f))
    w->step.panels[(f - w->step.filters.begin) / MAFAT_PANEL] = values + (mafat_packed_offset(l, f) - first);
}

static int take_in(struct mafat_weights *w, const struct mafat_fetch *fetch, const char *data,
                   struct mafat_diagnostic *d)
{
  const struct mafat_layer *l = &w->network->layers[fetch->layer];
  const float *values = (const float *)(const void *)data;
  const float *scale = w->affine, *bias = scale + l->out.c;
  struct mafat_pack_image image = w->images[fetch->layer];
  int code = check(w, fetch, data, d);
  if (code) return code;
  switch (fetch->kind) {
  case MAFAT_FETCH_SLICE: take_slices(w, fetch, values); break;
  case MAFAT_FETCH_COPY: memcpy((char *)image.floats + fetch->into, data, fetch->bytes); break;
  case MAFAT_FETCH_FILTERS:
    mafat_pack_filters(l, fetch->filters, values, scale, bias, w->pieces, image);
    break;
  case MAFAT_FETCH_TRANSPOSED: mafat_pack_inputs(l, fetch->channels, values, scale, bias, image); break;
  default: return take_affine(w, fetch, values, d);
  }
  return MAFAT_OK;
}

/* ---- a run ---- */

static float *in_arena(const struct mafat_weights *w, int buffer)
{
  return buffer < 0 ? NULL : (float *)(void *)(w->arena + w->layout->buffers[buffer].offset);
}

static char *ring_in_arena(const struct mafat_weights *w)
{
  uintptr_t at = (uintptr_t)(w->arena + w->layout->buffers[w->layout->ring_buffer].offset);
  return w->arena + w->layout->buffers[w->layout->ring_buffer].offset +
         (MAFAT_FETCH_ALIGNMENT - at % MAFAT_FETCH_ALIGNMENT) % MAFAT_FETCH_ALIGNMENT;
}

/* What a first run that failed has seen of a layer does not count. */
static void forget_parts(struct mafat_weights *w)
{
  for (int l = 0; l < w->n_layers; l++)
    if (!w->trust[l].checked)
      w->trust[l] = (struct trust){.left = (uint64_t)mafat_packed_floats(&w->network->layers[l]) * sizeof(float)};
}

void mafat_weights_begin(struct mafat_weights *w, char *arena)
{
  if (!w->stream) return;
  w->arena = arena;
  w->begun = false;
  w->step.layer = -1;
  w->affine = in_arena(w, w->layout->affine_buffer);
  for (int l = 0; l < w->n_layers; l++)
    if (w->layout->weights_buffers[l] >= 0)
      w->images[l] = (struct mafat_pack_image){in_arena(w, w->layout->weights_buffers[l]), 0};
  forget_parts(w);
  mafat_stream_rewind(w->stream, ring_in_arena(w), w->ring_bytes);
}

/* Where the step's streamed layer, if it has one, will be. */
static void prepare_step(struct mafat_weights *w, const struct mafat_step *step)
{
  w->step.layer = -1;
  if (!mafat_fetches_step_has_weights(step)) return;
  for (int l = step->layer; l >= 0; l = w->plan->inner[l]) {
    if (w->plan->residence[l] != MAFAT_STREAMED) continue;
    w->step.layer = l;
    w->step.filters = step->filters;
    w->step.channels = step->channels;
    if (!is_packed(w))
      w->images[l] = (struct mafat_pack_image){in_arena(w, w->layout->panel_buffer),
                                               mafat_packed_offset(&w->network->layers[l], step->filters.begin)};
  }
}

int mafat_weights_acquire(struct mafat_weights *w, long long step_number, const struct mafat_step *step,
                          struct mafat_diagnostic *d)
{
  if (!w->stream) return MAFAT_OK;
  prepare_step(w, step);
  while (mafat_stream_next_step(w->stream) == step_number) {
    struct mafat_fetch fetch;
    const char *data;
    w->begun = true;
    int code = mafat_stream_take(w->stream, &fetch, &data, d);
    if (code == MAFAT_OK) code = take_in(w, &fetch, data, d);
    if (code) return code;
    /* Slices come last in a step, and stay until it ends. */
    if (fetch.kind != MAFAT_FETCH_SLICE) mafat_stream_free(w->stream);
  }
  return w->begun ? mafat_stream_submit(w->stream, d) : MAFAT_OK;
}

void mafat_weights_release_step(struct mafat_weights *w, const struct mafat_step *step)
{
  (void)step;
  if (!w->stream || !w->begun) return;
  mafat_stream_free(w->stream);
  mafat_stream_submit(w->stream, NULL); /* what fails is tried again, and told, by acquire */
  w->step.layer = -1;
}

int mafat_weights_end(struct mafat_weights *w, struct mafat_diagnostic *d)
{
  if (!w->stream) return MAFAT_OK;
  assert(mafat_stream_next_step(w->stream) < 0);
  int code = mafat_reads_check(w->file->reads, d);
  for (int l = 0; l < w->n_layers && code == MAFAT_OK; l++)
    w->trust[l].checked = w->trust[l].checked || !is_packed(w);
  return code;
}

void mafat_weights_stop(struct mafat_weights *w)
{
  if (w->stream) mafat_stream_stop(w->stream);
}

/* ---- slices ---- */

static size_t taps_of(const struct mafat_layer *l)
{
  return l->type == MAFAT_CONNECTED ? 1 : (size_t)l->size * (size_t)l->size;
}

static size_t inputs_of(const struct mafat_layer *l)
{
  if (l->type == MAFAT_CONNECTED) return (size_t)l->in.h * (size_t)l->in.w * (size_t)l->in.c;
  return mafat_layer_is_depthwise(l) ? 1 : (size_t)(l->in.c / l->groups);
}

/* Of a panel whose slice of the step's channels lies in the ring. */
static void slice_in_ring(const struct mafat_weights *w, const struct mafat_layer *l, struct mafat_span filters,
                          struct mafat_span channels, struct mafat_weights_slice *slice)
{
  const struct streamed *s = &w->step;
  const float *panel = s->panels[(filters.begin - s->filters.begin) / MAFAT_PANEL];
  size_t row = taps_of(l) * (size_t)slice->width;
  bool complete = (size_t)s->channels.end == inputs_of(l);
  slice->weights = panel + (size_t)(channels.begin - s->channels.begin) * row;
  slice->scale = complete ? panel + (size_t)mafat_span_size(s->channels) * row : NULL;
  slice->bias = complete ? slice->scale + slice->width : NULL;
}

int mafat_weights_slice(const struct mafat_weights *w, int layer, struct mafat_span filters,
                        struct mafat_span channels, struct mafat_weights_slice *slice)
{
  const struct mafat_layer *l = &w->network->layers[layer];
  struct mafat_pack_image image = w->images[layer];
  if (l->type == MAFAT_BATCHNORM) {
    *slice = (struct mafat_weights_slice){
        .scale = image.floats, .bias = image.floats + mafat_round_up(l->in.c, MAFAT_PANEL_STEP)};
    return MAFAT_OK;
  }
  if (l->type == MAFAT_LOCAL) {
    uint64_t biases = mafat_layer_weight_counts(l).biases;
    *slice = (struct mafat_weights_slice){.bias = image.floats, .weights = image.floats + biases};
    return MAFAT_OK;
  }
  slice->width = mafat_panel_width(mafat_panel_end(l, filters.begin) - filters.begin);
  if (w->plan && w->plan->residence[layer] == MAFAT_STREAMED && is_packed(w)) {
    assert(layer == w->step.layer);
    slice_in_ring(w, l, filters, channels, slice);
    return MAFAT_OK;
  }
  const float *panel = image.floats + (mafat_packed_offset(l, filters.begin) - image.before);
  size_t row = taps_of(l) * (size_t)slice->width;
  slice->weights = panel + (size_t)channels.begin * row;
  slice->scale = panel + inputs_of(l) * row;
  slice->bias = slice->scale + slice->width;
  return MAFAT_OK;
}

void mafat_weights_release(const struct mafat_weights *w, struct mafat_weights_slice *slice)
{
  (void)w;
  memset(slice, 0, sizeof *slice);
}

/* ---- opening: what is kept ---- */

/* Layers that are read now: all, or those that steps need and the plan keeps. */
static int find_kept(const struct mafat_weights *w, bool *kept, bool *used)
{
  for (int l = 0; l < w->n_layers; l++) kept[l] = !w->plan;
  if (!w->plan) return MAFAT_OK;
  struct mafat_schedule *s;
  struct mafat_step step;
  int code = mafat_schedule_open(&s, w->network, w->plan);
  if (code) return code;
  while (mafat_schedule_next(s, &step))
    for (int l = step.layer; l >= 0; l = w->plan->inner[l]) used[l] = true;
  mafat_schedule_close(&s);
  for (int l = 0; l < w->n_layers; l++) kept[l] = used[l] && w->plan->residence[l] == MAFAT_KEPT;
  return MAFAT_OK;
}

static int map_kept(struct mafat_weights *w, const bool *kept, struct mafat_diagnostic *d)
{
  size_t bytes = 0;
  for (int l = 0; l < w->n_layers; l++) {
    size_t layer_bytes, floats = kept[l] ? mafat_packed_floats(&w->network->layers[l]) : 0;
    if (__builtin_mul_overflow(floats, sizeof(float), &layer_bytes) ||
        __builtin_add_overflow(layer_bytes, (size_t)63, &layer_bytes) ||
        __builtin_add_overflow(bytes, layer_bytes / 64 * 64, &bytes))
      return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", w->file->name);
  }
  w->kept_bytes = bytes;
  if (bytes == 0) return MAFAT_OK;
  void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED)
    return mafat_fail(d, MAFAT_ENOMEM, "%s: cannot map %zu bytes for the weights: %s", w->file->name, bytes,
                      strerror(errno));
  w->kept = map;
  float *at = w->kept;
  for (int l = 0; l < w->n_layers; l++) {
    if (!kept[l]) continue;
    w->images[l].floats = at;
    at += (mafat_packed_floats(&w->network->layers[l]) + 15) / 16 * 16;
  }
  return MAFAT_OK;
}

/* Of all layers that will be packed. */
static size_t largest_affine(const struct mafat_weights *w)
{
  size_t floats = 0;
  for (int l = 0; l < w->n_layers; l++)
    if (floats < 2 * (size_t)w->network->layers[l].out.c) floats = 2 * (size_t)w->network->layers[l].out.c;
  return floats;
}

enum { KEPT_RING_FETCHES = 6 };

/* Reads all the fetches in one go, packing what has come while the rest comes. */
static int take_all(struct mafat_weights *w, struct mafat_fetches *fetches, char *ring, size_t ring_bytes,
                    struct mafat_diagnostic *d)
{
  struct mafat_stream *s;
  struct mafat_fetch fetch;
  const char *data;
  int code = mafat_stream_open(&s, w->file->reads, fetches, w->file->layers_at);
  if (code) return mafat_fail(d, code, "%s: out of memory", w->file->name);
  mafat_stream_rewind(s, ring, ring_bytes);
  while (code == MAFAT_OK && mafat_stream_next_step(s) >= 0) {
    if ((code = mafat_stream_take(s, &fetch, &data, d)) || (code = take_in(w, &fetch, data, d))) break;
    if (fetch.last) w->trust[fetch.layer].checked = true;
    mafat_stream_free(s);
  }
  mafat_stream_close(&s);
  return code;
}

static int read_kept(struct mafat_weights *w, const bool *kept, struct mafat_diagnostic *d)
{
  struct mafat_fetches *fetches;
  struct mafat_fetch fetch;
  size_t largest = 0, ring_bytes;
  void *ring = MAP_FAILED;
  int code = mafat_fetches_open_layers(&fetches, w->network, w->n_layers, kept, is_packed(w), w->file->transposed);
  if (code) return mafat_fail(d, code, "%s: out of memory", w->file->name);
  while (mafat_fetches_next(fetches, &fetch))
    if (fetch.bytes > largest) largest = fetch.bytes;
  ring_bytes = mafat_fetch_window(largest) * KEPT_RING_FETCHES;
  if (largest > 0) {
    w->affine = malloc(largest_affine(w) * sizeof *w->affine);
    ring = mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    code = w->affine && ring != MAP_FAILED ? take_all(w, fetches, ring, ring_bytes, d)
                                           : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", w->file->name);
    if (ring != MAP_FAILED) munmap(ring, ring_bytes);
    free(w->affine);
    w->affine = NULL;
  }
  mafat_fetches_close(&fetches);
  return code;
}

/* ---- opening: what is read in runs ---- */

static int prepare_runs(struct mafat_weights *w, const bool *used, struct mafat_diagnostic *d)
{
  struct mafat_fetch_sizes sizes;
  bool any = false;
  for (int l = 0; l < w->n_layers && w->plan; l++) {
    const struct mafat_layer *layer = &w->network->layers[l];
    if (!used[l] || w->plan->residence[l] == MAFAT_KEPT || mafat_packed_floats(layer) == 0) continue;
    any = true;
    if (layer->type == MAFAT_CONNECTED && w->file->transposed)
      return mafat_fail(d, MAFAT_EUNSUPPORTED,
                        "%s: layer %d [connected] lies transposed, which cannot be read a part at a time: "
                        "build/pack_weights makes a file that can", w->file->name, l);
  }
  if (!any) return MAFAT_OK;
  if (w->plan->packed != is_packed(w))
    return mafat_fail(d, MAFAT_EINVAL, "%s: the plan was made for a %s file", w->file->name,
                      w->plan->packed ? "packed weights" : "Darknet weights");
  int code = mafat_fetches_size(w->network, w->plan, &sizes);
  if (code == MAFAT_OK) code = mafat_fetches_open(&w->fetches, w->network, w->plan);
  if (code == MAFAT_OK) code = mafat_stream_open(&w->stream, w->file->reads, w->fetches, w->file->layers_at);
  w->ring_bytes = sizes.ring_bytes;
  return code ? mafat_fail(d, code, "%s: %s", w->file->name, mafat_error_name(code)) : MAFAT_OK;
}

/* ---- opening ---- */

static int allocate(struct mafat_weights *w)
{
  size_t n = (size_t)w->n_layers + 1, room = 1;
  for (int l = 0; l < w->n_layers; l++) {
    size_t pieces = (size_t)mafat_pack_pieces(&w->network->layers[l]);
    if (pieces > room) room = pieces;
  }
  w->images = calloc(n, sizeof *w->images);
  w->trust = calloc(n, sizeof *w->trust);
  w->pieces = calloc(room, sizeof *w->pieces);
  return w->images && w->trust && w->pieces ? MAFAT_OK : MAFAT_ENOMEM;
}

static int open_store(struct mafat_weights *w, struct mafat_diagnostic *d)
{
  size_t n = (size_t)w->n_layers + 1;
  bool *kept = calloc(n, sizeof *kept), *used = calloc(n, sizeof *used);
  int code = kept && used ? allocate(w) : MAFAT_ENOMEM;
  if (code == MAFAT_OK) code = find_kept(w, kept, used);
  if (code) {
    mafat_fail(d, code, "%s: out of memory", w->file->name);
    goto done;
  }
  forget_parts(w);
  if ((code = prepare_runs(w, used, d)) || (code = map_kept(w, kept, d)) || (code = read_kept(w, kept, d)))
    goto done;
  code = mafat_reads_check(w->file->reads, d);
done:
  free(kept);
  free(used);
  return code;
}

/* What reading takes is given back where no run needs it. */
static void end_reading(struct mafat_weights *w)
{
  w->bytes_read = mafat_reads_bytes(w->file->reads);
  w->method = mafat_reads_method_name(w->file->reads);
  w->direct = mafat_reads_direct(w->file->reads);
  if (!w->stream) mafat_reads_close(&w->file->reads);
}

static int open_weights(struct mafat_weights **out, const char *path, struct mafat_weights model,
                        const struct mafat_weights_options *options, const struct mafat_warning_sink *warnings,
                        struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_weights *w = malloc(sizeof *w);
  if (!w) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
  *w = model;
  w->step.layer = -1;
  enum mafat_reads_method method = options ? options->method : MAFAT_READS_AUTO;
  int code = mafat_weights_file_open(&w->file, path, method, w->network, warnings, d);
  if (code == MAFAT_OK) code = open_store(w, d);
  if (code == MAFAT_OK) end_reading(w);
  if (code == MAFAT_OK) *out = w;
  else mafat_weights_close(&w);
  return code;
}

void mafat_weights_defaults(struct mafat_weights_options *options)
{
  *options = (struct mafat_weights_options){.method = MAFAT_READS_AUTO};
}

int mafat_weights_open(struct mafat_weights **out, const char *path, const struct mafat_network *n,
                       const struct mafat_plan *plan, const struct mafat_layout *layout,
                       const struct mafat_weights_options *options,
                       const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  struct mafat_weights model = {.network = n, .plan = plan, .layout = layout, .n_layers = plan->n_layers};
  return open_weights(out, path, model, options, warnings, d);
}

int mafat_weights_open_kept(struct mafat_weights **out, const char *path, const struct mafat_network *n,
                            int n_layers, const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  struct mafat_weights model = {.network = n, .n_layers = n_layers};
  return open_weights(out, path, model, NULL, warnings, d);
}

void mafat_weights_close(struct mafat_weights **weights)
{
  if (!weights || !*weights) return;
  struct mafat_weights *w = *weights;
  mafat_stream_close(&w->stream);
  mafat_fetches_close(&w->fetches);
  mafat_weights_file_close(&w->file);
  if (w->kept) munmap(w->kept, w->kept_bytes);
  free(w->images);
  free(w->trust);
  free(w->pieces);
  free(w);
  *weights = NULL;
}

int mafat_weights_probe(const char *path, bool *packed, struct mafat_diagnostic *d)
{
  char magic[MAFAT_PACKED_MAGIC_BYTES];
  *packed = false;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a FIFO must not hang us */
  if (fd < 0) return mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", path, strerror(errno));
  ssize_t got;
  do got = pread(fd, magic, sizeof magic, 0);
  while (got < 0 && errno == EINTR);
  int code = got < 0 ? mafat_fail(d, MAFAT_EIO, "%s: cannot read: %s", path, strerror(errno)) : MAFAT_OK;
  *packed = got == (ssize_t)sizeof magic && memcmp(magic, mafat_packed_magic, sizeof magic) == 0;
  close(fd);
  return code;
}

/* ---- for a report ---- */

size_t mafat_weights_bytes(const struct mafat_weights *w)
{
  return w->kept_bytes;
}

uint64_t mafat_weights_bytes_read(const struct mafat_weights *w)
{
  return w->stream ? mafat_reads_bytes(w->file->reads) : w->bytes_read;
}

bool mafat_weights_reads_in_runs(const struct mafat_weights *w)
{
  return w->stream != NULL;
}

const char *mafat_weights_reads_method(const struct mafat_weights *w)
{
  return w->method;
}

bool mafat_weights_reads_directly(const struct mafat_weights *w)
{
  return w->direct;
}

uint64_t mafat_weights_payload_bytes(const struct mafat_network *n)
{
  uint64_t floats = 0;
  for (int l = 0; l < n->n_layers; l++) {
    struct mafat_weight_counts c = mafat_layer_weight_counts(&n->layers[l]);
    floats += c.biases + c.normalization + c.weights;
  }
  return floats * sizeof(float);
}
