/* Encodes protocol buffers and ONNX messages in memory that the caller frees. Called by tests and
 * fuzz targets that write models. */
#include "tests/support/onnx_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of element types and wire types in onnx.proto. */
enum { FLOAT = 1, INT64 = 7, STRING = 8, DOUBLE = 11, N_TYPES = 17 };
enum { FIXED32 = 5, BYTES = 2, VARINT = 0 };

/* ---- messages ---- */

void test_put_bytes(struct test_message *m, const void *data, size_t n)
{
  if (m->capacity - m->n < n || !m->data) {
    m->capacity = 2 * m->capacity + n + 64;
    m->data = realloc(m->data, m->capacity);
    if (!m->data) abort();
  }
  if (n) memcpy(m->data + m->n, data, n);
  m->n += n;
}

void test_put_varint(struct test_message *m, uint64_t value)
{
  do {
    unsigned char byte = (unsigned char)((value & 127) | (value > 127 ? 128 : 0));
    test_put_bytes(m, &byte, 1);
    value >>= 7;
  } while (value);
}

static void put_tag(struct test_message *m, int field, int type)
{
  test_put_varint(m, (uint64_t)field << 3 | (uint64_t)type);
}

void test_put_int(struct test_message *m, int field, int64_t value)
{
  put_tag(m, field, VARINT);
  test_put_varint(m, (uint64_t)value);
}

void test_put_float(struct test_message *m, int field, float value)
{
  put_tag(m, field, FIXED32);
  test_put_bytes(m, &value, sizeof value);
}

void test_put_data(struct test_message *m, int field, const void *data, size_t n)
{
  put_tag(m, field, BYTES);
  test_put_varint(m, n);
  test_put_bytes(m, data, n);
}

void test_put_text(struct test_message *m, int field, const char *text)
{
  test_put_data(m, field, text, strlen(text));
}

void test_put_message(struct test_message *m, int field, struct test_message *inner)
{
  test_put_data(m, field, inner->data, inner->n);
  free(inner->data);
  *inner = (struct test_message){NULL, 0, 0};
}

/* ---- tensors ---- */

static const struct {
  int bytes, field, wire;
} types[N_TYPES] = {
    [1] = {4, 4, FIXED32},  [2] = {1, 5, VARINT},   [3] = {1, 5, VARINT}, [4] = {2, 5, VARINT},
    [5] = {2, 5, VARINT},   [6] = {4, 5, VARINT},   [7] = {8, 7, VARINT}, [8] = {0, 6, BYTES},
    [9] = {1, 5, VARINT},   [10] = {2, 5, VARINT},  [11] = {8, 10, 1},    [12] = {4, 11, VARINT},
    [13] = {8, 11, VARINT}, [14] = {8, 4, FIXED32}, [15] = {16, 10, 1},   [16] = {2, 5, VARINT}};

/* Appends one element in the form of raw_data: little-endian, of the type's size. */
static void put_raw(struct test_message *m, int type, double value)
{
  float single = (float)value;
  int64_t integer = (int64_t)value;
  if (type == FLOAT) test_put_bytes(m, &single, sizeof single);
  else if (type == DOUBLE) test_put_bytes(m, &value, sizeof value);
  else test_put_bytes(m, &integer, (size_t)types[type].bytes);
}

static void put_typed(struct test_message *m, int type, double value)
{
  if (types[type].wire == VARINT) test_put_varint(m, (uint64_t)(int64_t)value);
  else put_raw(m, type, value);
}

static void put_run(struct test_message *m, const struct test_onnx_tensor *t, size_t from,
                    size_t to)
{
  struct test_message run = {0};
  for (size_t i = from; i < to; i++) put_typed(&run, t->type, t->values[i]);
  test_put_message(m, types[t->type].field, &run);
}

static void put_entry(struct test_message *m, const char *key, const char *value)
{
  struct test_message entry = {0};
  if (!value) return;
  test_put_text(&entry, 1, key);
  test_put_text(&entry, 2, value);
  test_put_message(m, 13, &entry);
}

static void put_values(struct test_message *m, const struct test_onnx_tensor *t, size_t n)
{
  struct test_message raw = {0};
  switch (t->style) {
  case TEST_ONNX_RAW:
    for (size_t i = 0; i < n; i++) put_raw(&raw, t->type, t->values[i]);
    test_put_message(m, 9, &raw);
    break;
  case TEST_ONNX_TYPED: put_run(m, t, 0, n); break;
  case TEST_ONNX_SPLIT:
    put_run(m, t, 0, n / 2);
    put_run(m, t, n / 2, n);
    break;
  case TEST_ONNX_UNPACKED:
    for (size_t i = 0; i < n; i++) {
      put_tag(m, types[t->type].field, types[t->type].wire);
      put_typed(m, t->type, t->values[i]);
    }
    break;
  case TEST_ONNX_EXTERNAL:
    put_entry(m, "location", t->location);
    put_entry(m, "offset", t->offset);
    put_entry(m, "length", t->length);
    test_put_int(m, 14, 1);
    break;
  }
}

struct test_message test_onnx_tensor(const struct test_onnx_tensor *t)
{
  struct test_message m = {0};
  size_t n = 1;
  for (int i = 0; i < t->rank; i++) {
    test_put_int(&m, 1, t->dims[i]);
    n *= (size_t)t->dims[i];
  }
  test_put_int(&m, 2, t->type);
  if (t->name) test_put_text(&m, 8, t->name);
  put_values(&m, t, n);
  return m;
}

/* ---- nodes ---- */

/* Copies the text's next word and returns the text after it. NULL: there is no word, or it has
 * `capacity` bytes or more. */
static const char *next_word(const char *text, char *word, size_t capacity)
{
  text += strspn(text, " ");
  size_t n = strcspn(text, " ");
  if (n == 0 || n >= capacity) return NULL;
  memcpy(word, text, n);
  word[n] = '\0';
  return text + n;
}

static void put_names(struct test_message *m, int field, const char *names)
{
  char name[128];
  while ((names = next_word(names, name, sizeof name)))
    test_put_text(m, field, strcmp(name, "-") == 0 ? "" : name);
}

struct test_message test_onnx_node(const char *op_type, const char *name, const char *inputs,
                                   const char *outputs)
{
  struct test_message m = {0};
  put_names(&m, 1, inputs);
  put_names(&m, 2, outputs);
  if (name) test_put_text(&m, 3, name);
  test_put_text(&m, 4, op_type);
  return m;
}

/* Appends the values of a list. Returns the attribute's type: 6 floats, 7 integers. */
static int put_list(struct test_message *a, const char *list)
{
  int is_float = strchr(list, '.') != NULL;
  for (char *end; *list && *list != ']'; list = end) {
    list += strspn(list, "[,");
    if (*list == ']' || !*list) break;
    if (is_float) test_put_float(a, 7, strtof(list, &end));
    else test_put_int(a, 8, strtoll(list, &end, 10));
    if (end == list) abort();
  }
  return is_float ? 6 : 7;
}

static int put_value(struct test_message *a, const char *value)
{
  if (*value == '[') return put_list(a, value);
  if (!strchr("-.0123456789", *value)) {
    test_put_text(a, 4, value);
    return 3;
  }
  if (strchr(value, '.')) {
    test_put_float(a, 2, strtof(value, NULL));
    return 1;
  }
  test_put_int(a, 3, strtoll(value, NULL, 10));
  return 2;
}

void test_onnx_attributes(struct test_message *node, const char *attributes)
{
  char word[256];
  while ((attributes = next_word(attributes, word, sizeof word))) {
    struct test_message a = {0};
    char *equals = strchr(word, '=');
    if (!equals) abort();
    *equals = '\0';
    test_put_text(&a, 1, word);
    test_put_int(&a, 20, put_value(&a, equals + 1));
    test_put_message(node, 5, &a);
  }
}

void test_onnx_tensor_attribute(struct test_message *node, const char *name,
                                const struct test_onnx_tensor *t)
{
  struct test_message a = {0}, tensor = test_onnx_tensor(t);
  test_put_text(&a, 1, name);
  test_put_message(&a, 5, &tensor);
  test_put_int(&a, 20, 4);
  test_put_message(node, 5, &a);
}

/* ---- graphs ---- */

void test_onnx_add_node(struct test_message *graph, struct test_message *node)
{
  test_put_message(graph, 1, node);
}

void test_onnx_add(struct test_message *graph, const char *op_type, const char *inputs,
                   const char *outputs, const char *attributes)
{
  struct test_message node = test_onnx_node(op_type, NULL, inputs, outputs);
  test_onnx_attributes(&node, attributes);
  test_onnx_add_node(graph, &node);
}

void test_onnx_initializer(struct test_message *graph, const struct test_onnx_tensor *t)
{
  struct test_message tensor = test_onnx_tensor(t);
  test_put_message(graph, 5, &tensor);
}

void test_onnx_floats(struct test_message *graph, const char *name, int rank, const int64_t *dims,
                      const double *values)
{
  test_onnx_initializer(
      graph, &(struct test_onnx_tensor){
                 .name = name, .type = FLOAT, .rank = rank, .dims = dims, .values = values});
}

void test_onnx_int64s(struct test_message *graph, const char *name, int n, const int64_t *values)
{
  struct test_message m = {0};
  test_put_int(&m, 1, n);
  test_put_int(&m, 2, 7);
  test_put_text(&m, 8, name);
  test_put_data(&m, 9, values, (size_t)n * sizeof *values);
  test_put_message(graph, 5, &m);
}

static void put_value_info(struct test_message *graph, int field, int type_number, const char *name,
                           int rank, const int64_t *dims)
{
  struct test_message shape = {0}, tensor = {0}, type = {0}, info = {0};
  for (int i = 0; i < rank; i++) {
    struct test_message dim = {0};
    if (dims[i] < 0) test_put_text(&dim, 2, "batch");
    else test_put_int(&dim, 1, dims[i]);
    test_put_message(&shape, 1, &dim);
  }
  test_put_int(&tensor, 1, type_number);
  if (rank >= 0) test_put_message(&tensor, 2, &shape);
  test_put_message(&type, 1, &tensor);
  test_put_text(&info, 1, name);
  test_put_message(&info, 2, &type);
  test_put_message(graph, field, &info);
}

void test_onnx_input(struct test_message *graph, const char *name, int rank, const int64_t *dims)
{
  put_value_info(graph, 11, FLOAT, name, rank, dims);
}

void test_onnx_typed_input(struct test_message *graph, const char *name, int type, int rank,
                           const int64_t *dims)
{
  put_value_info(graph, 11, type, name, rank, dims);
}

void test_onnx_int64_input(struct test_message *graph, const char *name, int64_t n)
{
  put_value_info(graph, 11, INT64, name, 1, &n);
}

void test_onnx_output(struct test_message *graph, const char *name, int rank, const int64_t *dims)
{
  put_value_info(graph, 12, FLOAT, name, rank, dims);
}

struct test_message test_onnx_model(struct test_message *graph, int opset)
{
  struct test_message m = {0}, import = {0};
  test_put_int(&m, 1, 8);
  test_put_text(&m, 2, "mafat's tests");
  test_put_message(&m, 7, graph);
  test_put_text(&import, 1, "");
  test_put_int(&import, 2, opset);
  test_put_message(&m, 8, &import);
  return m;
}
