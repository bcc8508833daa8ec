/* Reads .tflite files: operator codes, tensors, operators, inputs and outputs. Called by
 * formats/tflite/import.c. Reads the file; allocates the model. */
#include "formats/tflite/tflite.h"

#include "formats/tflite/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fields of the schema's tables. */
enum { MODEL_VERSION = 0, MODEL_CODES = 1, MODEL_SUBGRAPHS = 2, MODEL_BUFFERS = 4 };
enum { CODE_SHORT = 0, CODE_CUSTOM = 1, CODE_VERSION = 2, CODE_LONG = 3 };
enum { GRAPH_TENSORS = 0, GRAPH_INPUTS = 1, GRAPH_OUTPUTS = 2, GRAPH_OPERATORS = 3 };
enum {
  OPERATOR_CODE = 0, OPERATOR_INPUTS = 1, OPERATOR_OUTPUTS = 2, OPERATOR_CUSTOM = 5,
  OPERATOR_LARGE_AT = 9,
  OPERATOR_LARGE_BYTES = 10
};

enum { SCHEMA_VERSION = 3, MAX_CODES = 1 << 12 };

bool mafat_tflite_begins(const char beginning[MAFAT_FLAT_IDENTIFIER_BYTES])
{
  return mafat_flat_begins(beginning, "TFL3");
}

/* ---- operator codes ---- */

static const char *code_name(struct mafat_tflite_reader *r, int code)
{
  const char *known = mafat_tflite_code_name(code);
  char text[40];
  if (known) return known;
  int n = snprintf(text, sizeof text, "operator code %d", code);
  char *name = mafat_tflite_keep(r, (size_t)n + 1);
  if (name) memcpy(name, text, (size_t)n + 1);
  return name ? name : "";
}

static struct mafat_tflite_code_entry read_code(struct mafat_tflite_reader *r,
                                                const struct mafat_flat_table *t)
{
  int before = (int)mafat_flat_int(&r->f, t, CODE_SHORT, 1, 0),
      code = (int)mafat_flat_int(&r->f, t, CODE_LONG, 4, 0);
  struct mafat_tflite_code_entry c = {.code = before > code ? before : code,
                                      .version = (int)mafat_flat_int(&r->f, t, CODE_VERSION, 4, 1)};
  c.name = c.code == MAFAT_TFLITE_CUSTOM && mafat_flat_has(t, CODE_CUSTOM)
               ? mafat_tflite_keep_string(r, t, CODE_CUSTOM)
               : code_name(r, c.code);
  return c;
}

static void read_codes(struct mafat_tflite_reader *r, const struct mafat_flat_table *model)
{
  struct mafat_flat_vector v = mafat_flat_vector(&r->f, model, MODEL_CODES, sizeof(uint32_t));
  uint32_t *list = mafat_tflite_offsets(&r->f, &v, MAX_CODES, "operator codes");
  r->codes = mafat_tflite_zeros(&r->f, v.n, sizeof *r->codes);
  for (uint32_t i = 0; i < v.n && !r->f.code; i++) {
    struct mafat_flat_table t = mafat_flat_element(&r->f, &v, i, list[i]);
    r->codes[i] = read_code(r, &t);
  }
  r->n_codes = (int)v.n;
  free(list);
}

/* ---- tensors ---- */

/* Marks the tensors of a list as used. order.c checks later that tensor numbers are valid. */
static void mark_list(struct mafat_flat *f, const struct mafat_flat_table *t, int field,
                      unsigned char *used, uint32_t n_tensors)
{
  enum { SOME = 64 };
  struct mafat_flat_vector v = mafat_flat_vector(f, t, field, sizeof(int32_t));
  while (v.n > 0 && !f->code) {
    int32_t list[SOME];
    uint32_t n = v.n < SOME ? v.n : SOME;
    mafat_flat_copy(f, &v, n, sizeof *list, list);
    for (uint32_t i = 0; i < n && !f->code; i++)
      if (list[i] >= 0 && (uint32_t)list[i] < n_tensors) used[list[i]] = 1;
    v.at += n * sizeof *list;
    v.n -= n;
  }
}

/* Finds the tensors that operators, inputs or outputs name; all if memory is not limited. */
static unsigned char *mark_tensors(struct mafat_tflite_reader *r,
                                   const struct mafat_flat_table *graph, uint32_t n_tensors)
{
  struct mafat_flat *f = &r->f;
  struct mafat_flat_vector v = mafat_flat_vector(f, graph, GRAPH_OPERATORS, sizeof(uint32_t));
  uint32_t *list = mafat_tflite_offsets(f, &v, MAFAT_TFLITE_MAX_OPERATORS, "operators");
  unsigned char *used = mafat_tflite_zeros(f, n_tensors, 1);
  for (uint32_t i = 0; i < v.n && !f->code; i++) {
    struct mafat_flat_table t = mafat_flat_element(f, &v, i, list[i]);
    mark_list(f, &t, OPERATOR_INPUTS, used, n_tensors);
    mark_list(f, &t, OPERATOR_OUTPUTS, used, n_tensors);
  }
  if (used && !f->file->source->allowance) memset(used, 1, n_tensors);
  if (used) mark_list(f, graph, GRAPH_INPUTS, used, n_tensors);
  if (used) mark_list(f, graph, GRAPH_OUTPUTS, used, n_tensors);
  free(list);
  return used;
}

/* Tensors without a use stay zero and take no memory pages. */
static void read_tensors(struct mafat_tflite_reader *r, const struct mafat_flat_table *graph)
{
  struct mafat_flat_vector v = mafat_flat_vector(&r->f, graph, GRAPH_TENSORS, sizeof(uint32_t));
  uint32_t *list = mafat_tflite_offsets(&r->f, &v, MAFAT_TFLITE_MAX_TENSORS, "tensors");
  unsigned char *used = mark_tensors(r, graph, v.n);
  size_t n_used = 0;
  for (uint32_t i = 0; used && i < v.n; i++) n_used += used[i];
  r->model->tensors = mafat_tflite_sparse(&r->f, v.n, n_used, sizeof *r->model->tensors);
  for (uint32_t i = 0; i < v.n && !r->f.code; i++) {
    if (!used[i]) continue;
    struct mafat_flat_table t = mafat_flat_element(&r->f, &v, i, list[i]);
    mafat_tflite_read_tensor(r, &t, &r->model->tensors[i]);
  }
  r->model->n_tensors = (int)v.n;
  r->model->n_used = (int)n_used;
  r->model->used = used;
  free(list);
}

/* ---- operators ---- */

static void read_custom(struct mafat_tflite_reader *r, const struct mafat_flat_table *t,
                        struct mafat_tflite_operator *to)
{
  struct mafat_flat *f = &r->f;
  struct mafat_flat_vector v = mafat_flat_vector(f, t, OPERATOR_CUSTOM, 1);
  to->custom_at = v.at;
  to->custom_bytes = v.n;
  if (v.n > 0 || mafat_flat_uint(f, t, OPERATOR_LARGE_AT, 8, 0) <= 1) return;
  to->custom_at = mafat_flat_uint(f, t, OPERATOR_LARGE_AT, 8, 0);
  to->custom_bytes = mafat_flat_uint(f, t, OPERATOR_LARGE_BYTES, 8, 0);
  if (!f->code &&
      (to->custom_at > f->file->bytes || to->custom_bytes > f->file->bytes - to->custom_at))
    mafat_flat_fail(f, MAFAT_EFORMAT, "%s: its options lie outside the file", to->name);
}

static void read_operator(struct mafat_tflite_reader *r, const struct mafat_flat_table *t,
                          struct mafat_tflite_operator *to)
{
  char label[MAFAT_TFLITE_LABEL_ROOM];
  uint64_t code = mafat_flat_uint(&r->f, t, OPERATOR_CODE, 4, 0);
  if (!r->f.code && code >= (uint64_t)r->n_codes)
    mafat_flat_fail(&r->f, MAFAT_EFORMAT, "the operator in byte %llu has code %llu of %d",
                    (unsigned long long)t->at, (unsigned long long)code, r->n_codes);
  if (r->f.code) return;
  to->code = r->codes[code].code;
  to->version = r->codes[code].version;
  to->name = r->codes[code].name;
  to->inputs = mafat_tflite_keep_list(r, t, OPERATOR_INPUTS, &to->n_inputs);
  to->outputs = mafat_tflite_keep_list(r, t, OPERATOR_OUTPUTS, &to->n_outputs);
  read_custom(r, t, to);
  mafat_tflite_options_read(&r->f, t, to->code, mafat_tflite_label(r->model, to, label),
                            &to->options);
}

static void read_operators(struct mafat_tflite_reader *r, const struct mafat_flat_table *graph)
{
  struct mafat_flat_vector v = mafat_flat_vector(&r->f, graph, GRAPH_OPERATORS, sizeof(uint32_t));
  uint32_t *list = mafat_tflite_offsets(&r->f, &v, MAFAT_TFLITE_MAX_OPERATORS, "operators");
  r->model->operators = mafat_tflite_zeros(&r->f, v.n, sizeof *r->model->operators);
  for (uint32_t i = 0; i < v.n && !r->f.code; i++) {
    struct mafat_flat_table t = mafat_flat_element(&r->f, &v, i, list[i]);
    read_operator(r, &t, &r->model->operators[i]);
  }
  r->model->n_operators = (int)v.n;
  free(list);
}

/* ---- model ---- */

static void read_graph(struct mafat_tflite_reader *r, const struct mafat_flat_table *graph)
{
  read_tensors(r, graph);
  read_operators(r, graph);
  r->model->inputs = mafat_tflite_keep_list(r, graph, GRAPH_INPUTS, &r->model->n_inputs);
  r->model->outputs = mafat_tflite_keep_list(r, graph, GRAPH_OUTPUTS, &r->model->n_outputs);
  if (!r->f.code) mafat_tflite_check_order(r);
}

/* Rejects files with more than one subgraph: the others are bodies of branches and loops. The
 * message names the operator that uses them. */
static void refuse_others(struct mafat_tflite_reader *r, uint32_t n_graphs)
{
  char label[MAFAT_TFLITE_LABEL_ROOM];
  const struct mafat_tflite *m = r->model;
  for (int i = 0; i < m->n_operators; i++) {
    int code = m->operators[i].code;
    if (code == MAFAT_TFLITE_IF || code == MAFAT_TFLITE_WHILE || code == MAFAT_TFLITE_CALL_ONCE)
      mafat_flat_fail(&r->f, MAFAT_EUNSUPPORTED, "%s: control flow is not supported",
                      mafat_tflite_label(m, &m->operators[i], label));
  }
  mafat_flat_fail(&r->f, MAFAT_EUNSUPPORTED, "expected one subgraph, found %u", n_graphs);
}

static void read_model(struct mafat_tflite_reader *r)
{
  struct mafat_flat *f = &r->f;
  struct mafat_flat_table model = mafat_flat_root(f);
  uint32_t version = (uint32_t)mafat_flat_uint(f, &model, MODEL_VERSION, 4, 0), first = 0;
  struct mafat_flat_vector graphs = mafat_flat_vector(f, &model, MODEL_SUBGRAPHS, sizeof(uint32_t));
  if (!f->code && version != SCHEMA_VERSION)
    mafat_flat_fail(f, MAFAT_EUNSUPPORTED, "expected version %d of the TFLite schema, found %u",
                    SCHEMA_VERSION, version);
  if (!f->code && graphs.n == 0)
    mafat_flat_fail(f, MAFAT_EFORMAT, "expected a subgraph, found none");
  read_codes(r, &model);
  r->buffers = mafat_flat_vector(f, &model, MODEL_BUFFERS, sizeof(uint32_t));
  r->buffer_offsets = mafat_tflite_offsets(f, &r->buffers, 2 * MAFAT_TFLITE_MAX_TENSORS, "buffers");
  mafat_flat_copy(f, &graphs, 1, sizeof first, &first);
  struct mafat_flat_table graph = mafat_flat_element(f, &graphs, 0, first);
  read_graph(r, &graph);
  if (!f->code) mafat_tflite_read_picture(r, &model);
  if (!f->code && graphs.n > 1) refuse_others(r, graphs.n);
}

int mafat_tflite_read(struct mafat_tflite **out, struct mafat_model_file *file,
                      struct mafat_diagnostic *d)
{
  const char *beginning;
  struct mafat_tflite_reader r = {.f = mafat_flat(file, d)};
  *out = NULL;
  r.f.code = mafat_model_file_peek(file, 0, MAFAT_FLAT_IDENTIFIER_BYTES, &beginning, d);
  if (!r.f.code && !mafat_tflite_begins(beginning))
    mafat_flat_fail(&r.f, MAFAT_EFORMAT, "expected a TFLite model, with TFL3 in byte 4");
  r.model = mafat_tflite_zeros(&r.f, 1, sizeof *r.model);
  if (r.model) read_model(&r);
  free(r.codes);
  free(r.buffer_offsets);
  if (r.f.code) mafat_tflite_close(&r.model);
  *out = r.model;
  return r.f.code;
}

void mafat_tflite_close(struct mafat_tflite **model)
{
  if (!model || !*model) return;
  struct mafat_tflite *m = *model;
  for (struct mafat_tflite_block *b = m->blocks, *next; b; b = next) {
    next = b->next;
    free(b);
  }
  for (int i = 0; i < m->n_paths; i++) free(m->paths[i]);
  free(m->paths);
  free(m->states);
  free(m->tensors);
  free(m->used);
  free(m->operators);
  free(m);
  *model = NULL;
}
