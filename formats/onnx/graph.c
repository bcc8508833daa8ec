/* Reads GraphProto: nodes, inputs and outputs; then the initializers and declared types of the
 * values that these name. If memory is limited, initializers and types of other values are skipped
 * and take no memory. Called by formats/onnx/model.c. Reads the file; allocates in the model's
 * memory. */
#include "formats/onnx/reader.h"

#include <string.h>

/* Fields of GraphProto. */
enum {
  NODE = 1, INITIALIZER = 5, INPUT = 11, OUTPUT = 12, VALUE_INFO = 13, SPARSE_INITIALIZER = 15,
  N_FIELDS
};

/* ---- types ---- */

static void read_dim(struct mafat_onnx_reader *r, struct mafat_wire *w,
                     const struct mafat_wire_field *f, struct mafat_onnx_dim *dim)
{
  enum { VALUE = 1, PARAM = 2 };
  struct mafat_wire inner = mafat_wire_message(w, f);
  *dim = (struct mafat_onnx_dim){.n = -1};
  for (struct mafat_wire_field part; mafat_wire_next(&inner, &part);) {
    if (part.number == VALUE) dim->n = mafat_wire_int(&inner, &part);
    if (part.number == PARAM) dim->param = mafat_onnx_text(r, &inner, &part);
  }
  if (dim->n < 0) dim->n = -1; /* some writers use other negative numbers for unknown */
  w->code = inner.code;
}

static void read_shape(struct mafat_onnx_reader *r, struct mafat_wire *outer,
                       const struct mafat_wire_field *shape, struct mafat_onnx_info *info)
{
  enum { DIM = 1, N_SHAPE_FIELDS };
  struct mafat_wire w = mafat_wire_message(outer, shape);
  size_t counts[N_SHAPE_FIELDS];
  mafat_wire_count(&w, counts, N_SHAPE_FIELDS);
  if (counts[DIM] > MAFAT_ONNX_MAX_RANK)
    mafat_wire_fail(&w, MAFAT_EUNSUPPORTED, "expected at most %d dimensions, found %zu",
                    MAFAT_ONNX_MAX_RANK, counts[DIM]);
  struct mafat_onnx_dim *dims = w.code ? NULL : mafat_onnx_take(r, &w, counts[DIM], sizeof *dims);
  info->rank = 0;
  info->dims = dims;
  for (struct mafat_wire_field f; mafat_wire_next(&w, &f);)
    if (f.number == DIM && mafat_onnx_is_short(&w, (size_t)info->rank, counts[DIM]))
      read_dim(r, &w, &f, &dims[info->rank++]);
  outer->code = w.code;
}

static void read_tensor_type(struct mafat_onnx_reader *r, struct mafat_wire *outer,
                             const struct mafat_wire_field *type, struct mafat_onnx_info *info)
{
  enum { ELEMENT = 1, SHAPE = 2 };
  struct mafat_wire w = mafat_wire_message(outer, type);
  for (struct mafat_wire_field f; mafat_wire_next(&w, &f);) {
    if (f.number == ELEMENT) {
      int64_t element = mafat_wire_int(&w, &f);
      info->type =
          element > 0 && element < MAFAT_ONNX_N_TYPES ? (int)element : MAFAT_ONNX_UNDEFINED;
    }
    if (f.number == SHAPE) read_shape(r, &w, &f, info);
  }
  outer->code = w.code;
}

int mafat_onnx_read_type(struct mafat_onnx_reader *r, struct mafat_wire w,
                         struct mafat_onnx_info *info)
{
  static const char *const forms[] = {
      NULL, "tensor", NULL, NULL, "sequence", "map", NULL, "opaque", "sparse tensor", "optional"};
  enum { TENSOR = 1, N_FORMS = sizeof forms / sizeof *forms };
  *info = (struct mafat_onnx_info){.form = "unknown", .rank = -1};
  for (struct mafat_wire_field f; mafat_wire_next(&w, &f);) {
    if (f.number < N_FORMS && forms[f.number]) info->form = forms[f.number];
    if (f.number == TENSOR) read_tensor_type(r, &w, &f, info);
  }
  return w.code;
}

/* ---- values ---- */

enum { VALUE_NAME = 1, TENSOR_NAME = 8 };

/* True if memory is limited. Values that no node, input or output names are then skipped, without
 * checks. */
static bool is_sparing(const struct mafat_onnx_reader *r)
{
  return r->model->memory.allowance != NULL;
}

static int read_value(struct mafat_onnx_reader *r, struct mafat_wire w,
                      struct mafat_onnx_value **out)
{
  enum { NAME = VALUE_NAME, TYPE = 2 };
  struct mafat_onnx_info *info = NULL;
  struct mafat_wire_field type = {.number = 0};
  *out = NULL;
  r->source.name = NULL;
  for (struct mafat_wire_field f; mafat_wire_next(&w, &f);) {
    if (f.number == NAME) *out = mafat_onnx_refer_field(r, &w, &f);
    if (f.number == TYPE) type = f;
  }
  if (w.code) return w.code;
  if (!*out) return mafat_wire_fail(&w, MAFAT_EFORMAT, "expected a name, found none");
  r->source.name = (*out)->name;
  if (type.number) info = mafat_onnx_take(r, &w, 1, sizeof *info);
  if (info) w.code = mafat_onnx_read_type(r, mafat_wire_message(&w, &type), info);
  if (info && (!(*out)->info || (*out)->info->rank < 0)) (*out)->info = info;
  return w.code;
}

static void read_initializer(struct mafat_onnx_reader *r, struct mafat_wire *w,
                             const struct mafat_wire_field *f)
{
  struct mafat_wire message = mafat_wire_message(w, f);
  struct mafat_onnx_value *v =
      is_sparing(r) ? mafat_onnx_find_field(r, message, TENSOR_NAME) : NULL;
  if (!v && is_sparing(r)) return;
  struct mafat_onnx_tensor *t = mafat_onnx_take(r, w, 1, sizeof *t);
  if (!t) return;
  if (v) t->name = v->name;
  w->code = mafat_onnx_read_tensor(r, message, t);
  if (w->code) return;
  if (!*t->name) {
    mafat_wire_fail(w, MAFAT_EFORMAT, "expected an initializer with a name, found none");
    return;
  }
  if (!v) v = mafat_onnx_refer(r, w, t->name);
  if (!v) return;
  t->name = v->name;
  if (v->makers++ == 0) v->initializer = t;
}

/* ---- the graph ---- */

/* The graph's lists, allocated with the counts of a first pass. */
struct lists {
  struct mafat_onnx_node *nodes;
  const struct mafat_onnx_value **inputs, **outputs;
  int n[N_FIELDS]; /* entries read so far, per field */
};

static void read_field(struct mafat_onnx_reader *r, struct mafat_wire *w,
                       const struct mafat_wire_field *f, struct lists *l)
{
  static const char *const names[N_FIELDS] = {[NODE] = "node",
                                              [INITIALIZER] = "initializer",
                                              [INPUT] = "input",
                                              [OUTPUT] = "output",
                                              [VALUE_INFO] = "value"};
  struct mafat_onnx_value *v;
  int number = l->n[f->number]++;
  r->source.what = names[f->number];
  r->source.number = number;
  r->source.kind = r->source.name = r->source.part = NULL;
  switch (f->number) {
  case NODE:
    w->code = mafat_onnx_read_node(r, mafat_wire_message(w, f), number, &l->nodes[number]);
    break;
  case INITIALIZER: read_initializer(r, w, f); break;
  case INPUT:
    w->code = read_value(r, mafat_wire_message(w, f), &v);
    if (v) v->is_input = true;
    l->inputs[number] = v;
    break;
  case OUTPUT:
    w->code = read_value(r, mafat_wire_message(w, f), &v);
    l->outputs[number] = v;
    break;
  case VALUE_INFO:
    if (!is_sparing(r) || mafat_onnx_find_field(r, mafat_wire_message(w, f), VALUE_NAME))
      w->code = read_value(r, mafat_wire_message(w, f), &v);
    break;
  }
}

/* Reads some fields of GraphProto. describing: false: the fields that name values (nodes, inputs,
 * outputs); true: those that describe values (initializers, declared types). */
static void read_pass(struct mafat_onnx_reader *r, struct mafat_wire *w, const size_t *counts,
                      bool describing, struct lists *l)
{
  struct mafat_wire again = *w;
  for (struct mafat_wire_field f; mafat_wire_next(&again, &f);)
    if (f.number < N_FIELDS &&
        (f.number == INITIALIZER || f.number == VALUE_INFO) == describing &&
        mafat_onnx_is_short(&again, (size_t)l->n[f.number], counts[f.number]))
      read_field(r, &again, &f, l);
  w->code = again.code;
}

int mafat_onnx_read_graph(struct mafat_onnx_reader *r, struct mafat_wire w)
{
  struct mafat_onnx *m = r->model;
  size_t counts[N_FIELDS];
  mafat_wire_count(&w, counts, N_FIELDS);
  if (w.code) return w.code;
  if (counts[SPARSE_INITIALIZER])
    return mafat_wire_fail(&w, MAFAT_EUNSUPPORTED, "sparse initializers are not supported");
  struct lists l = {.nodes = mafat_onnx_take(r, &w, counts[NODE], sizeof *l.nodes),
                    .inputs = mafat_onnx_take(r, &w, counts[INPUT], sizeof *l.inputs),
                    .outputs = mafat_onnx_take(r, &w, counts[OUTPUT], sizeof *l.outputs)};
  read_pass(r, &w, counts, false, &l);
  if (w.code == MAFAT_OK) read_pass(r, &w, counts, true, &l);
  r->source.what = NULL;
  m->nodes = l.nodes;
  m->inputs = l.inputs;
  m->outputs = l.outputs;
  m->n_nodes = l.n[NODE];
  m->n_inputs = l.n[INPUT];
  m->n_outputs = l.n[OUTPUT];
  return w.code ? w.code : mafat_onnx_sort_nodes(r, &w, l.nodes, m->n_nodes);
}
