/* Reads ModelProto, the outermost message of an ONNX file, and answers queries about the model.
 * Called by the other files of formats/onnx. Reads the model's file; allocates the model's memory,
 * at most 64 MiB, which mafat_onnx_close frees. */
#include "formats/onnx/reader.h"

#include "network/constant.h"

#include <stdlib.h>
#include <string.h>

/* Fields of ModelProto. */
enum {
  IR_VERSION = 1, GRAPH = 7, OPSET = 8, PROPERTY = 14, TRAINING = 20, FUNCTIONS = 25,
  N_FIELDS
};

/* newest supported version of ONNX's own operator set (that of onnx 1.23); later versions may
 * change the meaning of operators */
enum { NEWEST_OPSET = 28 };

/* limit of the model's memory: about 200 000 nodes */
enum { MOST_BYTES = 64 << 20 };

/* ---- functions shared by the reader's files ---- */

void *mafat_onnx_take(struct mafat_onnx_reader *r, struct mafat_wire *w, size_t n, size_t bytes)
{
  struct mafat_chunks *memory = &r->model->memory;
  void *taken = w->code ? NULL : mafat_chunks_take(memory, n, bytes);
  if (taken || w->code) return taken;
  size_t all, left = memory->most_bytes - memory->bytes;
  if (__builtin_mul_overflow(n, bytes, &all) || all > left || left < MAFAT_ONNX_MAX_TEXT * 4)
    mafat_wire_fail(w, MAFAT_ELIMIT,
                    "its names, nodes and attributes need more than %zu MB: too large",
                    memory->most_bytes >> 20);
  else mafat_wire_fail(w, MAFAT_ENOMEM, "out of memory");
  return NULL;
}

/* Copies a field's text to a buffer of MAFAT_ONNX_MAX_TEXT + 1 bytes. False: it failed, now or
 * before; the error is w->code. */
static bool copy_text(struct mafat_wire *w, const struct mafat_wire_field *f, char *to)
{
  if (f->bytes <= MAFAT_ONNX_MAX_TEXT) mafat_wire_text(w, f, to);
  else
    mafat_wire_fail(w, MAFAT_EUNSUPPORTED,
                    "expected text of at most %d bytes at byte %llu, found %llu",
                    MAFAT_ONNX_MAX_TEXT, (unsigned long long)f->at, (unsigned long long)f->bytes);
  return w->code == MAFAT_OK;
}

static const char *keep_text(struct mafat_onnx_reader *r, struct mafat_wire *w, const char *text)
{
  size_t bytes = strlen(text) + 1;
  char *kept = mafat_onnx_take(r, w, bytes, 1);
  return kept ? memcpy(kept, text, bytes) : "";
}

const char *mafat_onnx_text(struct mafat_onnx_reader *r, struct mafat_wire *w,
                            const struct mafat_wire_field *f)
{
  char text[MAFAT_ONNX_MAX_TEXT + 1];
  return copy_text(w, f, text) ? keep_text(r, w, text) : "";
}

bool mafat_onnx_is_short(struct mafat_wire *w, size_t n, size_t counted)
{
  if (w->code == MAFAT_OK && n >= counted)
    mafat_wire_fail(w, MAFAT_EIO, "the file has changed while it was read");
  return w->code == MAFAT_OK;
}

/* Finds the value with this name, or adds it. The name of a new value is copied to the model's
 * memory if `keep` is true. NULL: failed. */
static struct mafat_onnx_value *refer(struct mafat_onnx_reader *r, struct mafat_wire *w,
                                      const char *name, bool keep)
{
  struct mafat_onnx *m = r->model;
  int index = mafat_onnx_names_find(m->values, name);
  if (index >= 0) return mafat_onnx_names_get(m->values, index);
  struct mafat_onnx_value *v = mafat_onnx_take(r, w, 1, sizeof *v);
  if (keep) name = keep_text(r, w, name);
  if (w->code) return NULL;
  *v = (struct mafat_onnx_value){
      .name = name, .index = mafat_onnx_names_count(m->values), .node = -1};
  if (mafat_onnx_names_put(&m->values, name, v, m->memory.allowance)) return v;
  mafat_wire_fail(w, MAFAT_ENOMEM, "out of memory");
  return NULL;
}

struct mafat_onnx_value *mafat_onnx_refer(struct mafat_onnx_reader *r, struct mafat_wire *w,
                                          const char *name)
{
  return refer(r, w, name, false);
}

struct mafat_onnx_value *mafat_onnx_refer_field(struct mafat_onnx_reader *r, struct mafat_wire *w,
                                                const struct mafat_wire_field *f)
{
  char name[MAFAT_ONNX_MAX_TEXT + 1];
  return copy_text(w, f, name) && *name ? refer(r, w, name, true) : NULL;
}

int mafat_onnx_refer_file(struct mafat_onnx_reader *r, struct mafat_wire *w, const char *path)
{
  struct mafat_onnx *m = r->model;
  int file = mafat_onnx_names_find(m->paths, path);
  if (file >= 0) return file;
  if (mafat_onnx_names_count(m->paths) == MAFAT_CONSTANT_VALUES)
    mafat_wire_fail(w, MAFAT_EUNSUPPORTED, "expected constants in at most %d files, found more",
                    MAFAT_CONSTANT_VALUES - 1);
  struct mafat_onnx_file *kept = mafat_onnx_take(r, w, 1, sizeof *kept);
  if (kept) kept->path = keep_text(r, w, path);
  if (w->code) return -1;
  if (mafat_onnx_names_put(&m->paths, kept->path, kept, m->memory.allowance))
    return mafat_onnx_names_count(m->paths) - 1;
  mafat_wire_fail(w, MAFAT_ENOMEM, "out of memory");
  return -1;
}

const char *mafat_onnx_domain(const char *name)
{
  return strcmp(name, "ai.onnx") == 0 ? "" : name;
}

struct mafat_onnx_value *mafat_onnx_find_field(struct mafat_onnx_reader *r, struct mafat_wire w,
                                               int number)
{
  char name[MAFAT_ONNX_MAX_TEXT + 1] = "";
  for (struct mafat_wire_field f; mafat_wire_next(&w, &f);)
    if (f.number == number && f.bytes <= MAFAT_ONNX_MAX_TEXT) mafat_wire_text(&w, &f, name);
  int index = w.code ? -1 : mafat_onnx_names_find(r->model->values, name);
  return index < 0 ? NULL : mafat_onnx_names_get(r->model->values, index);
}

/* ---- the model ---- */

/* Reads the version of an operator set. Stores only that of ONNX's own domain, because a file may
 * list thousands of other domains. */
static void read_opset(struct mafat_onnx *m, struct mafat_wire *outer,
                       const struct mafat_wire_field *opset, struct mafat_onnx_opset *own)
{
  enum { DOMAIN = 1, VERSION = 2 };
  struct mafat_wire w = mafat_wire_message(outer, opset);
  struct mafat_onnx_opset opset_read = {.domain = ""}, *o = &opset_read;
  char domain[MAFAT_ONNX_MAX_TEXT + 1] = "";
  for (struct mafat_wire_field f; mafat_wire_next(&w, &f);) {
    if (f.number == DOMAIN) copy_text(&w, &f, domain);
    if (f.number == VERSION) o->version = mafat_wire_int(&w, &f);
  }
  if (w.code == MAFAT_OK && o->version < 1)
    mafat_wire_fail(&w, MAFAT_EFORMAT, "expected the version of an operator set, found %lld",
                    (long long)o->version);
  outer->code = w.code;
  if (!*mafat_onnx_domain(domain) && m->n_opsets == 0) own[m->n_opsets++] = *o;
}

/* True for a metadata entry that the importer reads (picture.c). Other entries are skipped, so they
 * need no memory. */
static bool is_wanted(const struct mafat_wire *outer, const struct mafat_wire_field *property)
{
  static const char wanted[] = "Image.";
  enum { KEY = 1, PREFIX = sizeof wanted - 1 };
  struct mafat_wire w = mafat_wire_message(outer, property);
  for (struct mafat_wire_field f; mafat_wire_next(&w, &f);) {
    const char *key;
    if (f.number == KEY && f.bytes >= PREFIX)
      return mafat_model_file_peek(w.source->file, f.at, PREFIX, &key, NULL) == MAFAT_OK &&
             memcmp(key, wanted, PREFIX) == 0;
  }
  return false;
}

static size_t count_properties(struct mafat_wire w)
{
  size_t n = 0;
  for (struct mafat_wire_field f; mafat_wire_next(&w, &f);)
    n += f.number == PROPERTY && is_wanted(&w, &f);
  return n;
}

/* Reads a metadata entry. False: it is too long and skipped, or reading failed (outer->code). */
static bool read_property(struct mafat_onnx_reader *r, struct mafat_wire *outer,
                          const struct mafat_wire_field *property, struct mafat_onnx_property *p)
{
  enum { KEY = 1, VALUE = 2 };
  struct mafat_wire w = mafat_wire_message(outer, property);
  bool is_short = property->bytes <= MAFAT_ONNX_MAX_TEXT;
  p->key = p->value = "";
  for (struct mafat_wire_field f; is_short && mafat_wire_next(&w, &f);) {
    if (f.number == KEY) p->key = mafat_onnx_text(r, &w, &f);
    if (f.number == VALUE) p->value = mafat_onnx_text(r, &w, &f);
  }
  outer->code = w.code;
  return is_short && w.code == MAFAT_OK;
}

/* Reads everything except the graph. Sets *graph to the graph's field. */
static int read_head(struct mafat_onnx_reader *r, struct mafat_wire w, const size_t *counts,
                     struct mafat_wire_field *graph)
{
  struct mafat_onnx *m = r->model;
  size_t n_properties = counts[PROPERTY] ? count_properties(w) : 0;
  struct mafat_onnx_opset *opsets = mafat_onnx_take(r, &w, 1, sizeof *opsets);
  struct mafat_onnx_property *properties = mafat_onnx_take(r, &w, n_properties, sizeof *properties);
  m->opsets = opsets;
  m->properties = properties;
  for (struct mafat_wire_field f; mafat_wire_next(&w, &f);) switch (f.number) {
    case IR_VERSION: m->ir_version = mafat_wire_int(&w, &f); break;
    case GRAPH: *graph = f; break;
    case OPSET: read_opset(m, &w, &f, opsets); break;
    case PROPERTY:
      if (is_wanted(&w, &f) && mafat_onnx_is_short(&w, (size_t)m->n_properties, n_properties))
        m->n_properties += read_property(r, &w, &f, &properties[m->n_properties]);
      break;
    }
  if (w.code) return w.code;
  if (m->ir_version < 1)
    return mafat_wire_fail(&w, MAFAT_EFORMAT, "expected an ONNX file's version, found %lld",
                           (long long)m->ir_version);
  if (counts[OPSET] == 0)
    return mafat_wire_fail(&w, MAFAT_EFORMAT,
                           "expected the version of an operator set, found none");
  if (mafat_onnx_opset(m, "") > NEWEST_OPSET)
    return mafat_wire_fail(&w, MAFAT_EUNSUPPORTED,
                           "expected an operator set of version 1 to %d, found %lld", NEWEST_OPSET,
                           (long long)mafat_onnx_opset(m, ""));
  return MAFAT_OK;
}

static int read_model(struct mafat_onnx_reader *r)
{
  struct mafat_wire w = mafat_wire_whole(&r->source);
  struct mafat_wire_field graph;
  size_t counts[N_FIELDS];
  mafat_wire_count(&w, counts, N_FIELDS);
  if (w.code) return w.code;
  if (counts[GRAPH] != 1)
    return mafat_wire_fail(&w, MAFAT_EFORMAT, "expected an ONNX file with one graph, found %zu",
                           counts[GRAPH]);
  if (counts[FUNCTIONS])
    return mafat_wire_fail(&w, MAFAT_EUNSUPPORTED,
                           "functions that the file defines are not supported");
  if (counts[TRAINING]) return mafat_wire_fail(&w, MAFAT_EUNSUPPORTED, "training is not supported");
  int code = read_head(r, w, counts, &graph);
  return code ? code : mafat_onnx_read_graph(r, mafat_wire_message(&w, &graph));
}

bool mafat_onnx_begins(const char beginning[MAFAT_ONNX_BEGINNING])
{
  /* field 1 of ModelProto, the version of the format: a small number */
  return beginning[0] == IR_VERSION << 3 && beginning[1] > 0 && beginning[1] < ' ';
}

struct mafat_onnx_reader mafat_onnx_reader_of(struct mafat_onnx *m, struct mafat_model_file *file,
                                              struct mafat_diagnostic *d)
{
  return (struct mafat_onnx_reader){.model = m, .source = {.file = file, .d = d, .number = -1}};
}

/* Opens an empty model. */
static int open_model(struct mafat_onnx **out, struct mafat_model_file *file,
                      struct mafat_diagnostic *d)
{
  *out = calloc(1, sizeof **out);
  if (!*out) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", file->path);
  (*out)->file = file;
  (*out)->memory =
      (struct mafat_chunks){.allowance = file->source->allowance, .most_bytes = MOST_BYTES};
  struct mafat_onnx_reader r = mafat_onnx_reader_of(*out, file, d);
  struct mafat_wire w = mafat_wire_whole(&r.source);
  mafat_onnx_refer_file(&r, &w, file->path);
  return w.code;
}

int mafat_onnx_read(struct mafat_onnx **out, struct mafat_model_file *file,
                    struct mafat_diagnostic *d)
{
  int code = open_model(out, file, d);
  if (code == MAFAT_OK) {
    struct mafat_onnx_reader r = mafat_onnx_reader_of(*out, file, d);
    code = read_model(&r);
  }
  if (code) mafat_onnx_close(out);
  return code;
}

int mafat_onnx_read_tensor_file(struct mafat_onnx *m, const char *path,
                                struct mafat_model_file *file, struct mafat_onnx_tensor **out,
                                struct mafat_diagnostic *d)
{
  struct mafat_onnx_reader r = mafat_onnx_reader_of(m, file, d);
  struct mafat_wire w = mafat_wire_whole(&r.source);
  r.source.what = "tensor";
  *out = mafat_onnx_take(&r, &w, 1, sizeof **out);
  r.file = path ? mafat_onnx_refer_file(&r, &w, path) : 0;
  return w.code ? w.code : mafat_onnx_read_tensor(&r, w, *out);
}

int mafat_onnx_read_one(struct mafat_onnx **out, const struct mafat_onnx_tensor **tensor,
                        struct mafat_model_file *file, struct mafat_diagnostic *d)
{
  struct mafat_onnx_tensor *t = NULL;
  int code = open_model(out, file, d);
  if (code == MAFAT_OK) code = mafat_onnx_read_tensor_file(*out, NULL, file, &t, d);
  if (code) mafat_onnx_close(out);
  *tensor = code ? NULL : t;
  return code;
}

void mafat_onnx_close(struct mafat_onnx **model)
{
  if (!model || !*model) return;
  mafat_onnx_names_close(&(*model)->values);
  mafat_onnx_names_close(&(*model)->paths);
  mafat_chunks_free(&(*model)->memory);
  free(*model);
  *model = NULL;
}

/* ---- queries ---- */

int mafat_onnx_n_values(const struct mafat_onnx *m)
{
  return mafat_onnx_names_count(m->values);
}

const struct mafat_onnx_value *mafat_onnx_value(const struct mafat_onnx *m, int index)
{
  return mafat_onnx_names_get(m->values, index);
}

const struct mafat_onnx_value *mafat_onnx_value_of(const struct mafat_onnx *m, const char *name)
{
  int index = mafat_onnx_names_find(m->values, name);
  return index < 0 ? NULL : mafat_onnx_value(m, index);
}

int mafat_onnx_n_files(const struct mafat_onnx *m)
{
  return mafat_onnx_names_count(m->paths);
}

struct mafat_onnx_file *mafat_onnx_file(const struct mafat_onnx *m, int file)
{
  return mafat_onnx_names_get(m->paths, file);
}

const char *mafat_onnx_path(const struct mafat_onnx *m, int file)
{
  return mafat_onnx_file(m, file)->path;
}

int64_t mafat_onnx_opset(const struct mafat_onnx *m, const char *domain)
{
  for (int i = 0; i < m->n_opsets; i++)
    if (strcmp(m->opsets[i].domain, mafat_onnx_domain(domain)) == 0) return m->opsets[i].version;
  return 0;
}
