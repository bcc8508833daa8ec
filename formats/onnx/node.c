/* Reads NodeProto and AttributeProto. Called by formats/onnx: graph.c reads nodes, and the other
 * files look up attributes. Allocates in the model's memory. */
#include "formats/onnx/reader.h"

#include <string.h>

/* Fields of NodeProto, and of AttributeProto. */
enum {
  INPUT = 1, OUTPUT = 2, NODE_NAME = 3, OP_TYPE = 4, ATTRIBUTE = 5, DOMAIN = 7,
  N_NODE_FIELDS
};
enum { NAME = 1, TYPE = 20, REFERENCE = 21, N_ATTRIBUTE_FIELDS = 24 };

enum { MAX_ATTRIBUTES = 256 };

/* Attribute types: their names and the field of the value. */
static const struct {
  const char *name;
  int field;
} types[MAFAT_ONNX_N_ATTRIBUTE_TYPES] = {
    [MAFAT_ONNX_ATTRIBUTE_UNDEFINED] = {"undefined", 0},
    [MAFAT_ONNX_ATTRIBUTE_FLOAT] = {"float", 2},
    [MAFAT_ONNX_ATTRIBUTE_INT] = {"int", 3},
    [MAFAT_ONNX_ATTRIBUTE_STRING] = {"string", 4},
    [MAFAT_ONNX_ATTRIBUTE_TENSOR] = {"tensor", 5},
    [MAFAT_ONNX_ATTRIBUTE_GRAPH] = {"graph", 6},
    [MAFAT_ONNX_ATTRIBUTE_FLOATS] = {"floats", 7},
    [MAFAT_ONNX_ATTRIBUTE_INTS] = {"ints", 8},
    [MAFAT_ONNX_ATTRIBUTE_STRINGS] = {"strings", 9},
    [MAFAT_ONNX_ATTRIBUTE_TENSORS] = {"tensors", 10},
    [MAFAT_ONNX_ATTRIBUTE_GRAPHS] = {"graphs", 11},
    [MAFAT_ONNX_ATTRIBUTE_SPARSE_TENSOR] = {"sparse tensor", 22},
    [MAFAT_ONNX_ATTRIBUTE_SPARSE_TENSORS] = {"sparse tensors", 23},
    [MAFAT_ONNX_ATTRIBUTE_TYPE] = {"type", 14},
    [MAFAT_ONNX_ATTRIBUTE_TYPES] = {"types", 15},
};

const char *mafat_onnx_attribute_type_name(int type)
{
  return types[type > 0 && type < MAFAT_ONNX_N_ATTRIBUTE_TYPES ? type
                                                               : MAFAT_ONNX_ATTRIBUTE_UNDEFINED]
      .name;
}

/* ---- attributes ---- */

/* Counts the elements of a list over all occurrences of its field. An occurrence holds any number
 * of numbers, or one string. */
static uint64_t count_list(struct mafat_wire w, int field, int *code)
{
  enum mafat_wire_type type =
      field == types[MAFAT_ONNX_ATTRIBUTE_FLOATS].field ? MAFAT_WIRE_FIXED32 : MAFAT_WIRE_VARINT;
  uint64_t n = 0;
  for (struct mafat_wire_field f; mafat_wire_next(&w, &f);)
    if (f.number == field)
      n += field == types[MAFAT_ONNX_ATTRIBUTE_STRINGS].field ? 1
                                                              : mafat_wire_n_numbers(&w, &f, type);
  *code = w.code;
  return n;
}

/* Appends the elements of one occurrence to a list that has room for `counted`. */
static void read_numbers(struct mafat_wire *w, const struct mafat_wire_field *f,
                         struct mafat_onnx_attribute *a, void *to, size_t counted)
{
  bool ints = a->type == MAFAT_ONNX_ATTRIBUTE_INTS;
  enum mafat_wire_type type = ints ? MAFAT_WIRE_VARINT : MAFAT_WIRE_FIXED32;
  struct mafat_wire numbers = mafat_wire_numbers(w, f, type);
  for (uint64_t bits; mafat_wire_number(&numbers, type, &bits) &&
                      mafat_onnx_is_short(&numbers, (size_t)a->n, counted);
       a->n++) {
    if (ints) ((int64_t *)to)[a->n] = (int64_t)bits;
    else memcpy((float *)to + a->n, &bits, sizeof(float));
  }
  if (numbers.code) w->code = numbers.code;
}

/* Reads a list of numbers or strings from all occurrences of its field. */
static int read_list(struct mafat_onnx_reader *r, struct mafat_wire w,
                     struct mafat_onnx_attribute *a)
{
  static const size_t sizes[] = {[MAFAT_ONNX_ATTRIBUTE_FLOATS] = sizeof(float),
                                 [MAFAT_ONNX_ATTRIBUTE_INTS] = sizeof(int64_t),
                                 [MAFAT_ONNX_ATTRIBUTE_STRINGS] = sizeof(char *)};
  int field = types[a->type].field, code;
  uint64_t n_all = count_list(w, field, &code);
  if (code) return code;
  void *list = mafat_onnx_take(r, &w, (size_t)n_all, sizes[a->type]);
  for (struct mafat_wire_field f; mafat_wire_next(&w, &f);) {
    if (f.number != field) continue;
    if (a->type != MAFAT_ONNX_ATTRIBUTE_STRINGS) read_numbers(&w, &f, a, list, (size_t)n_all);
    else if (mafat_onnx_is_short(&w, (size_t)a->n, (size_t)n_all))
      ((const char **)list)[a->n++] = mafat_onnx_text(r, &w, &f);
  }
  if (a->type == MAFAT_ONNX_ATTRIBUTE_INTS) a->as.ints = list;
  else if (a->type == MAFAT_ONNX_ATTRIBUTE_FLOATS) a->as.floats = list;
  else a->as.strings = list;
  return w.code;
}

static void read_inner_tensor(struct mafat_onnx_reader *r, struct mafat_wire *w,
                              const struct mafat_wire_field *f, struct mafat_onnx_attribute *a)
{
  struct mafat_onnx_tensor *t = mafat_onnx_take(r, w, 1, sizeof *t);
  if (!t) return;
  w->code = mafat_onnx_read_tensor(r, mafat_wire_message(w, f), t);
  a->as.t = t;
}

/* Reads a single value: the last occurrence, or 0 if absent. */
static int read_single(struct mafat_onnx_reader *r, struct mafat_wire w,
                       struct mafat_onnx_attribute *a)
{
  if (a->type == MAFAT_ONNX_ATTRIBUTE_STRING) a->as.s = "";
  for (struct mafat_wire_field f; mafat_wire_next(&w, &f);) {
    if (f.number != types[a->type].field) continue;
    switch (a->type) {
    case MAFAT_ONNX_ATTRIBUTE_FLOAT: a->as.f = mafat_wire_float(&w, &f); break;
    case MAFAT_ONNX_ATTRIBUTE_INT: a->as.i = mafat_wire_int(&w, &f); break;
    case MAFAT_ONNX_ATTRIBUTE_STRING: a->as.s = mafat_onnx_text(r, &w, &f); break;
    case MAFAT_ONNX_ATTRIBUTE_TENSOR: read_inner_tensor(r, &w, &f, a); break;
    }
  }
  if (w.code == MAFAT_OK && a->type == MAFAT_ONNX_ATTRIBUTE_TENSOR && !a->as.t)
    mafat_wire_fail(&w, MAFAT_EFORMAT, "expected a tensor, found none");
  return w.code;
}

/* Infers the type from the fields, for old writers without a type. */
static int type_of(const size_t *counts)
{
  for (int t = 1; t < MAFAT_ONNX_N_ATTRIBUTE_TYPES; t++)
    if (counts[types[t].field]) return t;
  return MAFAT_ONNX_ATTRIBUTE_UNDEFINED;
}

static int read_attribute(struct mafat_onnx_reader *r, struct mafat_wire w,
                          struct mafat_onnx_attribute *a)
{
  struct mafat_wire again = w;
  size_t counts[N_ATTRIBUTE_FIELDS] = {0};
  int64_t type = MAFAT_ONNX_ATTRIBUTE_UNDEFINED;
  a->name = "";
  for (struct mafat_wire_field f; mafat_wire_next(&w, &f);) {
    if (f.number < N_ATTRIBUTE_FIELDS) counts[f.number]++;
    if (f.number == NAME) r->source.part = a->name = mafat_onnx_text(r, &w, &f);
    if (f.number == TYPE) type = mafat_wire_int(&w, &f);
    if (f.number == REFERENCE)
      mafat_wire_fail(&w, MAFAT_EUNSUPPORTED, "an attribute of a function is not supported");
  }
  if (w.code) return w.code;
  if (type == MAFAT_ONNX_ATTRIBUTE_UNDEFINED) type = type_of(counts);
  if (!*a->name || type <= MAFAT_ONNX_ATTRIBUTE_UNDEFINED || type >= MAFAT_ONNX_N_ATTRIBUTE_TYPES)
    return mafat_wire_fail(&w, MAFAT_EFORMAT,
                           "expected an attribute with a name and a type, found type %lld",
                           (long long)type);
  a->type = (int)type;
  switch (a->type) {
  case MAFAT_ONNX_ATTRIBUTE_FLOATS:
  case MAFAT_ONNX_ATTRIBUTE_INTS:
  case MAFAT_ONNX_ATTRIBUTE_STRINGS: return read_list(r, again, a);
  case MAFAT_ONNX_ATTRIBUTE_FLOAT:
  case MAFAT_ONNX_ATTRIBUTE_INT:
  case MAFAT_ONNX_ATTRIBUTE_STRING:
  case MAFAT_ONNX_ATTRIBUTE_TENSOR: return read_single(r, again, a);
  default: return MAFAT_OK;
  }
}

/* ---- nodes ---- */

/* Reads the names first, for messages, and counts fields. */
static int read_names(struct mafat_onnx_reader *r, struct mafat_wire w, struct mafat_onnx_node *n,
                      size_t *counts)
{
  for (struct mafat_wire_field f; mafat_wire_next(&w, &f);) {
    if (f.number < N_NODE_FIELDS) counts[f.number]++;
    if (f.number == NODE_NAME) r->source.name = n->name = mafat_onnx_text(r, &w, &f);
    if (f.number == OP_TYPE) r->source.kind = n->op_type = mafat_onnx_text(r, &w, &f);
    if (f.number == DOMAIN) n->domain = mafat_onnx_text(r, &w, &f);
  }
  if (w.code) return w.code;
  n->domain = mafat_onnx_domain(n->domain);
  if (!*n->op_type) return mafat_wire_fail(&w, MAFAT_EFORMAT, "expected an operator, found none");
  if (counts[ATTRIBUTE] > MAX_ATTRIBUTES)
    return mafat_wire_fail(&w, MAFAT_EUNSUPPORTED, "expected at most %d attributes, found %zu",
                           MAX_ATTRIBUTES, counts[ATTRIBUTE]);
  return MAFAT_OK;
}

static void add_attribute(struct mafat_onnx_reader *r, struct mafat_wire *w,
                          const struct mafat_wire_field *f, struct mafat_onnx_node *n,
                          struct mafat_onnx_attribute *a)
{
  w->code = read_attribute(r, mafat_wire_message(w, f), a);
  if (w->code == MAFAT_OK && mafat_onnx_attribute(n, a->name))
    mafat_wire_fail(w, MAFAT_EFORMAT, "expected an attribute once, found it again");
  n->n_attributes++;
  r->source.part = NULL;
}

static void add_output(struct mafat_onnx_reader *r, struct mafat_wire *w,
                       const struct mafat_wire_field *f, int node,
                       const struct mafat_onnx_value **to)
{
  struct mafat_onnx_value *v = mafat_onnx_refer_field(r, w, f);
  if (v && v->makers++ == 0) v->node = node;
  *to = v;
}

int mafat_onnx_read_node(struct mafat_onnx_reader *r, struct mafat_wire w, int index,
                         struct mafat_onnx_node *n)
{
  size_t counts[N_NODE_FIELDS] = {0};
  *n = (struct mafat_onnx_node){.op_type = "", .domain = "", .name = "", .number = index};
  int code = read_names(r, w, n, counts);
  if (code) return code;
  const struct mafat_onnx_value **inputs = mafat_onnx_take(r, &w, counts[INPUT], sizeof *inputs);
  const struct mafat_onnx_value **outputs = mafat_onnx_take(r, &w, counts[OUTPUT], sizeof *outputs);
  struct mafat_onnx_attribute *attributes =
      mafat_onnx_take(r, &w, counts[ATTRIBUTE], sizeof *attributes);
  n->inputs = inputs;
  n->outputs = outputs;
  n->attributes = attributes;
  for (struct mafat_wire_field f; mafat_wire_next(&w, &f);) switch (f.number) {
    case INPUT:
      if (mafat_onnx_is_short(&w, (size_t)n->n_inputs, counts[INPUT]))
        inputs[n->n_inputs++] = mafat_onnx_refer_field(r, &w, &f);
      break;
    case OUTPUT:
      if (mafat_onnx_is_short(&w, (size_t)n->n_outputs, counts[OUTPUT]))
        add_output(r, &w, &f, index, &outputs[n->n_outputs++]);
      break;
    case ATTRIBUTE:
      if (mafat_onnx_is_short(&w, (size_t)n->n_attributes, counts[ATTRIBUTE]))
        add_attribute(r, &w, &f, n, &attributes[n->n_attributes]);
      break;
    }
  return w.code;
}

const struct mafat_onnx_attribute *mafat_onnx_attribute(const struct mafat_onnx_node *n,
                                                        const char *name)
{
  for (int i = 0; i < n->n_attributes; i++)
    if (strcmp(n->attributes[i].name, name) == 0) return &n->attributes[i];
  return NULL;
}
