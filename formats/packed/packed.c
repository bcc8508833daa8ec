/* Reads and checks the header and index of a packed file, and makes those of a new one in memory.
 * Called by formats/packed/network.c and runner/weights. Reads the file; allocates struct
 * mafat_packed, which mafat_packed_close frees. */
#include "formats/packed/packed.h"

#include "base/part.h"
#include "base/tuning.h"
#include "formats/packed/identity.h"
#include "formats/packed/index.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "packed files are little-endian");

enum { BYTE_ORDER_MARK = 0x01020304, MAX_INDEX_BYTES = 16 << 20 };

static const char magic[MAFAT_PACKED_MAGIC_BYTES] = {'M', 'A', 'F', 'A', 'T', 'P', 'K', '1'};

/* The header as stored. */
struct packed_header {
  char magic[MAFAT_PACKED_MAGIC_BYTES];
  uint32_t byte_order, version;
  uint64_t n_layers, network_hash, source_hash, source_bytes;
  union {
    struct {
      uint64_t table_checksum, header_checksum;
    } v1;
    struct {
      /* layout that the weights were packed for */
      uint32_t channel_block, panel, panel_step, alignment;
      uint64_t index_bytes, index_checksum, header_checksum;
    } v2;
  } as;
};

_Static_assert(sizeof(struct packed_header) == MAFAT_PACKED_HEADER &&
                   offsetof(struct packed_header, as) == 48 &&
                   sizeof(struct mafat_packed_entry) == 24,
               "these structs are written as they are in memory");

bool mafat_packed_begins(const char beginning[MAFAT_PACKED_MAGIC_BYTES])
{
  return memcmp(beginning, magic, sizeof magic) == 0;
}

bool mafat_packed_imports(const char beginning[MAFAT_PACKED_BEGINNING])
{
  uint32_t version;
  memcpy(&version, beginning + offsetof(struct packed_header, version), sizeof version);
  return mafat_packed_begins(beginning) && mafat_packed_has_embedded_graph(version);
}

void mafat_packed_close(struct mafat_packed **packed)
{
  if (!packed || !*packed) return;
  mafat_embedded_graph_close(&(*packed)->embedded_graph);
  mafat_cfg_close(&(*packed)->graph);
  free((*packed)->entries);
  free((*packed)->types);
  free((*packed)->activations);
  free(*packed);
  *packed = NULL;
}

/* ---- the header ---- */

static int read_bytes(const struct mafat_model_source *from, uint64_t at, void *to, size_t bytes,
                      struct mafat_diagnostic *d)
{
  ssize_t got = mafat_model_source_read(from, to, bytes, at);
  if (got < 0)
    return mafat_fail(d, MAFAT_EIO, "%s: cannot read at byte %llu: %s", from->path,
                      (unsigned long long)at, strerror(errno));
  if ((size_t)got == bytes) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT, "%s: ended while being read, at byte %llu", from->path,
                    (unsigned long long)at + (uint64_t)got);
}

/* Aligns an offset. False: overflow. */
static bool align(uint64_t *bytes)
{
  if (__builtin_add_overflow(*bytes, (uint64_t)MAFAT_PACKED_ALIGNMENT - 1, bytes)) return false;
  *bytes -= *bytes % MAFAT_PACKED_ALIGNMENT;
  return true;
}

static uint64_t *checksum_of(struct packed_header *h)
{
  return h->version == 1 ? &h->as.v1.header_checksum : &h->as.v2.header_checksum;
}

static uint64_t sum_header(struct packed_header *h)
{
  return mafat_hash(MAFAT_HASH_START, h, (size_t)((char *)checksum_of(h) - (char *)h));
}

static int check_header(struct packed_header *h, struct mafat_model_source *from,
                        struct mafat_diagnostic *d)
{
  if (!mafat_packed_begins(h->magic))
    return mafat_fail(d, MAFAT_EFORMAT,
                      "%s: expected a packed weights file, which begins with \"MAFATPK1\"",
                      from->path);
  if (h->byte_order != BYTE_ORDER_MARK)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: the header is damaged, or of another byte order",
                      from->path);
  if (h->version < 1 || h->version > MAFAT_PACKED_LAST_VERSION)
    return mafat_fail(
        d, MAFAT_EUNSUPPORTED,
        "%s: expected version 1 to %d of the format, found %u: pack the .weights again", from->path,
        MAFAT_PACKED_LAST_VERSION, h->version);
  if (*checksum_of(h) != sum_header(h))
    return mafat_fail(d, MAFAT_EFORMAT, "%s: the header is damaged: its checksum differs",
                      from->path);
  if (h->n_layers > MAFAT_MAX_LAYERS)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected at most %d layers, found %llu", from->path,
                      MAFAT_MAX_LAYERS, (unsigned long long)h->n_layers);
  if (h->version == 1) return MAFAT_OK;
  if (h->as.v2.channel_block != MAFAT_CHANNEL_BLOCK || h->as.v2.panel != MAFAT_PANEL ||
      h->as.v2.panel_step != MAFAT_PANEL_STEP || h->as.v2.alignment != MAFAT_PACKED_ALIGNMENT)
    return mafat_fail(d, MAFAT_EUNSUPPORTED,
                      "%s: packed for other kernels: pack the .weights again", from->path);
  if (h->as.v2.index_bytes > MAX_INDEX_BYTES)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected an index of at most %d bytes, found %llu",
                      from->path, MAX_INDEX_BYTES, (unsigned long long)h->as.v2.index_bytes);
  return MAFAT_OK;
}

/* True if the file is for the same network, but its weights were folded by the other fork's
 * rule. */
static bool is_of_other_fork(const struct packed_header *h, const struct mafat_network *n)
{
  struct mafat_network other = *n;
  other.fork = n->fork == MAFAT_FORK_ALEXEYAB ? MAFAT_FORK_DARKNET : MAFAT_FORK_ALEXEYAB;
  return h->network_hash == mafat_packed_network_hash(&other, h->version);
}

/* True if the file was packed for network n. Old files have a hash without quantization parameters,
 * which suffices if n was read from this same file. */
static bool is_of(const struct packed_header *h, struct mafat_model_source *from,
                  const struct mafat_network *n)
{
  if (h->n_layers != (uint64_t)n->n_layers) return false;
  if (h->network_hash == mafat_packed_network_hash(n, h->version)) return true;
  return n->path && strcmp(from->path, n->path) == 0 &&
         h->network_hash == mafat_packed_shapes_hash(n, h->version);
}

static int read_header(struct packed_header *h, struct mafat_model_source *from,
                       const struct mafat_network *n, struct mafat_diagnostic *d)
{
  memset(h, 0, sizeof *h);
  size_t bytes = from->bytes < sizeof *h ? (size_t)from->bytes : sizeof *h;
  int code = bytes ? read_bytes(from, 0, h, bytes, d) : MAFAT_OK;
  if (code || (code = check_header(h, from, d))) return code;
  if (!n || is_of(h, from, n)) return MAFAT_OK;
  if (mafat_packed_has_embedded_graph(h->version))
    return mafat_fail(d, MAFAT_EFORMAT,
                      "%s: packed for another network than %s, or by a version that read the model "
                      "differently: pack the model again",
                      from->path, n->path);
  if (mafat_packed_has_activations(h->version))
    return mafat_fail(d, MAFAT_EFORMAT,
                      "%s: packed for another network than %s, with activations as integers: it is "
                      "run by itself, "
                      "or packed again",
                      from->path, n->path);
  if (is_of_other_fork(h, n))
    return mafat_fail(
        d, MAFAT_EFORMAT,
        "%s: packed for %s Darknet, here %s is %s: name the fork, or pack the .weights again",
        from->path, n->fork == MAFAT_FORK_ALEXEYAB ? "pjreddie's" : "AlexeyAB's", n->path,
        n->fork == MAFAT_FORK_ALEXEYAB ? "AlexeyAB's" : "pjreddie's");
  return mafat_fail(
      d, MAFAT_EFORMAT,
      "%s: packed for another network than %s (%llu layers, here %d; or shapes differ): "
      "pack the .weights again",
      from->path, n->path, (unsigned long long)h->n_layers, n->n_layers);
}

/* ---- index and table ---- */

static const char *type_name(const struct mafat_network *n, int layer)
{
  return n ? mafat_layer_type_name(n->layers[layer].type) : "?";
}

/* Checks that layers are consecutive and end with the file. */
static int check_entries(struct mafat_packed *p, struct mafat_model_source *from,
                         const struct mafat_network *n, struct mafat_diagnostic *d)
{
  uint64_t offset = p->data_at;
  for (int l = 0; l < p->n_layers; l++) {
    struct mafat_packed_entry *e = &p->entries[l];
    if (p->version > 1 && e->bytes == 0) e->offset = offset; /* not stored in the index */
    if (e->offset != offset ||
        (mafat_dtypes[p->types[l]].bits != 8 && e->bytes % sizeof(uint32_t) != 0))
      return mafat_fail(
          d, MAFAT_EFORMAT,
          "%s: the table of layers is damaged: layer %d [%s] is not where it should be", from->path,
          l, type_name(n, l));
    if (__builtin_add_overflow(offset, e->bytes, &offset) || !align(&offset) ||
        offset > from->bytes)
      return mafat_fail(d, MAFAT_EFORMAT, "%s: found %llu bytes: the file ends in layer %d [%s]",
                        from->path, (unsigned long long)from->bytes, l, type_name(n, l));
  }
  p->file_bytes = offset;
  if (offset == from->bytes) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT, "%s: expected %llu bytes, found %llu", from->path,
                    (unsigned long long)offset, (unsigned long long)from->bytes);
}

/* Reads the table of version 1: offsets, lengths and checksums of all layers. */
static int read_table(struct mafat_packed *p, const struct packed_header *h,
                      struct mafat_model_source *from, struct mafat_diagnostic *d)
{
  size_t bytes = (size_t)p->n_layers * sizeof *p->entries;
  int code = bytes ? read_bytes(from, MAFAT_PACKED_ALIGNMENT, p->entries, bytes, d) : MAFAT_OK;
  if (code) return code;
  if (h->as.v1.table_checksum == mafat_hash(MAFAT_HASH_START, p->entries, bytes)) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT, "%s: the table of layers is damaged: its checksum differs",
                    from->path);
}

static int read_index(struct mafat_packed *p, const struct packed_header *h,
                      struct mafat_model_source *from, bool graph, struct mafat_diagnostic *d)
{
  size_t bytes = (size_t)h->as.v2.index_bytes;
  /* The index is parsed into lists of at most 7 times its size. */
  bool taken = mafat_allowance_take(from->allowance, bytes, 8);
  char *index = taken ? malloc(bytes + 1) : NULL;
  if (!index) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", from->path);
  int code = bytes ? read_bytes(from, MAFAT_PACKED_ALIGNMENT, index, bytes, d) : MAFAT_OK;
  if (code == MAFAT_OK && h->as.v2.index_checksum != mafat_hash(MAFAT_HASH_START, index, bytes))
    code =
        mafat_fail(d, MAFAT_EFORMAT, "%s: the index is damaged: its checksum differs", from->path);
  if (code == MAFAT_OK) code = mafat_packed_index_read(p, index, bytes, from->path, graph, d);
  free(index);
  return code;
}

/* Computes where the weights begin, after the index and the embedded graph. */
static int find_data(struct mafat_packed *p, struct mafat_model_source *from,
                     struct mafat_diagnostic *d)
{
  if (!__builtin_add_overflow(p->begin_bytes, p->embedded_graph_bytes, &p->data_at) &&
      align(&p->data_at) && p->data_at <= from->bytes)
    return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT, "%s: found %llu bytes: the file ends in its graph",
                    from->path, (unsigned long long)from->bytes);
}

static int read_packed(struct mafat_packed *p, struct mafat_model_source *from,
                       const struct mafat_network *n, bool graph, struct mafat_diagnostic *d)
{
  struct packed_header h;
  int code = read_header(&h, from, n, d);
  if (code) return code;
  p->version = h.version;
  p->n_layers = (int)h.n_layers;
  p->network_hash = h.network_hash;
  p->source_hash = h.source_hash;
  p->source_bytes = h.source_bytes;
  p->begin_bytes = h.version == 1 ? h.n_layers * sizeof *p->entries : h.as.v2.index_bytes;
  align(&p->begin_bytes); /* cannot overflow: the number of layers and the index's bytes have
                             limits */
  p->begin_bytes += MAFAT_PACKED_ALIGNMENT;
  if (from->bytes < p->begin_bytes)
    return mafat_fail(d, MAFAT_EFORMAT,
                      "%s: expected at least %llu bytes for the table of layers, found %llu",
                      from->path, (unsigned long long)p->begin_bytes,
                      (unsigned long long)from->bytes);
  p->entries = calloc((size_t)p->n_layers + 1, sizeof *p->entries);
  p->types = calloc((size_t)p->n_layers + 1, sizeof *p->types);
  if (!p->entries || !p->types) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", from->path);
  code = h.version == 1 ? read_table(p, &h, from, d) : read_index(p, &h, from, graph, d);
  if (code == MAFAT_OK) code = find_data(p, from, d);
  return code ? code : check_entries(p, from, n, d);
}

int mafat_packed_open(struct mafat_packed **out, struct mafat_model_source *from,
                      const struct mafat_network *n, bool graph, struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_packed *p = calloc(1, sizeof *p);
  if (!p) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", from->path);
  int code = read_packed(p, from, n, graph, d);
  mafat_model_source_drop(from, p->begin_bytes ? p->begin_bytes : MAFAT_PACKED_ALIGNMENT);
  if (code == MAFAT_OK) *out = p;
  else mafat_packed_close(&p);
  return code;
}

int mafat_packed_give_types(const struct mafat_packed *p, struct mafat_network *n, const char *name,
                            struct mafat_diagnostic *d)
{
  for (int l = 0; l < n->n_layers && l < p->n_layers; l++) {
    if (p->entries[l].bytes == 0) continue;
    if (!mafat_layer_takes_weights(&n->layers[l], p->types[l]))
      return mafat_fail(d, MAFAT_EFORMAT,
                        "%s: the index is damaged: layer %d [%s] cannot have weights of type %s",
                        name, l, type_name(n, l), mafat_dtype_name(p->types[l]));
    n->layers[l].weights_type = p->types[l];
  }
  return MAFAT_OK;
}

int mafat_packed_check_layer(const struct mafat_packed *p, const char *name,
                             const struct mafat_network *n, int layer, uint64_t checksum,
                             struct mafat_diagnostic *d)
{
  uint64_t expected = p->entries[layer].checksum;
  if (checksum == expected) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT,
                    "%s: layer %d [%s] is damaged: expected checksum %016llx, found %016llx", name,
                    layer, type_name(n, layer), (unsigned long long)expected,
                    (unsigned long long)checksum);
}

/* ---- writing ---- */

MAFAT_PART(rare) int mafat_packed_make(struct mafat_packed **out, const struct mafat_network *n,
                      const struct mafat_packed_origin *origin, const uint64_t *layer_bytes)
{
  struct mafat_packed *p = calloc(1, sizeof *p);
  struct mafat_bytes index = {NULL, 0, 0, false};
  int code = MAFAT_OK;
  *out = NULL;
  if (p) p->entries = calloc((size_t)n->n_layers + 1, sizeof *p->entries);
  if (p) p->types = calloc((size_t)n->n_layers + 1, sizeof *p->types);
  if (!p || !p->entries || !p->types) goto no_memory;
  p->version = origin && origin->embedded_graph ? MAFAT_PACKED_GRAPH_VERSION : MAFAT_PACKED_VERSION;
  if (origin && origin->activations) p->version += MAFAT_PACKED_ACTIVATIONS;
  if (origin && origin->options && mafat_stored_any(origin->options))
    p->version += MAFAT_PACKED_OPTIONS;
  p->format = n->format;
  p->embedded_graph_bytes = origin && origin->embedded_graph ? origin->embedded_graph->bytes : 0;
  p->n_layers = n->n_layers;
  p->network_hash = mafat_packed_network_hash(n, p->version);
  for (int l = 0; l < n->n_layers; l++) {
    p->entries[l].bytes = layer_bytes[l];
    if (layer_bytes[l]) p->types[l] = n->layers[l].weights_type;
  }
  mafat_packed_index_write(p, n, origin, &index); /* the length does not depend on the offsets */
  if (index.failed) goto no_memory;
  if (index.n > MAX_INDEX_BYTES) code = MAFAT_ELIMIT;
  p->begin_bytes = index.n;
  align(&p->begin_bytes);
  p->begin_bytes += MAFAT_PACKED_ALIGNMENT;
  /* cannot overflow: both parts are in memory or in files */
  p->file_bytes = p->begin_bytes + p->embedded_graph_bytes;
  align(&p->file_bytes);
  p->data_at = p->file_bytes;
  for (int l = 0; l < n->n_layers && code == MAFAT_OK; l++) {
    p->entries[l].offset = p->file_bytes;
    if (__builtin_add_overflow(p->file_bytes, layer_bytes[l], &p->file_bytes) ||
        !align(&p->file_bytes))
      code = MAFAT_ELIMIT;
  }
  free(index.data);
  if (code == MAFAT_OK) *out = p;
  else mafat_packed_close(&p);
  return code;
no_memory:
  free(index.data);
  mafat_packed_close(&p);
  return MAFAT_ENOMEM;
}

MAFAT_PART(rare) int mafat_packed_seal(const struct mafat_packed *p, const struct mafat_network *n,
                      const struct mafat_packed_origin *origin, char **beginning)
{
  struct mafat_bytes index = {NULL, 0, 0, false};
  *beginning = calloc(1, (size_t)p->begin_bytes);
  mafat_packed_index_write(p, n, origin, &index);
  if (index.failed || !*beginning) {
    free(index.data);
    free(*beginning);
    *beginning = NULL;
    return MAFAT_ENOMEM;
  }
  struct packed_header h = {.byte_order = BYTE_ORDER_MARK,
                            .version = p->version,
                            .n_layers = (uint64_t)p->n_layers,
                            .network_hash = p->network_hash,
                            .source_hash = p->source_hash,
                            .source_bytes = p->source_bytes,
                            .as.v2 = {.channel_block = MAFAT_CHANNEL_BLOCK,
                                      .panel = MAFAT_PANEL,
                                      .panel_step = MAFAT_PANEL_STEP,
                                      .alignment = MAFAT_PACKED_ALIGNMENT,
                                      .index_bytes = index.n,
                                      .index_checksum =
                                          mafat_hash(MAFAT_HASH_START, index.data, index.n)}};
  memcpy(h.magic, magic, sizeof h.magic);
  *checksum_of(&h) = sum_header(&h);
  memcpy(*beginning, &h, sizeof h);
  memcpy(*beginning + MAFAT_PACKED_ALIGNMENT, index.data, index.n);
  free(index.data);
  return MAFAT_OK;
}
