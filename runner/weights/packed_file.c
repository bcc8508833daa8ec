#include "runner/weights/packed_file.h"

#include "predictor/packing.h"

#include <stddef.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "packed files are little-endian");
_Static_assert(sizeof(struct mafat_packed_header) == 64 && sizeof(struct mafat_packed_entry) == 24,
               "these are written as they lie in memory");

const char mafat_packed_magic[MAFAT_PACKED_MAGIC_BYTES] = {'M', 'A', 'F', 'A', 'T', 'P', 'K', '1'};

enum { BYTE_ORDER_MARK = 0x01020304 };

/* ---- hashes and checksums ---- */

uint64_t mafat_hash(uint64_t hash, const void *data, size_t bytes)
{
  const char *at = data;
  for (; bytes > 0;) {
    uint64_t word = 0;
    size_t n = bytes < sizeof word ? bytes : sizeof word;
    memcpy(&word, at, n);
    hash = (hash ^ word) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32; /* FNV by bytes lets upper bits reach lower ones by itself */
    at += n;
    bytes -= n;
  }
  return hash;
}

uint64_t mafat_packed_checksum(const void *words, uint64_t first, size_t bytes)
{
  const char *at = words;
  uint64_t sum = 0;
  uint32_t coefficient = (uint32_t)first * 0x9e3779b1u;
  for (size_t i = 0; i < bytes / 4; i++, coefficient += 0x9e3779b1u) {
    uint32_t word;
    memcpy(&word, at + 4 * i, sizeof word);
    sum += (uint64_t)word * (coefficient | 1);
  }
  return sum;
}

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
  return mafat_hash(hash, &number, sizeof number);
}

static uint64_t hash_shape(uint64_t hash, struct mafat_shape s)
{
  return hash_number(hash_number(hash_number(hash, (uint64_t)s.h), (uint64_t)s.w), (uint64_t)s.c);
}

uint64_t mafat_packed_network_hash(const struct mafat_network *n)
{
  uint64_t hash = hash_number(MAFAT_HASH_START, (uint64_t)n->n_layers);
  for (int i = 0; i < n->n_layers; i++) {
    const struct mafat_layer *l = &n->layers[i];
    hash = hash_number(hash, (uint64_t)l->type);
    if (mafat_packed_floats(l) == 0) continue;
    bool convolutional = l->type == MAFAT_CONVOLUTIONAL;
    hash = hash_number(hash, (uint64_t)l->in.c);
    hash = hash_number(hash, (uint64_t)l->out.c);
    hash = hash_number(hash, l->batch_normalize);
    if (!convolutional) hash = hash_shape(hash, l->in); /* the size of the map does not matter to others */
    if (l->type == MAFAT_CONNECTED || l->type == MAFAT_BATCHNORM) continue;
    hash = hash_number(hash, (uint64_t)l->window.y.size);
    if (l->window.x.size != l->window.y.size) hash = hash_number(hash, (uint64_t)l->window.x.size);
    hash = hash_number(hash, (uint64_t)l->groups);
    if (!convolutional) hash = hash_shape(hash, l->out);
    const struct mafat_sources *sources = mafat_layer_sources(l);
    for (int s = 0; convolutional && s < sources->n; s++) { /* what pieces are made of */
      hash = hash_number(hash, (uint64_t)(sources->list[s].first % MAFAT_CHANNEL_BLOCK));
      hash = hash_number(hash, (uint64_t)sources->list[s].n);
    }
  }
  return hash;
}

/* ---- where things are ---- */

/* False on overflow. */
static bool align(uint64_t *bytes)
{
  if (__builtin_add_overflow(*bytes, (uint64_t)MAFAT_PACKED_ALIGNMENT - 1, bytes)) return false;
  *bytes -= *bytes % MAFAT_PACKED_ALIGNMENT;
  return true;
}

uint64_t mafat_packed_images_at(int n_layers)
{
  uint64_t bytes = (uint64_t)n_layers * sizeof(struct mafat_packed_entry);
  align(&bytes);
  return MAFAT_PACKED_ALIGNMENT + bytes;
}

uint64_t mafat_packed_file_bytes(const struct mafat_network *n)
{
  uint64_t end = mafat_packed_images_at(n->n_layers);
  for (int l = 0; l < n->n_layers; l++) {
    uint64_t floats = mafat_packed_floats(&n->layers[l]);
    if (floats > SIZE_MAX / sizeof(float) || __builtin_add_overflow(end, floats * sizeof(float), &end) || !align(&end))
      return 0;
  }
  return end;
}

void mafat_packed_lay_out(const struct mafat_network *n, struct mafat_packed_entry *entries)
{
  uint64_t offset = mafat_packed_images_at(n->n_layers);
  for (int l = 0; l < n->n_layers; l++) {
    entries[l].offset = offset;
    entries[l].bytes = (uint64_t)mafat_packed_floats(&n->layers[l]) * sizeof(float);
    offset += entries[l].bytes;
    align(&offset);
  }
}

/* ---- header and table ---- */

static uint64_t checksum_of_header(const struct mafat_packed_header *h)
{
  return mafat_hash(MAFAT_HASH_START, h, offsetof(struct mafat_packed_header, header_checksum));
}

static uint64_t checksum_of_table(const struct mafat_packed_entry *entries, uint64_t n)
{
  return mafat_hash(MAFAT_HASH_START, entries, (size_t)n * sizeof *entries);
}

void mafat_packed_seal(const struct mafat_network *n, const struct mafat_packed_entry *entries,
                       struct mafat_packed_header *h)
{
  memcpy(h->magic, mafat_packed_magic, sizeof h->magic);
  h->byte_order = BYTE_ORDER_MARK;
  h->version = MAFAT_PACKED_VERSION;
  h->n_layers = (uint64_t)n->n_layers;
  h->network_hash = mafat_packed_network_hash(n);
  h->table_checksum = checksum_of_table(entries, h->n_layers);
  h->header_checksum = checksum_of_header(h);
}

int mafat_packed_check_header(const struct mafat_packed_header *h, const char *name, uint64_t file_bytes,
                              const struct mafat_network *n, struct mafat_diagnostic *d)
{
  if (memcmp(h->magic, mafat_packed_magic, sizeof h->magic) != 0)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected a packed weights file, which begins with \"MAFATPK1\"", name);
  if (h->byte_order != BYTE_ORDER_MARK)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: the header is damaged, or of another byte order", name);
  if (h->version != MAFAT_PACKED_VERSION)
    return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: expected version %d of the format, found %u: pack the .weights again",
                      name, MAFAT_PACKED_VERSION, h->version);
  if (h->header_checksum != checksum_of_header(h))
    return mafat_fail(d, MAFAT_EFORMAT, "%s: the header is damaged: its checksum differs", name);
  uint64_t end_of_table = mafat_packed_images_at(MAFAT_MAX_LAYERS);
  if (h->n_layers <= MAFAT_MAX_LAYERS) end_of_table = mafat_packed_images_at((int)h->n_layers);
  if (!n && (h->n_layers > MAFAT_MAX_LAYERS || file_bytes < end_of_table))
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected at least %llu bytes for the table of layers, found %llu", name,
                      (unsigned long long)end_of_table, (unsigned long long)file_bytes);
  if (!n) return MAFAT_OK;
  if (h->n_layers != (uint64_t)n->n_layers || h->network_hash != mafat_packed_network_hash(n))
    return mafat_fail(d, MAFAT_EFORMAT,
                      "%s: packed for another network than %s (%llu layers, here %d; or shapes differ): "
                      "pack the .weights again", name, n->path, (unsigned long long)h->n_layers, n->n_layers);
  uint64_t expected = mafat_packed_file_bytes(n);
  if (expected == 0) return mafat_fail(d, MAFAT_ELIMIT, "%s: %s has more weights than can be addressed", name, n->path);
  if (expected != file_bytes)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected %llu bytes for %s, found %llu", name,
                      (unsigned long long)expected, n->path, (unsigned long long)file_bytes);
  return MAFAT_OK;
}

static const char *type_name(const struct mafat_network *n, int layer)
{
  return n ? mafat_layer_type_name(n->layers[layer].type) : "?";
}

int mafat_packed_check_table(const struct mafat_packed_header *h, const struct mafat_packed_entry *entries,
                             const char *name, uint64_t file_bytes, const struct mafat_network *n,
                             struct mafat_diagnostic *d)
{
  if (h->table_checksum != checksum_of_table(entries, h->n_layers))
    return mafat_fail(d, MAFAT_EFORMAT, "%s: the table of layers is damaged: its checksum differs", name);
  uint64_t offset = mafat_packed_images_at((int)h->n_layers);
  for (int l = 0; l < (int)h->n_layers; l++) {
    uint64_t bytes = n ? (uint64_t)mafat_packed_floats(&n->layers[l]) * sizeof(float) : entries[l].bytes;
    if (entries[l].offset != offset || entries[l].bytes != bytes || bytes % sizeof(float) != 0)
      return mafat_fail(d, MAFAT_EFORMAT, "%s: the table of layers is damaged: layer %d [%s] is not where it should be",
                        name, l, type_name(n, l));
    if (__builtin_add_overflow(offset, bytes, &offset) || !align(&offset) || offset > file_bytes)
      return mafat_fail(d, MAFAT_EFORMAT, "%s: found %llu bytes: the file ends in layer %d [%s]", name,
                        (unsigned long long)file_bytes, l, type_name(n, l));
  }
  return MAFAT_OK;
}

int mafat_packed_check_layer(const struct mafat_packed_entry *entry, uint64_t checksum, const char *name,
                             const struct mafat_network *n, int layer, struct mafat_diagnostic *d)
{
  if (checksum == entry->checksum) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT, "%s: layer %d [%s] is damaged: expected checksum %016llx, found %016llx", name,
                    layer, type_name(n, layer), (unsigned long long)entry->checksum,
                    (unsigned long long)checksum);
}
