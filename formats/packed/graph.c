/* Reads and writes the embedded graph of packed ONNX and TFLite models. Called by formats/packed
 * (index.c, network.c, identity.c) and api/packing/pack.c. Reads model files; allocates networks
 * and embedded graphs, which the caller closes. */
#include "formats/packed/graph.h"

#include "base/part.h"
#include "formats/packed/hash.h"
#include "network/constant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* suffix of the format's name in the index, if inputs were given as constants */
static const char with_constants[] = " with constants";

/* ---- networks ---- */

int mafat_packed_graph_read(struct mafat_network **out,
                            struct mafat_embedded_graph **embedded_graph,
                            struct mafat_model_source *source, const struct mafat_given *given,
                            struct mafat_diagnostic *d)
{
  struct mafat_model_file *file = NULL;
  struct mafat_embedded_graph *e = *embedded_graph = mafat_embedded_graph_make();
  *out = NULL;
  int code = e ? mafat_model_file_open_source(&file, source, d)
               : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", source->path);
  if (code == MAFAT_OK) code = mafat_model_file_note(file, e, d);
  if (code == MAFAT_OK) code = mafat_reader_of(source)->graph(out, file, given, d);
  mafat_model_file_close(&file);
  if (code == MAFAT_OK && e->failed)
    code = mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", source->path);
  if (code == MAFAT_OK) {
    mafat_embedded_graph_settle(e);
    return MAFAT_OK;
  }
  mafat_network_close(out);
  mafat_embedded_graph_close(embedded_graph);
  return code;
}

/* Checks the hash of the embedded graph. */
static int check_embedded_graph(struct mafat_model_file *file, const struct mafat_packed *p,
                                struct mafat_diagnostic *d)
{
  uint64_t hash = MAFAT_HASH_START;
  for (uint64_t at = 0; at < p->embedded_graph_bytes; at += MAFAT_MODEL_WINDOW) {
    uint64_t left = p->embedded_graph_bytes - at;
    size_t n = left < MAFAT_MODEL_WINDOW ? (size_t)left : MAFAT_MODEL_WINDOW;
    const char *bytes;
    int code = mafat_model_file_peek(file, p->begin_bytes + at, n, &bytes, d);
    if (code) return code;
    hash = mafat_hash(hash, bytes, n);
  }
  if (hash == p->embedded_graph_hash) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT, "%s: the graph is damaged: its checksum differs", file->path);
}

/* Returns a list of "INPUT=FILE", one for each file that was given as a constant; the caller frees
 * it. The list, or an entry, is NULL: out of memory. */
static char **list_given(const struct mafat_embedded_graph *e, int *n)
{
  char **list = calloc((size_t)e->n_files, sizeof *list);
  for (int i = *n = 0; list && i < e->n_files; i++) {
    const struct mafat_embedded_graph_file *f = &e->files[i];
    if (!f->given) continue;
    size_t capacity = strlen(f->given) + 1 + strlen(f->name) + 1;
    char *text = malloc(capacity);
    if (text) snprintf(text, capacity, "%s=%s", f->given, f->name);
    list[(*n)++] = text;
  }
  return list;
}

static int import_embedded_graph(struct mafat_network **out, const struct mafat_packed *p,
                                 struct mafat_model_file *file, struct mafat_diagnostic *d)
{
  int n;
  char **list = list_given(p->embedded_graph, &n);
  bool whole = list != NULL;
  for (int i = 0; i < n && list; i++) whole = whole && list[i];
  const struct mafat_given given = {(const char *const *)list, n};
  int code = whole ? mafat_reader_of_graphs(p->format.name)->graph(out, file, &given, d)
                   : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", file->path);
  for (int i = 0; i < n && list; i++) free(list[i]);
  free(list);
  return code;
}

int mafat_packed_graph_network(struct mafat_network **out, const struct mafat_packed *p,
                               struct mafat_model_source *source, struct mafat_diagnostic *d)
{
  struct mafat_model_file *file;
  *out = NULL;
  int code = mafat_model_file_open_source(&file, source, d);
  if (code == MAFAT_OK) code = check_embedded_graph(file, p, d);
  if (code == MAFAT_OK) {
    mafat_model_file_embedded_graph(file, p->embedded_graph, p->begin_bytes);
    code = import_embedded_graph(out, p, file, d);
  }
  mafat_model_file_close(&file);
  return code;
}

/* ---- the index ---- */

/* Reads the ranges of one file of the model from the index. e NULL: only checks and counts them.
 * Returns NULL or the error. */
static const char *read_ranges(struct mafat_packed *p, struct mafat_bytes_reader *from,
                               struct mafat_embedded_graph_file *f, struct mafat_embedded_graph *e)
{
  enum { RANGE_BYTES = 16 };
  uint32_t n = mafat_bytes_u32(from);
  uint64_t end = 0;
  if (from->failed || n > from->left / RANGE_BYTES)
    return "a file of the model declares more ranges than the index has";
  for (uint32_t i = 0; i < n; i++) {
    uint64_t at = mafat_bytes_u64(from), bytes = mafat_bytes_u64(from);
    if (bytes == 0 || at < end || at > f->bytes || bytes > f->bytes - at)
      return "a range of the model is not in its file";
    if (__builtin_add_overflow(p->embedded_graph_bytes, bytes, &p->embedded_graph_bytes))
      return "the ranges of the model are too long";
    end = at + bytes;
    if (e) mafat_embedded_graph_add(e, (int)(f - e->files), at, bytes);
  }
  return NULL;
}

/* Reads the index's entry of one file of the model: its name, the input that it replaces (if
 * `given`), its length and its ranges. File 0 is the model itself. Returns NULL or the error. */
static const char *read_file(struct mafat_packed *p, struct mafat_bytes_reader *from, int number,
                             bool given, struct mafat_embedded_graph *e)
{
  const char *name = mafat_bytes_word(from), *input = given ? mafat_bytes_word(from) : "";
  struct mafat_embedded_graph_file unwanted = {.bytes = mafat_bytes_u64(from)};
  if (from->failed || (*name == '\0') != (number == 0)) return "a file of the model has no name";
  if (number == 0 && *input) return "the model's own file is given as a constant input";
  if (!e) return read_ranges(p, from, &unwanted, NULL);
  if (mafat_embedded_graph_add_file(e, name, unwanted.bytes) != number)
    return "two files of the model have the same name";
  if (*input) mafat_embedded_graph_give(e, number, input);
  return read_ranges(p, from, &e->files[number], e);
}

/* Finds the reader by a format's name in the index; NULL: unknown. Sets *given to true if the name
 * has the suffix with_constants. */
static const struct mafat_reader *find_reader(bool *given, const char *word)
{
  char name[40];
  size_t n = strlen(word), end = sizeof with_constants - 1;
  *given = n > end && strcmp(word + n - end, with_constants) == 0;
  snprintf(name, sizeof name, "%.*s", (int)(*given ? n - end : n), word);
  return mafat_reader_of_graphs(name);
}

const char *mafat_packed_graph_index_read(struct mafat_packed *p, struct mafat_bytes_reader *from,
                                          bool wanted)
{
  bool given;
  const struct mafat_reader *reader = find_reader(&given, mafat_bytes_word(from));
  if (!reader) return "its graph is of an unknown format";
  p->format = reader->format;
  p->embedded_graph_hash = mafat_bytes_u64(from);
  p->embedded_graph_bytes = 0;
  uint32_t n = mafat_bytes_u32(from);
  if (from->failed || n < 1 || n > MAFAT_EMBEDDED_GRAPH_MAX_FILES)
    return "it lists no files of the model, or too many";
  if (wanted && !(p->embedded_graph = mafat_embedded_graph_make())) return "out of memory";
  const char *wrong = NULL;
  for (uint32_t i = 0; i < n && !wrong; i++)
    wrong = read_file(p, from, (int)i, given, p->embedded_graph);
  if (!wrong && p->embedded_graph && p->embedded_graph->failed) wrong = "out of memory";
  if (!wrong && p->embedded_graph) {
    mafat_embedded_graph_settle(p->embedded_graph);
    if (p->embedded_graph->bytes != p->embedded_graph_bytes)
      wrong = "ranges of the model are adjacent: expected one range";
  }
  return wrong;
}

MAFAT_PART(rare)
void mafat_packed_graph_index_write(const struct mafat_packed *p,
                                    const struct mafat_embedded_graph *e, struct mafat_bytes *to)
{
  bool given = false;
  for (int i = 0; i < e->n_files; i++) given = given || e->files[i].given;
  char word[64];
  snprintf(word, sizeof word, "%s%s", p->format.name, given ? with_constants : "");
  mafat_bytes_put_word(to, word);
  mafat_bytes_put_u64(to, p->embedded_graph_hash);
  mafat_bytes_put_u32(to, (uint32_t)e->n_files);
  for (int i = 0; i < e->n_files; i++) {
    const struct mafat_embedded_graph_file *f = &e->files[i];
    mafat_bytes_put_word(to, f->name);
    if (given) mafat_bytes_put_word(to, f->given ? f->given : "");
    mafat_bytes_put_u64(to, f->bytes);
    mafat_bytes_put_u32(to, (uint32_t)f->n);
    for (size_t k = 0; k < f->n; k++) {
      mafat_bytes_put_u64(to, f->ranges[k].at);
      mafat_bytes_put_u64(to, f->ranges[k].bytes);
    }
  }
}

/* ---- hash of the constants ---- */

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
  return mafat_hash(hash, &number, sizeof number);
}

static uint64_t hash_constant(uint64_t hash, const struct mafat_constant *c)
{
  hash = hash_number(hash, c->n);
  if (c->n == 0) return hash;
  hash = hash_number(hash, c->at);
  hash = hash_number(hash, c->file);
  hash = hash_number(hash, c->type);
  return hash_number(hash, (uint64_t)c->order * 2 + c->flipped);
}

uint64_t mafat_packed_graph_hash(uint64_t hash, const struct mafat_network *n)
{
  for (int l = 0; l < n->n_layers && n->constants; l++) {
    const struct mafat_layer_constants *c = &n->constants->layers[l];
    hash = hash_constant(hash, &c->weights);
    hash = hash_constant(hash, &c->normalization);
    for (int p = 0; p < MAFAT_N_PARTS; p++)
      hash = hash_constant(hash, mafat_constants_part(c, (enum mafat_constant_part)p));
    uint64_t bits = 0;
    if (c->parts) memcpy(&bits, &c->parts->epsilon, sizeof bits);
    hash = hash_number(hash, bits);
  }
  hash = hash_number(hash, n->n_values);
  return n->n_values ? mafat_hash(hash, n->values, n->n_values * sizeof *n->values) : hash;
}
