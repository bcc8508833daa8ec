#include "runner/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "weights files are little-endian");

enum { CHUNK_FLOATS = 16384 }; /* read at a time: the file never lies in memory whole */

struct mafat_weights {
  const struct mafat_network *network;
  float *packed;        /* one mapping for all layers */
  size_t packed_bytes;
  size_t *offsets;      /* [layer]: floats before the layer's first panel */
  int n_layers;
  uint64_t bytes_read;
};

/* A file being read forwards from any position. */
struct reader {
  int fd;
  const char *name;
  struct mafat_diagnostic *d;
  uint64_t bytes_read;
  uint64_t position;    /* of the next chunk, bytes */
  uint64_t left;        /* floats of the run that are not yet in a chunk */
  float *chunk;
  size_t n, used;       /* floats in the chunk, and taken from it */
  bool not_finite;      /* a weight was NaN or infinite */
};

static int read_at(struct reader *r, uint64_t position, void *to, size_t bytes)
{
  char *at = to;
  while (bytes > 0) {
    ssize_t got = pread(r->fd, at, bytes, (off_t)position);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return mafat_fail(r->d, MAFAT_EIO, "%s: cannot read: %s", r->name, strerror(errno));
    if (got == 0)
      return mafat_fail(r->d, MAFAT_EFORMAT, "%s: ended while being read, at byte %llu", r->name,
                        (unsigned long long)position);
    at += got;
    position += (uint64_t)got;
    bytes -= (size_t)got;
    r->bytes_read += (uint64_t)got;
  }
  return MAFAT_OK;
}

/* NaN and infinity have all exponent bits set. */
static bool all_finite(const float *x, size_t n)
{
  uint32_t largest = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &x[i], sizeof bits);
    bits &= 0x7f800000u;
    largest = bits > largest ? bits : largest;
  }
  return largest != 0x7f800000u;
}

/* The next `floats` floats will be taken in order from `position`. */
static void seek_to(struct reader *r, uint64_t position, uint64_t floats)
{
  r->position = position;
  r->left = floats;
  r->n = r->used = 0;
}

/* Some of the next `wanted` floats: at least one, from the chunk in memory. */
static int take_run(struct reader *r, uint64_t wanted, const float **run, size_t *n)
{
  if (r->used == r->n) {
    size_t floats = r->left < CHUNK_FLOATS ? (size_t)r->left : CHUNK_FLOATS;
    int code = read_at(r, r->position, r->chunk, floats * sizeof(float));
    if (code) return code;
    r->not_finite = r->not_finite || !all_finite(r->chunk, floats);
    r->position += floats * sizeof(float);
    r->left -= floats;
    r->n = floats;
    r->used = 0;
  }
  *n = wanted < r->n - r->used ? (size_t)wanted : r->n - r->used;
  *run = r->chunk + r->used;
  r->used += *n;
  return MAFAT_OK;
}

/* ---- header and length ---- */

struct header {
  uint64_t bytes;
  bool transposed;
};

static int read_header(struct reader *r, uint64_t file_bytes, struct header *h)
{
  int32_t version[3];
  if (file_bytes < sizeof version + 4)
    return mafat_fail(r->d, MAFAT_EFORMAT, "%s: expected a weights header of 16 or 20 bytes, found %llu bytes",
                      r->name, (unsigned long long)file_bytes);
  int code = read_at(r, 0, version, sizeof version);
  if (code) return code;
  int major = version[0], minor = version[1];
  if (major < 0 || minor < 0 || major > 1 << 20 || minor > 1 << 20)
    return mafat_fail(r->d, MAFAT_EFORMAT, "%s: expected a weights header, found version %d.%d", r->name,
                      major, minor);
  bool wide = major * 10 + minor >= 2 && major < 1000 && minor < 1000;
  h->bytes = sizeof version + (wide ? 8 : 4);
  h->transposed = major > 1000 || minor > 1000;
  return MAFAT_OK;
}

static uint64_t layer_floats(const struct mafat_layer *l)
{
  struct mafat_weight_counts n = mafat_layer_weight_counts(l);
  return n.biases + n.normalization + n.weights;
}

uint64_t mafat_weights_payload_bytes(const struct mafat_network *n)
{
  uint64_t floats = 0;
  for (int l = 0; l < n->n_layers; l++) floats += layer_floats(&n->layers[l]);
  return floats * sizeof(float);
}

/* The file must hold what the whole cfg asks for, no less, and with a
 * detection head no more: a backbone cut from a longer file is legitimate. */
static int check_length(const struct reader *r, const struct mafat_network *n,
                        const struct header *h, uint64_t file_bytes,
                        const struct mafat_warning_sink *warnings)
{
  uint64_t end = h->bytes;
  bool has_head = false;
  for (int l = 0; l < n->n_layers; l++) {
    end += layer_floats(&n->layers[l]) * sizeof(float);
    has_head = has_head || mafat_layer_is_head(&n->layers[l]);
    if (end > file_bytes)
      return mafat_fail(r->d, MAFAT_EFORMAT,
                        "%s: expected %llu bytes for %s, found %llu: the file ends in layer %d [%s]", r->name,
                        (unsigned long long)(h->bytes + mafat_weights_payload_bytes(n)), n->path,
                        (unsigned long long)file_bytes, l, mafat_layer_type_name(n->layers[l].type));
  }
  if (end == file_bytes) return MAFAT_OK;
  if (has_head)
    return mafat_fail(r->d, MAFAT_EFORMAT, "%s: expected %llu bytes for %s, found %llu: %llu too many", r->name,
                      (unsigned long long)end, n->path, (unsigned long long)file_bytes,
                      (unsigned long long)(file_bytes - end));
  mafat_warn(warnings, "%s: %llu bytes beyond the last layer of %s are ignored", r->name,
             (unsigned long long)(file_bytes - end), n->path);
  return MAFAT_OK;
}

/* ---- packing ---- */

/* Where a layer's per-filter values lie in the file, bytes. */
struct affine_source {
  uint64_t biases_at;
  uint64_t scales_at; /* 0: no normalization; then means and variances follow */
  uint64_t n;         /* values of each kind */
};

static void fold_normalization(float gamma, float mean, float variance, float *scale, float *bias)
{
  /* Double precision, and Darknet's epsilon added to the deviation. */
  double factor = (double)gamma / (__builtin_sqrt((double)variance) + .000001);
  *scale = (float)factor;
  *bias = (float)((double)*bias - (double)mean * factor);
}

/* Scale and bias of filters [first, first + n), n at most a panel. */
static int read_affine(struct reader *r, const struct affine_source *from, int first, int n,
                       float *scale, float *bias)
{
  float gamma[MAFAT_PANEL], mean[MAFAT_PANEL], variance[MAFAT_PANEL];
  size_t bytes = (size_t)n * sizeof(float);
  uint64_t at = (uint64_t)first * sizeof(float), step = from->n * sizeof(float);
  int code = read_at(r, from->biases_at + at, bias, bytes);
  for (int i = 0; i < n; i++) scale[i] = 1;
  if (code == MAFAT_OK) r->not_finite = r->not_finite || !all_finite(bias, (size_t)n);
  if (code || from->scales_at == 0) return code;
  at += from->scales_at;
  if ((code = read_at(r, at, gamma, bytes)) || (code = read_at(r, at + step, mean, bytes)) ||
      (code = read_at(r, at + 2 * step, variance, bytes)))
    return code;
  for (int i = 0; i < n; i++)
    fold_normalization(gamma[i], mean[i], variance[i], &scale[i], &bias[i]);
  r->not_finite = r->not_finite || !all_finite(scale, (size_t)n) || !all_finite(bias, (size_t)n);
  return MAFAT_OK;
}

/* One filter's weights (channel, ky, kx) into lane `lane` of its panel. */
static int pack_filter(struct reader *r, const struct mafat_piece *pieces, int n_pieces, int taps,
                       float *panel, int width)
{
  for (int p = 0; p < n_pieces; p++) {
    float *base = panel + (size_t)(pieces[p].position - pieces[0].position) * (size_t)taps * (size_t)width;
    for (int c = 0; c < pieces[p].n; c++)
      for (int t = 0; t < taps;) {
        const float *run;
        size_t n;
        int code = take_run(r, (uint64_t)(taps - t), &run, &n);
        if (code) return code;
        for (size_t i = 0; i < n; i++)
          base[((size_t)(t + (int)i) * (size_t)pieces[p].n + (size_t)c) * (size_t)width] = run[i];
        t += (int)n;
      }
  }
  return MAFAT_OK;
}

/* A piece per channel block of the concatenated sources of one group. */
static int list_pieces(const struct mafat_layer *l, int group, struct mafat_piece **pieces, int *n)
{
  int per_group = l->in.c / l->groups;
  struct mafat_span channels = {group * per_group, (group + 1) * per_group};
  *n = mafat_pieces(&l->sources, channels, NULL, 0);
  struct mafat_piece *grown = realloc(*pieces, (size_t)*n * sizeof *grown);
  if (!grown) return MAFAT_ENOMEM;
  *pieces = grown;
  mafat_pieces(&l->sources, channels, grown, *n);
  return MAFAT_OK;
}

static int pack_convolution(struct reader *r, const struct mafat_layer *l, uint64_t position,
                            float *packed)
{
  struct mafat_weight_counts counts = mafat_layer_weight_counts(l);
  uint64_t biases_end = position + counts.biases * sizeof(float);
  struct affine_source affine = {position, l->batch_normalize ? biases_end : 0, counts.biases};
  struct mafat_piece single = {.n = 1}, *listed = NULL; /* depthwise: one channel per filter */
  const struct mafat_piece *pieces = &single;
  bool depthwise = mafat_layer_is_depthwise(l);
  int taps = l->size * l->size, n_pieces = 1, group = -1, code = MAFAT_OK;
  int channels = l->in.c / l->groups, filters_per_group = l->filters / l->groups;
  seek_to(r, biases_end + counts.normalization * sizeof(float), counts.weights);
  for (int first = 0; first < l->filters && code == MAFAT_OK;) {
    int end = mafat_panel_end(l, first), width = mafat_panel_width(end - first);
    if (!depthwise && first / filters_per_group != group) {
      group = first / filters_per_group;
      if ((code = list_pieces(l, group, &listed, &n_pieces))) break;
      pieces = listed;
    }
    for (int f = first; f < end && code == MAFAT_OK; f++)
      code = pack_filter(r, pieces, n_pieces, taps, packed + (f - first), width);
    float *scale = packed + (size_t)channels * (size_t)taps * (size_t)width;
    if (code == MAFAT_OK) code = read_affine(r, &affine, first, end - first, scale, scale + width);
    packed = scale + 2 * width;
    first = end;
  }
  free(listed);
  return code == MAFAT_ENOMEM ? mafat_fail(r->d, code, "%s: out of memory", r->name) : code;
}

/* [output][input], or [input][output] in transposed files, into panels. In
 * connected layers the normalization follows the weights. */
static int pack_connected(struct reader *r, const struct mafat_layer *l, uint64_t position,
                          bool transposed, float *packed)
{
  struct mafat_weight_counts counts = mafat_layer_weight_counts(l);
  uint64_t outputs = counts.biases, inputs = counts.weights / outputs;
  uint64_t weights_at = position + outputs * sizeof(float);
  struct affine_source affine = {
      position, l->batch_normalize ? weights_at + counts.weights * sizeof(float) : 0, outputs};
  int code;
  seek_to(r, weights_at, counts.weights);
  for (uint64_t outer = 0; outer < (transposed ? inputs : outputs); outer++)
    for (uint64_t inner = 0; inner < (transposed ? outputs : inputs);) {
      const float *run;
      size_t n;
      if ((code = take_run(r, (transposed ? outputs : inputs) - inner, &run, &n))) return code;
      for (size_t i = 0; i < n; i++, inner++) {
        uint64_t o = transposed ? inner : outer, in = transposed ? outer : inner;
        int first = (int)(o / MAFAT_PANEL) * MAFAT_PANEL;
        size_t width = (size_t)mafat_panel_width(mafat_panel_end(l, first) - first);
        packed[mafat_packed_offset(l, first) + in * width + o % MAFAT_PANEL] = run[i];
      }
    }
  for (int first = 0; first < l->out.c;) {
    int end = mafat_panel_end(l, first), width = mafat_panel_width(end - first);
    float *scale = packed + mafat_packed_offset(l, first) + inputs * (uint64_t)width;
    if ((code = read_affine(r, &affine, first, end - first, scale, scale + width))) return code;
    first = end;
  }
  return MAFAT_OK;
}

/* Kept as the file has it: biases (filter, y, x), then per location
 * (filter, channel, ky, kx). */
static int pack_local(struct reader *r, const struct mafat_layer *l, uint64_t position, float *packed)
{
  struct mafat_weight_counts n = mafat_layer_weight_counts(l);
  size_t floats = (size_t)(n.biases + n.weights);
  int code = read_at(r, position, packed, floats * sizeof(float));
  if (code == MAFAT_OK) r->not_finite = r->not_finite || !all_finite(packed, floats);
  return code;
}

/* A layer of its own has scales, means and variances, but no biases. */
static int pack_batchnorm(struct reader *r, const struct mafat_layer *l, uint64_t position,
                          float *packed)
{
  uint64_t bytes = (uint64_t)l->in.c * sizeof(float);
  float *scale = packed, *bias = packed + mafat_round_up(l->in.c, MAFAT_PANEL_STEP);
  float mean[MAFAT_PANEL], variance[MAFAT_PANEL];
  int code = read_at(r, position, scale, (size_t)bytes);
  for (int c = 0; c < l->in.c && code == MAFAT_OK; c += MAFAT_PANEL) {
    int n = mafat_min(MAFAT_PANEL, l->in.c - c);
    uint64_t at = position + bytes + (uint64_t)c * sizeof(float);
    if ((code = read_at(r, at, mean, (size_t)n * sizeof(float))) ||
        (code = read_at(r, at + bytes, variance, (size_t)n * sizeof(float))))
      break;
    for (int i = c; i < c + n; i++) {
      bias[i] = 0;
      fold_normalization(scale[i], mean[i - c], variance[i - c], &scale[i], &bias[i]);
    }
    r->not_finite = r->not_finite || !all_finite(scale + c, (size_t)n) || !all_finite(bias + c, (size_t)n);
  }
  return code;
}

static int pack_layer(struct reader *r, const struct mafat_layer *l, uint64_t position,
                      const struct header *h, float *packed)
{
  switch (l->type) {
  case MAFAT_CONVOLUTIONAL: return pack_convolution(r, l, position, packed);
  case MAFAT_CONNECTED: return pack_connected(r, l, position, h->transposed, packed);
  case MAFAT_LOCAL: return pack_local(r, l, position, packed);
  case MAFAT_BATCHNORM: return pack_batchnorm(r, l, position, packed);
  default: return MAFAT_OK;
  }
}

static int pack_all(struct mafat_weights *w, struct reader *r, const struct header *h)
{
  uint64_t position = h->bytes;
  for (int l = 0; l < w->n_layers; l++) {
    int code = pack_layer(r, &w->network->layers[l], position, h, w->packed + w->offsets[l]);
    if (code) return code;
    if (r->not_finite)
      return mafat_fail(r->d, MAFAT_EFORMAT, "%s: layer %d [%s] has weights that are not finite numbers",
                        r->name, l, mafat_layer_type_name(w->network->layers[l].type));
    position += layer_floats(&w->network->layers[l]) * sizeof(float);
  }
  return MAFAT_OK;
}

static int map_packed(struct mafat_weights *w, const struct reader *r)
{
  size_t floats = 0;
  w->packed_bytes = mafat_packed_bytes(w->network, w->n_layers);
  w->offsets = calloc((size_t)w->n_layers + 1, sizeof *w->offsets);
  if (!w->offsets || w->packed_bytes == SIZE_MAX)
    return mafat_fail(r->d, MAFAT_ENOMEM, "%s: out of memory", r->name);
  for (int l = 0; l < w->n_layers; l++) {
    w->offsets[l] = floats;
    floats += (mafat_packed_floats(&w->network->layers[l]) + 15) / 16 * 16;
  }
  if (w->packed_bytes == 0) w->packed_bytes = 64; /* a network without weights: pointers stay valid */
  void *map = mmap(NULL, w->packed_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED)
    return mafat_fail(r->d, MAFAT_ENOMEM, "%s: cannot map %zu bytes for the weights: %s", r->name,
                      w->packed_bytes, strerror(errno));
  w->packed = map;
  return MAFAT_OK;
}

int mafat_weights_read(struct mafat_weights **out, int fd, const char *name,
                       const struct mafat_network *n, int n_layers,
                       const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  *out = NULL;
  struct reader r = {.fd = fd, .name = name, .d = d};
  struct header h = {0, false};
  struct stat st;
  struct mafat_weights *w = calloc(1, sizeof *w);
  r.chunk = malloc(CHUNK_FLOATS * sizeof *r.chunk);
  int code = MAFAT_OK;
  if (!w || !r.chunk) {
    code = mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", name);
    goto done;
  }
  w->network = n;
  w->n_layers = n_layers;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    code = mafat_fail(d, MAFAT_EIO, "%s: expected a regular file of weights", name);
    goto done;
  }
  if ((code = read_header(&r, (uint64_t)st.st_size, &h)) ||
      (code = check_length(&r, n, &h, (uint64_t)st.st_size, warnings)) ||
      (code = map_packed(w, &r)))
    goto done;
  code = pack_all(w, &r, &h);
  w->bytes_read = r.bytes_read;
done:
  free(r.chunk);
  if (code == MAFAT_OK) *out = w;
  else mafat_weights_close(&w);
  return code;
}

int mafat_weights_open(struct mafat_weights **out, const char *path,
                       const struct mafat_network *n, int n_layers,
                       const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  *out = NULL;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hang us */
  if (fd < 0) return mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", path, strerror(errno));
  int code = mafat_weights_read(out, fd, path, n, n_layers, warnings, d);
  close(fd);
  return code;
}

void mafat_weights_close(struct mafat_weights **weights)
{
  if (!weights || !*weights) return;
  struct mafat_weights *w = *weights;
  if (w->packed) munmap(w->packed, w->packed_bytes);
  free(w->offsets);
  free(w);
  *weights = NULL;
}

int mafat_weights_slice(struct mafat_weights *w, int layer, struct mafat_span filters,
                        struct mafat_span channels, struct mafat_weights_slice *slice)
{
  const struct mafat_layer *l = &w->network->layers[layer];
  const float *packed = w->packed + w->offsets[layer];
  if (l->type == MAFAT_BATCHNORM) {
    *slice = (struct mafat_weights_slice){
        .scale = packed, .bias = packed + mafat_round_up(l->in.c, MAFAT_PANEL_STEP)};
    return MAFAT_OK;
  }
  if (l->type == MAFAT_LOCAL) {
    uint64_t biases = mafat_layer_weight_counts(l).biases;
    *slice = (struct mafat_weights_slice){.bias = packed, .weights = packed + biases};
    return MAFAT_OK;
  }
  const float *panel = packed + mafat_packed_offset(l, filters.begin);
  int width = mafat_panel_width(mafat_panel_end(l, filters.begin) - filters.begin);
  size_t taps = l->type == MAFAT_CONNECTED ? 1 : (size_t)l->size * (size_t)l->size;
  size_t inputs = l->type == MAFAT_CONNECTED ? (size_t)l->in.h * (size_t)l->in.w * (size_t)l->in.c
                  : mafat_layer_is_depthwise(l) ? 1
                                                : (size_t)(l->in.c / l->groups);
  slice->width = width;
  slice->weights = panel + (size_t)channels.begin * taps * (size_t)width;
  slice->scale = panel + inputs * taps * (size_t)width;
  slice->bias = slice->scale + width;
  return MAFAT_OK;
}

void mafat_weights_release(struct mafat_weights *w, struct mafat_weights_slice *slice)
{
  (void)w;
  memset(slice, 0, sizeof *slice);
}

size_t mafat_weights_bytes(const struct mafat_weights *w)
{
  return w->packed_bytes;
}

uint64_t mafat_weights_bytes_read(const struct mafat_weights *w)
{
  return w->bytes_read;
}
