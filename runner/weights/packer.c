/* Writes packed model files and verifies them. Called by api/packing/pack.c and
 * api/packing/narrowing.c, by runner/calibrate/calibrate.c, and by programs/pack_weights (only
 * mafat_packer_check). Reads the model's files through a ring of memory, and writes the output
 * file. Opening allocates buffers for the largest fetch, panel or transposed layer; closing frees
 * them. */
#include "runner/weights/packer.h"

#include "base/model_file.h"
#include "runner/weights/affine.h"
#include "runner/weights/narrow.h"
#include "runner/weights/pack_integers.h"
#include "runner/weights/stream.h"
#include "runner/weights/weights_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
  RING_FETCHES = 6,     /* the ring has room for this many of the largest fetches */
  HASH_BYTES = 1 << 20  /* bytes that are read and hashed at a time */
};

struct mafat_packer {
  const struct mafat_network *network;
  const struct mafat_packed_origin *origin; /* cfg or graph to be stored; may be NULL */
  struct mafat_model_source *source; /* source of the weights */
  struct mafat_weights_file *file;
  struct mafat_fetches *fetches;
  struct mafat_stream *stream;
  int fd;
  const char *name; /* output file's name, for messages */
  struct mafat_packed *packed; /* index of the output file */
  struct mafat_block_slice *block_slices; /* temporary memory of packing functions */
  float *affine;        /* scales, then biases, of the layer that is being packed */
  char *panels;         /* packed panels, of the type that weights have in the weights file */
  char *narrow;         /* one panel of the type that it has in the output file */
  char *narrowed;       /* one int8 panel with float scales, before its conversion to `narrow` if
                           the layer sums integers */
  float *wide;          /* one panel as floats, if it is not float32 in the weights file */
  char *ring;
  size_t ring_bytes, panels_bytes, panel_bytes; /* panel_bytes: the largest panel as floats */
  int first_filter;     /* first filter in `panels` */
  int stage;            /* index of the next stage */
  uint64_t hashed;      /* number of bytes of the weights file that are hashed */
  uint64_t done, total; /* progress: bytes hashed plus bytes packed, so far and in all */
  struct mafat_diagnostic *d;
};

/* ---- writing ---- */

static int write_at(const struct mafat_packer *p, uint64_t offset, const void *data, size_t bytes)
{
  const char *at = data;
  while (bytes > 0) {
    ssize_t put = pwrite(p->fd, at, bytes, (off_t)offset);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0)
      return mafat_fail(p->d, MAFAT_EIO, "%s: cannot write: %s", p->name,
                        strerror(put < 0 ? errno : ENOSPC));
    at += put;
    offset += (uint64_t)put;
    bytes -= (size_t)put;
  }
  return MAFAT_OK;
}

/* Writes packed bytes of a layer from offset `first` on, and adds them to its checksum. */
static int write_panels(struct mafat_packer *p, int layer, size_t first, const void *panels,
                        size_t bytes)
{
  struct mafat_packed_entry *e = &p->packed->entries[layer];
  e->checksum += mafat_packed_checksum(panels, first, bytes);
  return write_at(p, e->offset + first, panels, bytes);
}

/* ---- packing of fetched data ---- */

static int refuse(const struct mafat_packer *p, int layer)
{
  return mafat_fail(p->d, MAFAT_EFORMAT,
                    "%s: layer %d [%s] has weights that are not finite numbers", p->file->name,
                    layer, mafat_layer_type_name(p->network->layers[layer].type));
}

static const struct mafat_layer_constants *constants_of(const struct mafat_packer *p, int layer)
{
  return &p->file->constants->layers[layer];
}

static enum mafat_dtype type_in_file(const struct mafat_packer *p, int layer)
{
  return (enum mafat_dtype)constants_of(p, layer)->weights.type;
}

/* True if the layer is quantized, and its weights are so already in the weights file. */
static bool has_integers(const struct mafat_packer *p, int layer)
{
  enum mafat_dtype type = type_in_file(p, layer);
  return mafat_layer_sums_integers(&p->network->layers[layer]) &&
         (type == MAFAT_I8 || type == MAFAT_U8);
}

/* Returns the layer with the types that it has in the weights file, mostly floats. */
static struct mafat_layer layer_in_file(const struct mafat_packer *p, int layer)
{
  struct mafat_layer l = p->network->layers[layer];
  if (has_integers(p, layer)) return l;
  if (mafat_layer_sums_integers(&l)) l.out_type = MAFAT_F32;
  l.weights_type = type_in_file(p, layer);
  return l;
}

/* True if the layer's panels have another type in the output file than in the weights file. */
static bool is_converted(const struct mafat_packer *p, int layer)
{
  const struct mafat_layer *l = &p->network->layers[layer], in_file = layer_in_file(p, layer);
  return mafat_layer_has_panels(l) &&
         (l->weights_type != in_file.weights_type || l->out_type != in_file.out_type);
}

static struct mafat_layer layer_as_floats(const struct mafat_packer *p, int layer)
{
  struct mafat_layer l = p->network->layers[layer];
  l.out_type = l.weights_type = MAFAT_F32;
  return l;
}

static bool is_narrow(const struct mafat_packer *p, int layer)
{
  return mafat_layer_widens(&p->network->layers[layer]);
}

/* Converts a panel of floats to the layer's type in p->narrow. False: a scale is too large. */
static bool narrow_panel(struct mafat_packer *p, int layer, int filter, int width,
                         const float *from)
{
  struct mafat_layer l = p->network->layers[layer];
  bool integers = mafat_layer_sums_integers(&l);
  if (integers) l.out_type = MAFAT_F32; /* first converts it as for a float layer */
  if (!mafat_narrow_panel(&l, width, from, integers ? p->narrowed : p->narrow)) return false;
  if (integers)
    mafat_pack_integers_narrowed(p->network, layer, filter, p->narrowed, p->block_slices,
                                 p->narrow);
  return true;
}

/* Returns the factors (runner/weights/equalize.h) of the channels that a layer reads. NULL:
 * none. */
static const float *factors_read(const struct mafat_packer *p, int layer)
{
  int tensor = mafat_layer_sources(&p->network->layers[layer])->list[0].tensor;
  return tensor < p->network->n_layers ? p->origin->factors[tensor] : NULL;
}

/* Applies the factors of equalized maps to a panel of floats: divides by those of the layer's
 * input, and multiplies by those of its output. */
static void equalize(struct mafat_packer *p, const struct mafat_layer *l, int layer,
                     struct mafat_span filters, float *panel)
{
  const float *in = factors_read(p, layer), *out = p->origin->factors[layer];
  struct mafat_matrix m = mafat_layer_matrix(l);
  size_t width = (size_t)mafat_panel_width(mafat_span_size(filters));
  float *scale = panel + mafat_matrix_row(m) * width, *bias = scale + width;
  bool depthwise = mafat_layer_is_depthwise(l);
  for (int f = filters.begin; f < filters.end; f++, scale++, bias++) {
    if (out) *scale *= out[f], *bias *= out[f];
    if (in && depthwise) *scale /= in[f];
  }
  int n = in && !depthwise ? mafat_pack_list(l, filters.begin, p->block_slices) : 0;
  for (int i = 0; i < n; i++)
    for (int row = 0; row < m.taps * p->block_slices[i].n; row++)
      for (size_t k = 0; k < width; k++)
        *panel++ /= in[p->block_slices[i].position + row % p->block_slices[i].n];
}

/* Writes the panels of these filters, which are complete in p->panels. Converts them if needed. */
static int write_filters(struct mafat_packer *p, int layer, struct mafat_span filters)
{
  const struct mafat_layer *l = &p->network->layers[layer], in_file = layer_in_file(p, layer);
  size_t begin = mafat_packed_offset(&in_file, filters.begin);
  int code = MAFAT_OK;
  if (!is_converted(p, layer))
    return write_panels(p, layer, begin, p->panels,
                        mafat_packed_offset(&in_file, filters.end) - begin);
  for (int f = filters.begin; f < filters.end && code == MAFAT_OK; f = mafat_panel_end(l, f)) {
    int end = mafat_panel_end(l, f), width = mafat_panel_width(end - f);
    char *panel = p->panels + (mafat_packed_offset(&in_file, f) - begin);
    float *from = in_file.weights_type == MAFAT_F32 ? (float *)(void *)panel : p->wide;
    if (from == p->wide) mafat_widen_panel(&in_file, width, panel, p->wide);
    if (p->origin && p->origin->factors) equalize(p, &in_file, layer, mafat_span(f, end), from);
    size_t at = mafat_packed_offset(l, f), bytes = mafat_packed_offset(l, end) - at;
    memset(p->narrow, 0, bytes);
    if (!narrow_panel(p, layer, f, width, from))
      return mafat_fail(p->d, MAFAT_EFORMAT,
                        "%s: layer %d [%s] has weights that are too large for %s", p->file->name,
                        layer, mafat_layer_type_name(l->type), mafat_dtype_name(l->weights_type));
    code = write_panels(p, layer, at, p->narrow, bytes);
  }
  return code;
}

static struct mafat_pack_part part_of(const struct mafat_packer *p, const struct mafat_fetch *fetch,
                                      const void *values)
{
  return (struct mafat_pack_part){&constants_of(p, fetch->layer)->weights,
                                  fetch->filters, fetch->channels, values, p->affine,
                                  p->affine + p->network->layers[fetch->layer].out.c};
}

static int take_affine(struct mafat_packer *p, const struct mafat_fetch *fetch, const float *values)
{
  const struct mafat_layer *l = &p->network->layers[fetch->layer];
  bool alone = mafat_layer_weights_form(l) == MAFAT_WEIGHTS_AFFINE;
  size_t n = (size_t)l->out.c,
         capacity = alone ? (size_t)mafat_round_up(l->in.c, MAFAT_PANEL_STEP) : n;
  float *scale = p->affine, *bias = scale + capacity;
  if (alone) memset(scale, 0, 2 * capacity * sizeof *scale);
  if (!mafat_affine_take(fetch->kind, values, n, mafat_affine_epsilon(p->network), scale, bias))
    return refuse(p, fetch->layer);
  p->first_filter = 0;
  return alone ? write_panels(p, fetch->layer, 0, scale, 2 * capacity * sizeof *scale) : MAFAT_OK;
}

static int take_parts(struct mafat_packer *p, const struct mafat_fetch *fetch, const char *data)
{
  const struct mafat_layer *l = &p->network->layers[fetch->layer];
  size_t n = (size_t)l->out.c, capacity = (size_t)mafat_round_up(l->in.c, MAFAT_PANEL_STEP);
  float *scale = p->affine;
  if (has_integers(p, fetch->layer)) {
    mafat_affine_spread_parts(fetch, constants_of(p, fetch->layer), data, n, scale);
    p->first_filter = 0;
    return MAFAT_OK;
  }
  if (!mafat_affine_take_parts(fetch, constants_of(p, fetch->layer), data, n, scale))
    return refuse(p, fetch->layer);
  p->first_filter = 0;
  if (!fetch->folds || mafat_layer_weights_form(l) != MAFAT_WEIGHTS_AFFINE) return MAFAT_OK;
  memmove(scale + capacity, scale + n, n * sizeof *scale);
  memset(scale + n, 0, (capacity - n) * sizeof *scale);
  memset(scale + capacity + n, 0, (capacity - n) * sizeof *scale);
  return write_panels(p, fetch->layer, 0, scale, 2 * capacity * sizeof *scale);
}

static void pack(struct mafat_packer *p, const struct mafat_layer *in_file,
                 const struct mafat_fetch *fetch, const void *values, size_t before)
{
  struct mafat_pack_part part = part_of(p, fetch, values);
  struct mafat_packed_panels panels = {p->panels, before};
  if (mafat_layer_sums_integers(in_file))
    mafat_pack_integers(p->network, fetch->layer, &part, p->block_slices, panels);
  else mafat_pack(in_file, &part, p->block_slices, panels);
}

/* Packs the filters of a fetch into p->panels, which may begin with an incomplete panel of the
 * fetch before. Writes the panels that are complete. */
static int take_filters(struct mafat_packer *p, const struct mafat_fetch *fetch, const void *values)
{
  const struct mafat_layer in_file = layer_in_file(p, fetch->layer), *l = &in_file;
  size_t before = mafat_packed_offset(l, p->first_filter);
  pack(p, l, fetch, values, before);
  int end = fetch->filters.end;
  if (end < l->out.c) end = mafat_pack_panel_begin(l, end);
  size_t complete = mafat_packed_offset(l, end) - before;
  if (complete == 0) return MAFAT_OK;
  int code = write_filters(p, fetch->layer, mafat_span(p->first_filter, end));
  if (fetch->filters.end > end) { /* the next panel has begun */
    size_t begun = mafat_packed_offset(l, mafat_panel_end(l, end)) - mafat_packed_offset(l, end);
    memmove(p->panels, p->panels + complete, begun);
  }
  p->first_filter = end;
  return code;
}

/* True if rows can be written to panels one by one, because each row is a contiguous part of every
 * panel. Panels of narrow types are converted as a whole. */
static bool rows_are_inputs(const struct mafat_packer *p, int layer)
{
  const struct mafat_layer *l = &p->network->layers[layer];
  return !is_narrow(p, layer) && !mafat_layer_sums_integers(l) &&
         constants_of(p, layer)->weights.order != MAFAT_ORDER_TRANSPOSED &&
         mafat_layer_matrix(l).taps == 1 && !mafat_layer_is_grouped(l);
}

/* Packs rows, whose weights are spread over all panels; writes the panels after the last row. */
static int take_rows(struct mafat_packer *p, const struct mafat_fetch *fetch, const void *values)
{
  const struct mafat_layer in_file = layer_in_file(p, fetch->layer);
  pack(p, &in_file, fetch, values, 0);
  return fetch->last ? write_filters(p, fetch->layer, mafat_span(0, in_file.out.c)) : MAFAT_OK;
}

/* Returns the bytes of the weights of n_inputs inputs in a float panel, with scales and biases. */
static size_t inputs_bytes(size_t width, size_t n_inputs)
{
  return n_inputs * width * sizeof(float) + mafat_panel_affine_bytes(width);
}

/* Writes the weights of some inputs for all filters: a part of every panel. */
static int take_inputs(struct mafat_packer *p, const struct mafat_fetch *fetch, const float *values)
{
  const struct mafat_layer *l = &p->network->layers[fetch->layer];
  size_t n_inputs = (size_t)mafat_span_size(fetch->channels), outputs = (size_t)l->out.c;
  int code = MAFAT_OK;
  for (int f = 0; f < l->out.c && code == MAFAT_OK; f = mafat_panel_end(l, f)) {
    int n = mafat_panel_end(l, f) - f;
    size_t width = (size_t)mafat_panel_width(n), rows = n_inputs;
    float *panel = (float *)(void *)p->panels;
    memset(panel, 0, inputs_bytes(width, n_inputs));
    for (size_t i = 0; i < n_inputs; i++)
      memcpy(panel + i * width, values + i * outputs + (size_t)f, (size_t)n * sizeof *values);
    if (fetch->channels.end == mafat_layer_matrix(l).inputs) {
      memcpy(panel + rows++ * width, p->affine + f, (size_t)n * sizeof *values);
      memcpy(panel + rows++ * width, p->affine + l->out.c + f, (size_t)n * sizeof *values);
    }
    size_t before =
        mafat_packed_offset(l, f) + (size_t)fetch->channels.begin * width * sizeof *panel;
    code = write_panels(p, fetch->layer, before, panel, rows * width * sizeof *panel);
  }
  return code;
}

static int take_in(struct mafat_packer *p, const struct mafat_fetch *fetch, const char *data)
{
  const float *values = (const float *)(const void *)data;
  switch (fetch->kind) {
  case MAFAT_FETCH_BIASES:
  case MAFAT_FETCH_NORMALIZATION:
  case MAFAT_FETCH_AFFINE: return take_affine(p, fetch, values); /* checked after folding */
  case MAFAT_FETCH_PARTS: return take_parts(p, fetch, data);
  default: break;
  }
  enum mafat_dtype type =
      fetch->kind == MAFAT_FETCH_COPY ? MAFAT_F32 : type_in_file(p, fetch->layer);
  bool floats = layer_in_file(p, fetch->layer).out_type == MAFAT_F32;
  if (floats && !mafat_pack_weights_are_finite(type, data, fetch->bytes))
    return refuse(p, fetch->layer);
  if (fetch->kind == MAFAT_FETCH_COPY)
    return write_panels(p, fetch->layer, (size_t)fetch->into, values, fetch->bytes);
  if (fetch->kind == MAFAT_FETCH_FILTERS) return take_filters(p, fetch, data);
  return rows_are_inputs(p, fetch->layer) ? take_inputs(p, fetch, values)
                                          : take_rows(p, fetch, data);
}

/* Stage: packs one fetch. *last: all fetches are packed. */
static int pack_some(struct mafat_packer *p, bool *last)
{
  struct mafat_fetch fetch;
  const char *data;
  *last = mafat_stream_next_step(p->stream) < 0;
  if (*last) return mafat_reads_check(p->file->reads, p->d);
  int code = mafat_stream_take(p->stream, &fetch, &data, p->d);
  if (code == MAFAT_OK) code = take_in(p, &fetch, data);
  if (code) return code;
  mafat_stream_free(p->stream);
  p->done += fetch.bytes;
  return MAFAT_OK;
}

/* ---- rest of the file ---- */

/* Reads one block at an aligned offset, and waits for it. */
static int read_in_order(struct mafat_read_queue *reads, char *block, uint64_t offset, size_t bytes,
                         struct mafat_diagnostic *d)
{
  size_t whole =
      (bytes + MAFAT_FETCH_ALIGNMENT - 1) / MAFAT_FETCH_ALIGNMENT * MAFAT_FETCH_ALIGNMENT;
  int code = mafat_read_queue_submit(reads, 0, block, whole, offset, d);
  return code ? code : mafat_read_queue_wait(reads, 0, d);
}

/* Stage: hashes a block of the weights file. */
static int hash_some(struct mafat_packer *p, bool *last)
{
  uint64_t left = mafat_read_queue_file_bytes(p->file->reads) - p->hashed;
  size_t n = left < HASH_BYTES ? (size_t)left : HASH_BYTES;
  *last = left == 0;
  if (*last) return MAFAT_OK;
  int code = read_in_order(p->file->reads, p->ring, p->hashed, n, p->d);
  if (code) return code;
  p->packed->source_hash = mafat_hash(p->packed->source_hash, p->ring, n);
  p->hashed += n;
  p->done += n;
  return MAFAT_OK;
}

/* Buffer for the embedded graph. When it has HASH_BYTES bytes, it is hashed and written. */
struct byte_block {
  char *bytes;
  size_t n;
  uint64_t at; /* offset of the buffer's first byte in the embedded graph */
};

static int end_block(struct mafat_packer *p, struct byte_block *b)
{
  p->packed->embedded_graph_hash = mafat_hash(p->packed->embedded_graph_hash, b->bytes, b->n);
  int code = write_at(p, p->packed->begin_bytes + b->at, b->bytes, b->n);
  b->at += b->n;
  b->n = 0;
  return code;
}

static int copy_range(struct mafat_packer *p, struct mafat_model_file *file,
                      const struct mafat_embedded_range *range, struct byte_block *b)
{
  int code = MAFAT_OK;
  for (uint64_t done = 0; done < range->bytes && code == MAFAT_OK;) {
    uint64_t left = range->bytes - done;
    size_t capacity = HASH_BYTES - b->n, n = left < capacity ? (size_t)left : capacity;
    code = mafat_model_file_read(file, range->at + done, n, b->bytes + b->n, p->d);
    b->n += n;
    done += n;
    if (code == MAFAT_OK && b->n == HASH_BYTES) code = end_block(p, b);
  }
  return code;
}

/* Returns the number that a file has in constants (network/constant.h); 0: it is the model itself.
 * `name` is a path, or relative to the model's folder. */
static int number_of(const struct mafat_packer *p, const char *name)
{
  const char *slash = strrchr(p->file->name, '/');
  size_t folder = slash ? (size_t)(slash + 1 - p->file->name) : 0;
  for (int i = 0; i < p->network->n_files; i++)
    if (strcmp(p->network->files[i], name) == 0 ||
        (strncmp(p->network->files[i], p->file->name, folder) == 0 &&
         strcmp(p->network->files[i] + folder, name) == 0))
      return i + 1;
  return 0;
}

/* Opens a file of the embedded graph, and checks that it has not changed since the network was
 * read. */
static int open_embedded_graph_file(struct mafat_model_file **file, const struct mafat_packer *p,
                                    const char *name)
{
  const int number = number_of(p, name);
  struct mafat_file_state noted = {0};
  if (p->network->states) noted = p->network->states[number];
  int code = number ? mafat_model_file_open(file, p->network->files[number - 1], p->d)
                    : mafat_model_file_open_source(file, p->source, p->d);
  if (code == MAFAT_OK) code = mafat_model_file_same(*file, &noted, p->d);
  if (code) mafat_model_file_close(file);
  return code;
}

static int write_embedded_graph(struct mafat_packer *p)
{
  const struct mafat_embedded_graph *e = p->origin->embedded_graph;
  struct byte_block b = {.bytes = p->ring};
  int code = MAFAT_OK;
  p->packed->embedded_graph_hash = MAFAT_HASH_START;
  for (int i = 0; i < e->n_files && code == MAFAT_OK; i++) {
    struct mafat_model_file *file;
    code = open_embedded_graph_file(&file, p, e->files[i].name);
    for (size_t k = 0; k < e->files[i].n && code == MAFAT_OK; k++)
      code = copy_range(p, file, &e->files[i].ranges[k], &b);
    mafat_model_file_close(&file);
  }
  return code ? code : end_block(p, &b);
}

/* Stage: writes the embedded graph, and prepares packing. It is between hashing and packing because
 * all three use the memory of the ring. */
static int begin_layers(struct mafat_packer *p, bool *last)
{
  int code = p->origin && p->origin->embedded_graph ? write_embedded_graph(p) : MAFAT_OK;
  mafat_stream_rewind(p->stream, p->ring, p->ring_bytes);
  *last = true;
  return code;
}

/* Stage: writes the beginning of the file (header, index and origin), and sets its length. */
static int write_around(struct mafat_packer *p, bool *last)
{
  *last = true;
  char *beginning;
  int code = mafat_packed_seal(p->packed, p->network, p->origin, &beginning);
  if (code) return mafat_fail(p->d, code, "%s: out of memory", p->name);
  code = write_at(p, 0, beginning, (size_t)p->packed->begin_bytes);
  if (code == MAFAT_OK && ftruncate(p->fd, (off_t)p->packed->file_bytes) != 0)
    code = mafat_fail(p->d, MAFAT_EIO, "%s: cannot write: %s", p->name, strerror(errno));
  free(beginning);
  return code;
}

/* Returns the bytes of a layer's widest panel as floats. */
static size_t float_panel_bytes(const struct mafat_layer *l)
{
  const size_t width = (size_t)mafat_panel_width(mafat_min(l->out.c, MAFAT_PANEL));
  return (size_t)mafat_matrix_row(mafat_layer_matrix(l)) * width * sizeof(float) +
         mafat_panel_affine_bytes(width);
}

/* Adds the bytes of all fetches to p->total, and finds the sizes of the buffers. p->panels must
 * hold all panels of a fetch, including those that the fetch has only in part. */
static void find_sizes(struct mafat_packer *p)
{
  struct mafat_fetch fetch;
  size_t largest = 0;
  while (mafat_fetches_next(p->fetches, &fetch)) {
    const struct mafat_layer in_file = layer_in_file(p, fetch.layer), *l = &in_file;
    size_t bytes = 0, panel = is_converted(p, fetch.layer) ? float_panel_bytes(l) : 0;
    if (panel > p->panel_bytes) p->panel_bytes = panel;
    if (fetch.bytes > largest) largest = fetch.bytes;
    p->total += fetch.bytes;
    if (fetch.kind == MAFAT_FETCH_TRANSPOSED)
      bytes = rows_are_inputs(p, fetch.layer)
                  ? inputs_bytes(MAFAT_PANEL, (size_t)mafat_span_size(fetch.channels))
                  : mafat_packed_layer_bytes(l);
    if (fetch.kind == MAFAT_FETCH_FILTERS)
      bytes = mafat_packed_offset(
                  l, mafat_panel_end(l, mafat_pack_panel_begin(l, fetch.filters.end - 1))) -
              mafat_packed_offset(l, mafat_pack_panel_begin(l, fetch.filters.begin));
    if (bytes > p->panels_bytes) p->panels_bytes = bytes;
  }
  p->ring_bytes = mafat_fetch_window(largest) * RING_FETCHES;
  if (p->ring_bytes < HASH_BYTES) p->ring_bytes = HASH_BYTES;
}

static int allocate(struct mafat_packer *p)
{
  const struct mafat_network *n = p->network;
  size_t capacity = 1, affine = 1;
  int code = mafat_fetches_open_layers(&p->fetches, n, n->n_layers, NULL, p->file->constants, 0);
  if (code == MAFAT_OK) code = mafat_stream_open(&p->stream, p->file->reads, p->fetches, n->values);
  if (code) return code;
  find_sizes(p);
  for (int l = 0; l < n->n_layers; l++) {
    size_t block_slices = (size_t)mafat_pack_block_slices(&n->layers[l]);
    size_t rows = (size_t)mafat_fetches_affine_rows(constants_of(p, l));
    size_t floats = rows * (size_t)mafat_round_up(n->layers[l].out.c, MAFAT_PANEL_STEP);
    if (block_slices > capacity) capacity = block_slices;
    if (floats > affine) affine = floats;
  }
  p->block_slices = calloc(capacity, sizeof *p->block_slices);
  p->affine = calloc(affine, sizeof *p->affine);
  p->panels = calloc(p->panels_bytes + 1, 1);
  /* a panel is largest as floats, but integer panels also have shifts */
  p->narrow = calloc(p->panel_bytes + MAFAT_PANEL * sizeof(int32_t), 1);
  p->narrowed = calloc(p->panel_bytes + 1, 1);
  p->wide = calloc(p->panel_bytes + 1, 1);
  void *ring =
      mmap(NULL, p->ring_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (ring != MAP_FAILED) p->ring = ring;
  return p->block_slices && p->affine && p->panels && p->narrow && p->narrowed && p->wide && p->ring
             ? MAFAT_OK
             : MAFAT_ENOMEM;
}

/* Finds the size and offset of each layer in the output file. Writes nothing. */
static int lay_out(struct mafat_packer *p)
{
  const struct mafat_network *n = p->network;
  uint64_t *bytes = calloc((size_t)n->n_layers, sizeof *bytes);
  int code = bytes ? MAFAT_OK : MAFAT_ENOMEM;
  for (int l = 0; l < n->n_layers && code == MAFAT_OK; l++) {
    const struct mafat_layer floats = layer_as_floats(p, l);
    size_t packed = mafat_packed_layer_bytes(&n->layers[l]);
    /* a larger layer is refused, so that sizes do not overflow: panels as floats are larger than
     * the packed ones, and the ring holds RING_FETCHES fetches (predictor/schedule/fetches.c has
     * the same bound) */
    bool addressable = !is_converted(p, l) || mafat_packed_layer_bytes(&floats) <= SIZE_MAX / 4;
    if (packed == SIZE_MAX || !addressable) code = MAFAT_ELIMIT;
    bytes[l] = packed;
  }
  if (code == MAFAT_OK) code = mafat_packed_make(&p->packed, n, p->origin, bytes);
  free(bytes);
  return code;
}

static int open_packer(struct mafat_packer *p, const struct mafat_warning_sink *warnings,
                       struct mafat_diagnostic *d)
{
  const struct mafat_network *n = p->network;
  int code = mafat_weights_file_open(&p->file, p->source, MAFAT_READS_AUTO, n, warnings, d);
  if (code) return code;
  if (p->file->packed)
    return mafat_fail(d, MAFAT_EINVAL, "%s: is a packed weights file already", p->source->path);
  if ((code = lay_out(p)) == MAFAT_ELIMIT)
    return mafat_fail(d, code, "%s: has more weights than can be addressed", n->path);
  if (code || (code = allocate(p)))
    return mafat_fail(d, code, "%s: out of memory", p->source->path);
  p->packed->source_hash = MAFAT_HASH_START;
  p->packed->source_bytes = mafat_read_queue_file_bytes(p->file->reads);
  p->total += p->packed->source_bytes;
  return MAFAT_OK;
}

int mafat_packer_open(struct mafat_packer **out, struct mafat_model_source *source,
                      const struct mafat_network *n, const struct mafat_packed_origin *origin,
                      int out_fd, const char *out_name, const struct mafat_warning_sink *warnings,
                      struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_packer *p = calloc(1, sizeof *p);
  if (!p) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", source->path);
  *p = (struct mafat_packer){
      .network = n, .origin = origin, .source = source, .fd = out_fd, .name = out_name};
  int code = open_packer(p, warnings, d);
  if (code == MAFAT_OK) *out = p;
  else mafat_packer_close(&p);
  return code;
}

int mafat_packer_step(struct mafat_packer *p, bool *done, struct mafat_diagnostic *d)
{
  static int (*const stages[])(struct mafat_packer *, bool *last) = {hash_some, begin_layers,
                                                                     pack_some, write_around};
  enum { N_STAGES = sizeof stages / sizeof *stages };
  bool last;
  p->d = d;
  int code = stages[p->stage](p, &last);
  p->stage += code == MAFAT_OK && last;
  *done = p->stage == N_STAGES;
  return code;
}

double mafat_packer_share(const struct mafat_packer *p)
{
  return p->total ? (double)p->done / (double)p->total : 1;
}

void mafat_packer_close(struct mafat_packer **packer)
{
  if (!packer || !*packer) return;
  struct mafat_packer *p = *packer;
  mafat_stream_close(&p->stream);
  mafat_fetches_close(&p->fetches);
  mafat_weights_file_close(&p->file);
  if (p->ring) munmap(p->ring, p->ring_bytes);
  mafat_packed_close(&p->packed);
  free(p->block_slices);
  free(p->affine);
  free(p->panels);
  free(p->narrow);
  free(p->narrowed);
  free(p->wide);
  free(p);
  *packer = NULL;
}

int mafat_packer_write(const char *weights_path, const struct mafat_network *n,
                       const struct mafat_packed_origin *origin, int out_fd, const char *out_name,
                       struct mafat_diagnostic *d)
{
  struct mafat_packer *p = NULL;
  struct mafat_model_source *source;
  int code = mafat_model_source_open_regular(&source, weights_path, d);
  if (code == MAFAT_OK) code = mafat_packer_open(&p, source, n, origin, out_fd, out_name, NULL, d);
  for (bool done = false; code == MAFAT_OK && !done;) code = mafat_packer_step(p, &done, d);
  mafat_packer_close(&p);
  mafat_model_source_close(&source);
  return code;
}

/* ---- verification ---- */

static void show(const struct mafat_packer_progress *p, uint64_t done, uint64_t total)
{
  if (p && p->show) p->show(p->context, done, total);
}

static int check_embedded_graph(struct mafat_read_queue *reads, const struct mafat_packed *packed,
                                const char *path, char *block, struct mafat_diagnostic *d)
{
  uint64_t hash = MAFAT_HASH_START;
  for (uint64_t at = 0; at < packed->embedded_graph_bytes; at += HASH_BYTES) {
    uint64_t left = packed->embedded_graph_bytes - at;
    size_t n = left < HASH_BYTES ? (size_t)left : HASH_BYTES;
    int code = read_in_order(reads, block, packed->begin_bytes + at, n, d);
    if (code) return code;
    hash = mafat_hash(hash, block, n);
  }
  if (packed->embedded_graph_bytes == 0 || hash == packed->embedded_graph_hash) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT, "%s: the graph is damaged: its checksum differs", path);
}

static int check_layers(struct mafat_read_queue *reads, const struct mafat_packed *packed,
                        const char *path, char *block, const struct mafat_packer_progress *progress,
                        struct mafat_diagnostic *d)
{
  uint64_t file_bytes = mafat_read_queue_file_bytes(reads);
  for (int l = 0; l < packed->n_layers; l++) {
    const struct mafat_packed_entry *e = &packed->entries[l];
    uint64_t sum = 0;
    for (uint64_t at = 0; at < e->bytes; at += HASH_BYTES) {
      size_t n = e->bytes - at < HASH_BYTES ? (size_t)(e->bytes - at) : HASH_BYTES;
      int code = read_in_order(reads, block, e->offset + at, n, d);
      if (code) return code;
      sum += mafat_packed_checksum(block, at, n);
      show(progress, e->offset + at + n, file_bytes);
    }
    int code = mafat_packed_check_layer(packed, path, NULL, l, sum, d);
    if (code) return code;
  }
  show(progress, file_bytes, file_bytes);
  return MAFAT_OK;
}

int mafat_packer_check(const char *path, const struct mafat_packer_progress *progress,
                       struct mafat_diagnostic *d)
{
  struct mafat_packed *packed = NULL;
  struct mafat_read_queue *reads = NULL;
  struct mafat_model_source *source;
  int code = mafat_model_source_open_regular(&source, path, d);
  if (code) return code;
  char *block = mmap(NULL, HASH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) code = mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
  if (code == MAFAT_OK)
    code = mafat_model_source_check_regular(source, ": weights are not read in order", d);
  if (code == MAFAT_OK) code = mafat_packed_open(&packed, source, NULL, false, d);
  if (code == MAFAT_OK) code = mafat_read_queue_open_source(&reads, source, MAFAT_READS_AUTO, d);
  if (code == MAFAT_OK) code = check_embedded_graph(reads, packed, path, block, d);
  if (code == MAFAT_OK) code = check_layers(reads, packed, path, block, progress, d);
  if (block != MAP_FAILED) munmap(block, HASH_BYTES);
  mafat_packed_close(&packed);
  mafat_read_queue_close(&reads);
  mafat_model_source_close(&source);
  return code;
}
