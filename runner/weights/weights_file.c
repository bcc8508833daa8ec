/* Opens a weights file and determines where each layer's weights are in it. Called by
 * runner/weights/weights_open.c and packer.c. Opens the file and the model's other files, if it has
 * any, and reads their beginnings; allocates tables, which closing frees. */
#include "runner/weights/weights_file.h"

#include "formats/darknet/constants.h"
#include "predictor/plan/packing.h"

#include <stdlib.h>
#include <string.h>

/* ---- packed files ---- */

/* Checks each layer's bytes and type against the network, and sets its position. */
static int place_packed(struct mafat_weights_file *f, const struct mafat_network *n,
                        struct mafat_diagnostic *d)
{
  struct mafat_constants *c = f->own_constants = mafat_constants_make(n->n_layers);
  f->constants = c;
  if (!c) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", f->name);
  for (int l = 0; l < n->n_layers; l++) {
    const struct mafat_packed_entry *e = &f->packed->entries[l];
    enum mafat_dtype type = n->layers[l].weights_type;
    size_t bytes = mafat_packed_layer_bytes(&n->layers[l]);
    if (e->bytes && f->packed->types[l] != type)
      return mafat_fail(d, MAFAT_EFORMAT, "%s: layer %d [%s] has weights of type %s, expected %s",
                        f->name, l, mafat_layer_type_name(n->layers[l].type),
                        mafat_dtype_name(f->packed->types[l]), mafat_dtype_name(type));
    if (bytes == SIZE_MAX || e->bytes != bytes)
      return mafat_fail(
          d, MAFAT_EFORMAT,
          "%s: the table of layers is damaged: expected %llu bytes of layer %d [%s], found %llu",
          f->name, (unsigned long long)bytes, l, mafat_layer_type_name(n->layers[l].type),
          (unsigned long long)e->bytes);
    c->layers[l].weights = (struct mafat_constant){.at = e->offset,
                                                   .n = bytes / mafat_dtype_bytes(type, 1),
                                                   .type = type,
                                                   .order = MAFAT_ORDER_READY};
  }
  return MAFAT_OK;
}

/* ---- Darknet files ---- */

static int place_darknet(struct mafat_weights_file *f, const char *beginning,
                         const struct mafat_network *n, const struct mafat_warning_sink *warnings,
                         struct mafat_diagnostic *d)
{
  struct mafat_darknet_header header;
  uint64_t file_bytes = mafat_read_queue_file_bytes(f->reads);
  int code = mafat_darknet_header_read(&header, beginning, file_bytes, f->name, d);
  if (code) return code;
  if (mafat_darknet_header_fit(&header, n, file_bytes))
    mafat_warn(warnings,
               "%s: read with a header of %llu bytes, which the file's length fits, not with the "
               "one of its version",
               f->name, (unsigned long long)header.bytes);
  if (!mafat_darknet_header_is_usual(&header) &&
      mafat_darknet_constants(&f->own_constants, n, &header) != MAFAT_OK)
    return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", f->name);
  f->constants = f->own_constants ? f->own_constants : n->constants;
  return mafat_darknet_check_length(f->constants, n, file_bytes, f->name, warnings, d);
}

/* ---- a model's own file ---- */

/* If the weights file is the file that the network was read from, checks that it has not changed
 * since. */
static int check_state(const struct mafat_weights_file *f, const struct mafat_model_source *source,
                       const struct mafat_network *n, struct mafat_diagnostic *d)
{
  if (!n->states || strcmp(f->name, n->path) != 0) return MAFAT_OK;
  return mafat_model_source_same(&source->state, &n->states[0], f->name, d);
}

/* Checks that the weights file is the model's file, perhaps under another name, because the
 * network's offsets are valid only in that file. */
static int check_same(const struct mafat_weights_file *f, const struct mafat_network *n,
                      struct mafat_diagnostic *d)
{
  if (!n->states || mafat_reads_compare(f->reads, 0, &n->states[0], NULL) == MAFAT_OK)
    return MAFAT_OK;
  return mafat_fail(
      d, MAFAT_EFORMAT,
      "%s: expected %s itself, which contains its weights, or a file that build/pack_weights made "
      "from it",
      f->name, n->path);
}

/* Checks that a constant has the expected number of elements and ends within its file. */
static int check_constant(const struct mafat_weights_file *f, const struct mafat_network *n,
                          int layer, const struct mafat_constant *c, uint64_t expected,
                          struct mafat_diagnostic *d)
{
  const char *kind = mafat_layer_type_name(n->layers[layer].type);
  if (c->n != expected)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: layer %d [%s] expects %llu numbers, found %llu",
                      f->name, layer, kind, (unsigned long long)expected, (unsigned long long)c->n);
  if (c->n == 0 || c->file == MAFAT_CONSTANT_FILL) return MAFAT_OK;
  bool read = mafat_constant_is_read(c);
  uint64_t file_bytes =
      read ? mafat_read_queue_file_bytes_of(f->reads, c->file) : n->n_values * sizeof *n->values;
  uint64_t end = mafat_constant_end(c);
  if (end >= c->at && end <= file_bytes) return MAFAT_OK;
  return mafat_fail(
      d, MAFAT_EFORMAT,
      "%s: layer %d [%s] expects %llu numbers from byte %llu on, found a file of %llu bytes",
      read && c->file ? n->files[c->file - 1] : f->name, layer, kind, (unsigned long long)c->n,
      (unsigned long long)c->at, (unsigned long long)file_bytes);
}

/* Adds the network's other files to the queue, and checks the positions that the network gives. */
static int place_own(struct mafat_weights_file *f, const struct mafat_network *n,
                     struct mafat_diagnostic *d)
{
  int code = check_same(f, n, d);
  f->constants = n->constants;
  for (int i = 0; i < n->n_files && code == MAFAT_OK; i++) {
    code = mafat_read_queue_add(f->reads, n->files[i], d);
    if (code == MAFAT_OK && n->states)
      code = mafat_reads_compare(f->reads, (unsigned)i + 1, &n->states[i + 1], d);
  }
  for (int l = 0; l < n->n_layers && code == MAFAT_OK; l++) {
    const struct mafat_layer_constants *c = &n->constants->layers[l];
    struct mafat_weight_counts counts = mafat_layer_weight_counts(&n->layers[l]);
    uint64_t values =
        mafat_layer_copies_weights(&n->layers[l]) ? counts.biases : (uint64_t)n->layers[l].out.c;
    code = check_constant(f, n, l, &c->weights, counts.weights, d);
    for (int p = 0; p < MAFAT_N_PARTS && code == MAFAT_OK; p++) {
      const struct mafat_constant *part = mafat_constants_part(c, (enum mafat_constant_part)p);
      code = check_constant(f, n, l, part, part->n > 1 ? values : part->n, d);
    }
  }
  return code;
}

/* ---- opening ---- */

/* Finds the positions of the weights, according to the kind of file. */
static int place(struct mafat_weights_file *f, const struct mafat_model_source *source,
                 const struct mafat_network *n, const struct mafat_warning_sink *warnings,
                 struct mafat_diagnostic *d)
{
  if (f->packed) return place_packed(f, n, d);
  return n->format.own_weights ? place_own(f, n, d)
                               : place_darknet(f, source->beginning, n, warnings, d);
}

int mafat_weights_file_open(struct mafat_weights_file **out, struct mafat_model_source *source,
                            enum mafat_read_queue_method method, const struct mafat_network *n,
                            const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_weights_file *f = calloc(1, sizeof *f);
  if (f) f->name = strdup(source->path);
  int code = f && f->name ? check_state(f, source, n, d)
                          : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", source->path);
  if (code == MAFAT_OK)
    code = mafat_model_source_check_regular(source, ": weights are not read in order", d);
  if (code == MAFAT_OK && mafat_reader_weights_kind(source).packed)
    code = mafat_packed_open(&f->packed, source, n, false, d);
  if (code == MAFAT_OK) code = mafat_read_queue_open_source(&f->reads, source, method, d);
  if (code == MAFAT_OK) code = place(f, source, n, warnings, d);
  if (code == MAFAT_OK) *out = f;
  else mafat_weights_file_close(&f);
  return code;
}

void mafat_weights_file_close(struct mafat_weights_file **file)
{
  if (!file || !*file) return;
  mafat_read_queue_close(&(*file)->reads);
  mafat_packed_close(&(*file)->packed);
  mafat_constants_close(&(*file)->own_constants);
  free((*file)->name);
  free(*file);
  *file = NULL;
}
