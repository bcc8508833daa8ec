#include "runner/weights/weights_file.h"

#include "formats/darknet/constants.h"
#include "formats/packed/graph.h"
#include "predictor/plan/packing.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A stretch of the file, for which the reads must be free. */
static int read_stretch(void *context, uint64_t at, void *to, size_t bytes, struct mafat_diagnostic *d)
{
  struct mafat_reads *reads = context;
  size_t skip = (size_t)(at % MAFAT_FETCH_ALIGNMENT);
  size_t whole = (skip + bytes + MAFAT_FETCH_ALIGNMENT - 1) / MAFAT_FETCH_ALIGNMENT * MAFAT_FETCH_ALIGNMENT;
  char *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return mafat_fail(d, MAFAT_ENOMEM, "out of memory");
  int code = mafat_reads_submit(reads, 0, memory, whole, at - skip, d);
  if (code == MAFAT_OK) code = mafat_reads_wait(reads, 0, d);
  if (code == MAFAT_OK) memcpy(to, memory + skip, bytes);
  munmap(memory, whole);
  return code;
}

/* ---- packed ---- */

static int open_packed(struct mafat_packed **out, struct mafat_reads *reads, const char *name,
                       const struct mafat_network *n, bool graph, struct mafat_diagnostic *d)
{
  const struct mafat_packed_source from = {name, mafat_reads_file_bytes(reads), read_stretch, reads};
  return mafat_packed_open(out, &from, n, graph, d);
}

int mafat_weights_file_describe(struct mafat_packed **out, struct mafat_reads *reads, const char *name,
                                struct mafat_diagnostic *d)
{
  return open_packed(out, reads, name, NULL, false, d);
}

/* Which layers compute with whole numbers, the file says. */
static int apply_activations(struct mafat_network *n, const struct mafat_packed *packed, const char *path, struct mafat_diagnostic *d)
{
  if (!packed->activations) return MAFAT_OK;
  struct mafat_activations_places *places = calloc((size_t)mafat_network_n_tensors(n), sizeof *places);
  int code = places ? mafat_activations_apply(n, packed->activations, true, places, path, d)
                    : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
  free(places);
  return code;
}

static int keep_state(struct mafat_network *n, const struct mafat_file_state *opened, struct mafat_diagnostic *d)
{
  n->states = malloc(sizeof *n->states);
  if (!n->states) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", n->path);
  n->states[0] = *opened;
  return MAFAT_OK;
}

/* What is left to do once a network has been made, or not. */
static int give_types(struct mafat_network **n, struct mafat_packed **packed, const char *path, int code,
                      struct mafat_diagnostic *d)
{
  if (code == MAFAT_OK) code = apply_activations(*n, *packed, path, d);
  if (code == MAFAT_OK) code = mafat_packed_give_types(*packed, *n, path, d);
  if (code) mafat_network_close(n);
  mafat_packed_close(packed);
  return code;
}

int mafat_weights_file_network(struct mafat_network **out, const char *path, const struct mafat_darknet_wish *wish,
                               const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  struct mafat_reads *reads;
  struct mafat_packed *packed = NULL;
  *out = NULL;
  int code = mafat_reads_open(&reads, path, MAFAT_READS_AUTO, d);
  if (code) return code;
  code = open_packed(&packed, reads, path, NULL, true, d);
  const struct mafat_file_state opened = mafat_reads_state(reads, 0);
  mafat_reads_close(&reads);
  if (code == MAFAT_OK && packed->excerpt) {
    code = mafat_packed_graph_network(out, packed, path, d);
    if (code == MAFAT_OK) (*out)->states[0] = opened; /* the excerpt has a checksum in what was read first */
    return give_types(out, &packed, path, code, d);
  }
  if (code == MAFAT_OK && !packed->graph)
    code = mafat_fail(d, MAFAT_EFORMAT, "%s: holds weights without their network: it is run with the cfg that it was made "
                      "from, or packed again", path);
  struct mafat_darknet_wish own = wish ? *wish : (struct mafat_darknet_wish){.fork = MAFAT_FORK_AUTO};
  if (code == MAFAT_OK && own.fork == MAFAT_FORK_AUTO) own.fork = packed->fork;
  if (code == MAFAT_OK) code = mafat_darknet_make(out, packed->graph, &own, warnings, d);
  if (code == MAFAT_OK) code = keep_state(*out, &opened, d);
  return give_types(out, &packed, path, code, d);
}

int mafat_weights_file_types(struct mafat_network *n, const char *path, struct mafat_diagnostic *d)
{
  struct mafat_reads *reads;
  struct mafat_packed *packed = NULL;
  int code = mafat_reads_open(&reads, path, MAFAT_READS_AUTO, d);
  if (code) return code;
  if (mafat_reads_file_bytes(reads) > MAFAT_PACKED_HEADER) {
    code = open_packed(&packed, reads, path, n, false, d);
    if (code == MAFAT_OK) code = mafat_packed_give_types(packed, n, path, d);
  }
  mafat_reads_close(&reads);
  mafat_packed_close(&packed);
  return code;
}

/* Each layer's weights are as many as packing makes of them. */
static int place_packed(struct mafat_weights_file *f, const struct mafat_network *n, struct mafat_diagnostic *d)
{
  struct mafat_constants *c = f->own_constants = mafat_constants_make(n->n_layers);
  f->constants = c;
  if (!c) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", f->name);
  for (int l = 0; l < n->n_layers; l++) {
    const struct mafat_packed_entry *e = &f->packed->entries[l];
    enum mafat_dtype type = n->layers[l].weights_type;
    size_t bytes = mafat_packed_layer_bytes(&n->layers[l]);
    if (e->bytes && f->packed->types[l] != type)
      return mafat_fail(d, MAFAT_EFORMAT, "%s: layer %d [%s] has weights of type %s, expected %s", f->name, l,
                        mafat_layer_type_name(n->layers[l].type), mafat_dtype_name(f->packed->types[l]), mafat_dtype_name(type));
    if (bytes == SIZE_MAX || e->bytes != bytes)
      return mafat_fail(d, MAFAT_EFORMAT, "%s: the table of layers is damaged: expected %llu bytes of layer %d [%s], found %llu",
                        f->name, (unsigned long long)bytes, l,
                        mafat_layer_type_name(n->layers[l].type), (unsigned long long)e->bytes);
    c->layers[l].weights = (struct mafat_constant){
        .at = e->offset, .n = bytes / mafat_dtype_bytes(type, 1), .type = type, .order = MAFAT_ORDER_READY};
  }
  return MAFAT_OK;
}

/* ---- Darknet's ---- */

static int place_darknet(struct mafat_weights_file *f, const char *beginning, const struct mafat_network *n,
                         const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  struct mafat_darknet_header header;
  uint64_t file_bytes = mafat_reads_file_bytes(f->reads);
  int code = mafat_darknet_header_read(&header, beginning, file_bytes, f->name, d);
  if (code) return code;
  if (!mafat_darknet_header_is_usual(&header) && mafat_darknet_constants(&f->own_constants, n, &header) != MAFAT_OK)
    return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", f->name);
  f->constants = f->own_constants ? f->own_constants : n->constants;
  return mafat_darknet_check_length(f->constants, n, file_bytes, f->name, warnings, d);
}

/* ---- a model's own ---- */

/* Is this the file that the network was read from? Places of a graph mean something else in another one. */
static int check_state(const struct mafat_weights_file *f, const struct mafat_network *n, struct mafat_diagnostic *d)
{
  if (!n->states || strcmp(f->name, n->path) != 0) return MAFAT_OK;
  return mafat_reads_compare(f->reads, 0, &n->states[0], d);
}

/* By another name it has to be that file, too. */
static int check_same(const struct mafat_weights_file *f, const struct mafat_network *n, struct mafat_diagnostic *d)
{
  if (!n->states || mafat_reads_compare(f->reads, 0, &n->states[0], NULL) == MAFAT_OK) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT, "%s: expected %s itself, which holds its weights, or what build/pack_weights made of it", f->name, n->path);
}

/* Has it as many numbers, and does it end where its file does, or before? */
static int check_constant(const struct mafat_weights_file *f, const struct mafat_network *n, int layer,
                          const struct mafat_constant *c, uint64_t expected, struct mafat_diagnostic *d)
{
  const char *kind = mafat_layer_type_name(n->layers[layer].type);
  if (c->n != expected)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: layer %d [%s] expects %llu numbers, found %llu", f->name, layer, kind,
                      (unsigned long long)expected, (unsigned long long)c->n);
  if (c->n == 0 || c->file == MAFAT_CONSTANT_FILL) return MAFAT_OK;
  bool read = mafat_constant_is_read(c);
  uint64_t file_bytes = read ? mafat_reads_file_bytes_of(f->reads, c->file) : n->n_values * sizeof *n->values;
  uint64_t end = mafat_constant_end(c);
  if (end >= c->at && end <= file_bytes) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT, "%s: layer %d [%s] expects %llu numbers from byte %llu on, found a file of %llu bytes",
                    read && c->file ? n->files[c->file - 1] : f->name, layer, kind, (unsigned long long)c->n,
                    (unsigned long long)c->at, (unsigned long long)file_bytes);
}

/* The network says where, and in which files. */
static int place_own(struct mafat_weights_file *f, const struct mafat_network *n, struct mafat_diagnostic *d)
{
  int code = check_same(f, n, d);
  f->constants = n->constants;
  for (int i = 0; i < n->n_files && code == MAFAT_OK; i++) {
    code = mafat_reads_add(f->reads, n->files[i], d);
    if (code == MAFAT_OK && n->states) code = mafat_reads_compare(f->reads, (unsigned)i + 1, &n->states[i + 1], d);
  }
  for (int l = 0; l < n->n_layers && code == MAFAT_OK; l++) {
    const struct mafat_layer_constants *c = &n->constants->layers[l];
    struct mafat_weight_counts counts = mafat_layer_weight_counts(&n->layers[l]);
    uint64_t values = mafat_layer_copies_weights(&n->layers[l]) ? counts.biases : (uint64_t)n->layers[l].out.c;
    code = check_constant(f, n, l, &c->weights, counts.weights, d);
    for (int p = 0; p < MAFAT_N_PARTS && code == MAFAT_OK; p++) {
      const struct mafat_constant *part = mafat_constants_part(c, (enum mafat_constant_part)p);
      code = check_constant(f, n, l, part, part->n > 1 ? values : part->n, d);
    }
  }
  return code;
}

/* ---- opening ---- */

static int check(struct mafat_weights_file *f, const struct mafat_network *n,
                 const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  char beginning[MAFAT_DARKNET_LEAST_HEADER] = {0};
  uint64_t file_bytes = mafat_reads_file_bytes(f->reads);
  size_t there = file_bytes < sizeof beginning ? (size_t)file_bytes : sizeof beginning;
  int code = check_state(f, n, d);
  if (code == MAFAT_OK && there) code = read_stretch(f->reads, 0, beginning, there, d);
  if (code) return code;
  bool packed = mafat_packed_begins(beginning);
  if (!packed && n->format != MAFAT_FORMAT_DARKNET) return place_own(f, n, d);
  if (!packed) return place_darknet(f, beginning, n, warnings, d);
  code = open_packed(&f->packed, f->reads, f->name, n, false, d);
  return code ? code : place_packed(f, n, d);
}

int mafat_weights_file_open(struct mafat_weights_file **out, const char *path, enum mafat_reads_method method,
                            const struct mafat_network *n, const struct mafat_warning_sink *warnings,
                            struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_weights_file *f = calloc(1, sizeof *f);
  if (f) f->name = strdup(path);
  int code = f && f->name ? mafat_reads_open(&f->reads, path, method, d)
                          : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
  if (code == MAFAT_OK) code = check(f, n, warnings, d);
  if (code == MAFAT_OK) *out = f;
  else mafat_weights_file_close(&f);
  return code;
}

void mafat_weights_file_close(struct mafat_weights_file **file)
{
  if (!file || !*file) return;
  mafat_reads_close(&(*file)->reads);
  mafat_packed_close(&(*file)->packed);
  mafat_constants_close(&(*file)->own_constants);
  free((*file)->name);
  free(*file);
  *file = NULL;
}
