/* Encodes FlatBuffers and .tflite files in memory that the caller frees. Called by tests and fuzz
 * targets that write models. */
#include "tests/support/tflite_writer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file being written. A table is written before the objects it refers to: its offset to an
 * object is filled in when the object is written. */
struct writer {
  char *data;
  size_t n, capacity;
};

/* A field of a table. bytes 0: an offset, which is filled in later; *where becomes its position. */
struct field {
  int number, bytes;
  uint64_t value;
  size_t *where;
};

static void put(struct writer *w, const void *data, size_t n)
{
  if (w->n + n > w->capacity) {
    w->capacity = 2 * w->capacity + n + 1024;
    w->data = realloc(w->data, w->capacity);
    if (!w->data) abort();
  }
  if (n) memcpy(w->data + w->n, data, n);
  w->n += n;
}

/* Appends zeros until the next multiple of `step` is `before` bytes away. */
static void pad(struct writer *w, size_t step, size_t before)
{
  while ((w->n + before) % step) put(w, "", 1);
}

/* Sets the offset at `where` so that it refers to the end of what is written. */
static void point_here(struct writer *w, size_t where)
{
  uint32_t offset = (uint32_t)(w->n - where);
  memcpy(w->data + where, &offset, sizeof offset);
}

static void put_table(struct writer *w, const struct field *fields, int n)
{
  uint16_t vtable[20] = {0}, at = 4;
  int most = 0;
  char table[128] = {0};
  /* Wide fields come first, after the 4 bytes of the vtable's offset. */
  for (int step = 8; step; step /= 2)
    for (int i = 0; i < n; i++)
      if ((fields[i].bytes ? fields[i].bytes : 4) == step) {
        at = (uint16_t)((at + step - 1) / step * step);
        vtable[2 + fields[i].number] = at;
        memcpy(table + at, &fields[i].value, (size_t)step);
        at = (uint16_t)(at + step);
        if (fields[i].number >= most) most = fields[i].number + 1;
      }
  vtable[0] = (uint16_t)(4 + 2 * most);
  vtable[1] = at;
  int32_t back = vtable[0];
  memcpy(table, &back, sizeof back);
  put(w, vtable, vtable[0]);
  for (int i = 0; i < n; i++)
    if (fields[i].bytes == 0) *fields[i].where = w->n + vtable[2 + fields[i].number];
  put(w, table, at);
}

/* Appends a table at a multiple of 8 and makes the offset at `where` refer to it. */
static void put_table_at(struct writer *w, size_t where, const struct field *fields, int n)
{
  int most = 0;
  for (int i = 0; i < n; i++)
    if (fields[i].number >= most) most = fields[i].number + 1;
  size_t vtable = 4 + 2 * (size_t)most;
  pad(w, 8, vtable);
  w->n += vtable; /* point_here() refers to the table, which follows its vtable */
  point_here(w, where);
  w->n -= vtable;
  put_table(w, fields, n);
}

static void put_vector(struct writer *w, size_t where, const void *data, size_t n,
                       size_t element_bytes)
{
  uint32_t count = (uint32_t)n;
  pad(w, element_bytes == 1 ? 16 : 8, sizeof count);
  point_here(w, where);
  put(w, &count, sizeof count);
  put(w, data, n * element_bytes);
}

static void put_string(struct writer *w, size_t where, const char *text)
{
  put_vector(w, where, text, strlen(text), 1);
  put(w, "", 1);
}

/* Appends a vector of n offsets, which will refer to tables that are appended later. Returns the
 * position of the first offset. */
static size_t put_places(struct writer *w, size_t where, int n)
{
  uint32_t none = 0, count = (uint32_t)n;
  pad(w, 4, 0);
  point_here(w, where);
  put(w, &count, sizeof count);
  size_t first = w->n;
  for (int i = 0; i < n; i++) put(w, &none, sizeof none);
  return first;
}

static void put_quantization(struct writer *w, size_t where, const struct test_tflite_tensor *t)
{
  size_t scales, zero_points;
  float scale = .5f;
  int64_t zero_point = 3;
  put_table_at(w, where,
               (struct field[]){{2, 0, 0, &scales},
                                {3, 0, 0, &zero_points},
                                {6, 4, (uint64_t)t->dimension, NULL}},
               3);
  size_t first = put_places(w, scales, t->n_scales);
  for (int i = 0; i < t->n_scales; i++)
    memcpy(w->data + first + 4 * (size_t)i, t->scales ? &t->scales[i] : &scale, sizeof scale);
  if (t->scales) put_vector(w, zero_points, t->zero_points, (size_t)t->n_zero_points, 8);
  else put_vector(w, zero_points, &zero_point, 1, 8);
}

static void put_tensor(struct writer *w, size_t where, const struct test_tflite_tensor *t,
                       int buffer)
{
  size_t shape, name, quantization, signature, sparsity;
  struct field fields[9] = {{0, 0, 0, &shape},
                            {1, 1, (uint64_t)t->type, NULL},
                            {2, 4, (uint64_t)buffer, NULL},
                            {3, 0, 0, &name},
                            {5, 1, (uint64_t)t->variable, NULL}};
  int n = 5;
  if (t->n_scales) fields[n++] = (struct field){4, 0, 0, &quantization};
  if (t->sparse) fields[n++] = (struct field){6, 0, 0, &sparsity};
  if (t->signature) fields[n++] = (struct field){7, 0, 0, &signature};
  put_table_at(w, where, fields, n);
  put_vector(w, shape, t->shape, (size_t)t->rank, 4);
  put_string(w, name, t->name);
  if (t->n_scales) put_quantization(w, quantization, t);
  if (t->sparse) put_table_at(w, sparsity, NULL, 0);
  if (t->signature) put_vector(w, signature, t->signature, (size_t)t->rank, 4);
}

static uint64_t bits(const struct test_tflite_field *f)
{
  uint32_t value = (uint32_t)f->value;
  if (f->real != 0) memcpy(&value, &f->real, sizeof value);
  return value;
}

static void put_options(struct writer *w, size_t where, const struct test_tflite_operator *o)
{
  struct field fields[TEST_TFLITE_FIELDS];
  size_t lists[TEST_TFLITE_FIELDS];
  for (int i = 0; i < o->n_fields; i++)
    fields[i] =
        (struct field){o->fields[i].number, o->fields[i].bytes, bits(&o->fields[i]), &lists[i]};
  put_table_at(w, where, fields, o->n_fields);
  for (int i = 0; i < o->n_fields; i++)
    if (o->fields[i].bytes == 0)
      put_vector(w, lists[i], o->fields[i].list, (size_t)o->fields[i].n, 4);
}

static void put_operator(struct writer *w, size_t where, const struct test_tflite_operator *o,
                         int code)
{
  size_t inputs, outputs, options, custom;
  struct field fields[7] = {{0, 4, (uint64_t)code, NULL},
                            {1, 0, 0, &inputs},
                            {2, 0, 0, &outputs},
                            {3, 1, (uint64_t)o->options, NULL}};
  int n = 4;
  if (o->options) fields[n++] = (struct field){4, 0, 0, &options};
  if (o->custom_options) fields[n++] = (struct field){5, 0, 0, &custom};
  put_table_at(w, where, fields, n);
  put_vector(w, inputs, o->inputs, (size_t)o->n_inputs, 4);
  put_vector(w, outputs, o->outputs, (size_t)o->n_outputs, 4);
  if (o->options) put_options(w, options, o);
  if (o->custom_options) put_vector(w, custom, o->custom_options, o->custom_bytes, 1);
}

static void put_code(struct writer *w, size_t where, const struct test_tflite_operator *o)
{
  size_t name;
  uint64_t code = (uint64_t)o->code;
  struct field fields[4] = {
      {0, 1, code < 127 ? code : 127, NULL}, {2, 4, 1, NULL}, {3, 4, code, NULL}, {1, 0, 0, &name}};
  put_table_at(w, where, fields, o->custom ? 4 : 3);
  if (o->custom) put_string(w, name, o->custom);
}

/* Returns the index of operator i's code in the file's list of codes. */
static int find_code(const struct test_tflite_model *m, int i)
{
  int code = 0;
  if (m->n_codes == 0) return i;
  while (code < m->n_codes && m->codes[code] != m->operators[i].code) code++;
  return code;
}

/* Appends a subgraph with all tensors and operators. Tensor i uses buffer i + 1, because buffer 0
 * is empty. */
static void put_graph(struct writer *w, size_t where, const struct test_tflite_model *m)
{
  size_t tensors, inputs, outputs, operators;
  put_table_at(
      w, where,
      (struct field[]){
          {0, 0, 0, &tensors}, {1, 0, 0, &inputs}, {2, 0, 0, &outputs}, {3, 0, 0, &operators}},
      4);
  size_t first_tensor = put_places(w, tensors, m->n_tensors),
         first_operator = put_places(w, operators, m->n_operators);
  put_vector(w, inputs, m->inputs, (size_t)m->n_inputs, 4);
  put_vector(w, outputs, m->outputs, (size_t)m->n_outputs, 4);
  for (int i = 0; i < m->n_tensors; i++)
    put_tensor(w, first_tensor + 4 * (size_t)i, &m->tensors[i], i + 1);
  for (int i = 0; i < m->n_operators; i++)
    put_operator(w, first_operator + 4 * (size_t)i, &m->operators[i], find_code(m, i));
}

static void put_buffer(struct writer *w, size_t where, const struct test_tflite_tensor *t)
{
  size_t data;
  put_table_at(w, where, (struct field[]){{0, 0, 0, &data}}, t && t->data);
  if (t && t->data) put_vector(w, data, t->data, t->bytes, 1);
}

static void put_unit(struct writer *w, size_t where, const struct test_tflite_model *m,
                     bool normalizes)
{
  size_t options, means, deviations;
  put_table_at(w, where, (struct field[]){{0, 1, normalizes ? 1 : 3, NULL}, {1, 0, 0, &options}},
               2);
  put_table_at(w, options, (struct field[]){{0, 0, 0, &means}, {1, 0, 0, &deviations}},
               normalizes ? 2 : 0);
  if (!normalizes) return;
  put_vector(w, means, m->means, (size_t)m->n_means, 4);
  put_vector(w, deviations, m->deviations, (size_t)m->n_means, 4);
}

/* Makes the metadata, a FlatBuffers file inside the file. It has the normalization of the first
 * input, after an entry of another kind. */
static struct writer make_metadata(const struct test_tflite_model *m)
{
  struct writer w = {0};
  size_t graphs, inputs, units;
  put(&w, "\0\0\0\0M001", 8);
  put_table_at(&w, 0, (struct field[]){{3, 0, 0, &graphs}}, 1);
  put_table_at(&w, put_places(&w, graphs, 1), (struct field[]){{2, 0, 0, &inputs}}, 1);
  put_table_at(&w, put_places(&w, inputs, 1), (struct field[]){{4, 0, 0, &units}}, 1);
  size_t first = put_places(&w, units, 2);
  put_unit(&w, first, m, false);
  put_unit(&w, first + 4, m, true);
  return w;
}

static void put_metadata(struct writer *w, size_t entries, size_t buffer,
                         const struct test_tflite_model *m)
{
  size_t name, data;
  struct writer inner = make_metadata(m);
  size_t first = put_places(w, entries, 2);
  put_table_at(w, first, (struct field[]){{0, 0, 0, &name}, {1, 4, 0, NULL}}, 2);
  put_string(w, name, "min_runtime_version");
  put_table_at(w, first + 4,
               (struct field[]){{0, 0, 0, &name}, {1, 4, (uint64_t)m->n_tensors + 1, NULL}}, 2);
  put_string(w, name, "TFLITE_METADATA");
  put_table_at(w, buffer, (struct field[]){{0, 0, 0, &data}}, 1);
  put_vector(w, data, inner.data, inner.n, 1);
  free(inner.data);
}

char *test_tflite_write(const struct test_tflite_model *m, size_t *n)
{
  struct writer w = {0};
  size_t codes, graphs, buffers, metadata;
  int n_graphs = m->n_subgraphs ? m->n_subgraphs : 1;
  put(&w, "\0\0\0\0TFL3", 8);
  struct field fields[] = {{0, 4, (uint64_t)(m->version ? m->version : 3), NULL},
                           {1, 0, 0, &codes},
                           {2, 0, 0, &graphs},
                           {4, 0, 0, &buffers},
                           {6, 0, 0, &metadata}};
  put_table_at(&w, 0, fields, m->n_means ? 5 : 4);
  int n_codes = m->n_codes ? m->n_codes : m->n_operators;
  size_t first_code = put_places(&w, codes, n_codes),
         first_graph = put_places(&w, graphs, n_graphs);
  size_t first_buffer = put_places(&w, buffers, m->n_tensors + (m->n_means ? 2 : 1));
  if (m->n_means) put_metadata(&w, metadata, first_buffer + 4 * ((size_t)m->n_tensors + 1), m);
  for (int i = 0; i < n_codes; i++) {
    const struct test_tflite_operator listed = {.code = m->n_codes ? m->codes[i] : 0};
    put_code(&w, first_code + 4 * (size_t)i, m->n_codes ? &listed : &m->operators[i]);
  }
  for (int i = 0; i < n_graphs; i++) put_graph(&w, first_graph + 4 * (size_t)i, m);
  for (int i = 0; i <= m->n_tensors; i++)
    put_buffer(&w, first_buffer + 4 * (size_t)i, i ? &m->tensors[i - 1] : NULL);
  *n = w.n;
  return w.data;
}

int test_tflite_file(const struct test_tflite_model *m)
{
  size_t n;
  char *data = test_tflite_write(m, &n);
  int fd = memfd_create("tflite", MFD_CLOEXEC);
  if (fd >= 0 && write(fd, data, n) != (ssize_t)n) {
    close(fd);
    fd = -1;
  }
  free(data);
  return fd;
}

/* ---- FlexBuffers ---- */

size_t test_flex_write(const struct test_flex_entry *entries, int n, char to[512])
{
  size_t keys[32];
  struct writer w = {0};
  enum { INT_32 = 1 << 2 | 2, FLOAT_32 = 3 << 2 | 2, MAP_32 = 9 << 2 | 2 };
  for (int i = 0; i < n; i++) {
    keys[i] = w.n;
    put(&w, entries[i].key, strlen(entries[i].key) + 1);
  }
  pad(&w, 4, 0);
  put(&w, &(uint32_t){(uint32_t)n}, 4);
  size_t key_vector = w.n;
  for (int i = 0; i < n; i++) put(&w, &(uint32_t){(uint32_t)(w.n - keys[i])}, 4);
  uint32_t head[3] = {(uint32_t)(w.n - key_vector), 4, (uint32_t)n};
  put(&w, head, sizeof head);
  size_t values = w.n;
  for (int i = 0; i < n; i++)
    put(&w, entries[i].real != 0 ? (const void *)&entries[i].real : &entries[i].whole, 4);
  for (int i = 0; i < n; i++)
    put(&w, entries[i].real != 0 ? (const char[]){FLOAT_32} : (const char[]){INT_32}, 1);
  const unsigned char root[3] = {(unsigned char)(w.n - values), MAP_32, 1};
  put(&w, root, sizeof root);
  if (w.n > 512) abort();
  memcpy(to, w.data, w.n);
  free(w.data);
  return w.n;
}
