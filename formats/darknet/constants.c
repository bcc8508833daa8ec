/* Locates constants in .weights files. Called by formats/darknet/darknet.c and
 * runner/weights/weights_file.c. Allocates the table of locations, which the caller closes. */
#include "formats/darknet/constants.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "weights files are little-endian");

enum { NARROW_HEADER_BYTES = 16, WIDE_HEADER_BYTES = 20 };

/* True for the header of Darknet's first versions: learning rate, momentum and decay as floats,
 * then the number of images seen in training, in 4 bytes. These versions stored connected layers
 * transposed. Example: vgg-16.weights begins with 1e-5, .9, .0005. */
static bool is_oldest(const char *beginning)
{
  float rates[3];
  memcpy(rates, beginning, sizeof rates);
  for (int i = 0; i < 3; i++)
    if (!(rates[i] > 1e-9f) || !(rates[i] <= 1)) return false;
  return true;
}

int mafat_darknet_header_read(struct mafat_darknet_header *h, const char *beginning,
                              uint64_t file_bytes, const char *name, struct mafat_diagnostic *d)
{
  int32_t version[2];
  if (file_bytes < MAFAT_DARKNET_LEAST_HEADER)
    return mafat_fail(d, MAFAT_EFORMAT,
                      "%s: expected a weights header of 16 or 20 bytes, found %llu bytes", name,
                      (unsigned long long)file_bytes);
  if (is_oldest(beginning)) {
    *h = (struct mafat_darknet_header){NARROW_HEADER_BYTES, true};
    return MAFAT_OK;
  }
  memcpy(version, beginning, sizeof version);
  int major = version[0], minor = version[1];
  if (major < 0 || minor < 0 || major > 1 << 20 || minor > 1 << 20)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected a weights header, found version %d.%d", name,
                      major, minor);
  bool wide = major * 10 + minor >= 2 && major < 1000 && minor < 1000;
  h->bytes = wide ? WIDE_HEADER_BYTES : NARROW_HEADER_BYTES;
  h->transposed = major > 1000 || minor > 1000;
  return MAFAT_OK;
}

/* ---- locations ---- */

/* Locates the next n floats, and advances *at past them. */
static struct mafat_constant place(uint64_t *at, uint64_t n, enum mafat_order order)
{
  struct mafat_constant c = {.at = *at, .n = n, .type = MAFAT_F32, .order = order};
  *at = mafat_constant_end(&c);
  return c;
}

static void place_layer(struct mafat_layer_constants *c, const struct mafat_layer *l,
                        bool transposed, uint64_t *at)
{
  struct mafat_weight_counts n = mafat_layer_weight_counts(l);
  bool flat = mafat_layer_is_flat(l); /* a connected layer */
  enum mafat_order order = flat && transposed ? MAFAT_ORDER_INPUTS : MAFAT_ORDER_FILTERS;
  c->biases = place(at, n.biases, MAFAT_ORDER_FILTERS);
  if (!flat) c->normalization = place(at, n.normalization, MAFAT_ORDER_FILTERS);
  c->weights = place(at, n.weights, order);
  if (flat) c->normalization = place(at, n.normalization, MAFAT_ORDER_FILTERS);
}

static const struct mafat_darknet_header usual = {WIDE_HEADER_BYTES, false};

bool mafat_darknet_header_is_usual(const struct mafat_darknet_header *h)
{
  return h->bytes == usual.bytes && h->transposed == usual.transposed;
}

int mafat_darknet_constants(struct mafat_constants **out, const struct mafat_network *n,
                            const struct mafat_darknet_header *h)
{
  if (!h) h = &usual;
  struct mafat_constants *c = mafat_constants_make(n->n_layers);
  *out = c;
  if (!c) return MAFAT_ENOMEM;
  uint64_t at = h->bytes; /* cannot overflow: a layer has less than a terabyte of weights */
  for (int l = 0; l < n->n_layers; l++)
    place_layer(&c->layers[l], &n->layers[l], h->transposed, &at);
  return MAFAT_OK;
}

/* ---- length of the file ---- */

static uint64_t end_of(const struct mafat_layer_constants *c)
{
  uint64_t weights = mafat_constant_end(&c->weights),
           normalization = mafat_constant_end(&c->normalization);
  return weights > normalization ? weights : normalization;
}

bool mafat_darknet_header_fit(struct mafat_darknet_header *h, const struct mafat_network *n,
                              uint64_t file_bytes)
{
  uint64_t values = end_of(&n->constants->layers[n->n_layers - 1]) - usual.bytes,
           other = NARROW_HEADER_BYTES + WIDE_HEADER_BYTES - h->bytes;
  if (n->cut || h->bytes + values == file_bytes || other + values != file_bytes) return false;
  h->bytes = other;
  return true;
}

/* Fails if the surplus is what AlexeyAB's fork of Darknet writes: biases before the other constants
 * of each [batchnorm]. pjreddie's Darknet does not write them. */
static int refuse_fork(const struct mafat_network *n, uint64_t surplus, const char *name,
                       struct mafat_diagnostic *d)
{
  uint64_t biases = 0;
  for (int l = 0; l < n->n_layers; l++)
    if (mafat_layer_weights_form(&n->layers[l]) == MAFAT_WEIGHTS_AFFINE)
      biases += mafat_dtype_bytes(MAFAT_F32, (uint64_t)n->layers[l].in.c);
  if (biases == 0 || surplus != biases) return MAFAT_OK;
  return mafat_fail(
      d, MAFAT_EUNSUPPORTED,
      "%s: is %llu bytes too long for %s: [batchnorm] with biases, as AlexeyAB's Darknet "
      "writes it, is not supported",
      name, (unsigned long long)surplus, n->path);
}

int mafat_darknet_check_length(const struct mafat_constants *c, const struct mafat_network *n,
                               uint64_t file_bytes, const char *name,
                               const struct mafat_warning_sink *warnings,
                               struct mafat_diagnostic *d)
{
  uint64_t end = end_of(&c->layers[n->n_layers - 1]);
  bool has_head = false;
  for (int l = 0; l < n->n_layers; l++) {
    has_head = has_head || mafat_layer_is_head(&n->layers[l]);
    if (end_of(&c->layers[l]) > file_bytes)
      return mafat_fail(
          d, MAFAT_EFORMAT,
          "%s: expected %llu bytes for %s, found %llu: the file ends in layer %d [%s]", name,
          (unsigned long long)end, n->path, (unsigned long long)file_bytes, l,
          mafat_layer_type_name(n->layers[l].type));
  }
  if (end == file_bytes || n->cut) return MAFAT_OK;
  int code = refuse_fork(n, file_bytes - end, name, d);
  if (code) return code;
  if (has_head)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected %llu bytes for %s, found %llu: %llu too many",
                      name, (unsigned long long)end, n->path, (unsigned long long)file_bytes,
                      (unsigned long long)(file_bytes - end));
  mafat_warn(warnings, "%s: %llu bytes beyond the last layer of %s are ignored", name,
             (unsigned long long)(file_bytes - end), n->path);
  return MAFAT_OK;
}
