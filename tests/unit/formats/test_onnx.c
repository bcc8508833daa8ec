/* Covers formats/onnx/{model, node, order, tensor, wire, graph, numbers}.c, formats/graph/given.c:
 * reading of ONNX files, written in all ways that the format allows, with constants in the file
 * itself or in other files; invalid and damaged files are refused and do no harm. Writes folders in
 * /tmp. */
#include "formats/onnx/onnx.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/tree.h"
#include "tests/support/onnx_models.h"
#include "tests/support/random.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

Suite *onnx_suite(void);

static struct mafat_diagnostic diagnostic;

/* ---- reading ---- */

/* A file in memory, and the model read from it. */
struct held {
  struct mafat_model_file *file;
  struct mafat_onnx *model;
  int code;
};

static void write_fd(int fd, const char *data, size_t n)
{
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, data, n), (ssize_t)n);
}

static struct held read_path(const char *path)
{
  struct held h = {0};
  diagnostic.text[0] = 0;
  ck_assert_msg(mafat_model_file_open(&h.file, path, &diagnostic) == MAFAT_OK, "%s",
                diagnostic.text);
  h.code = mafat_onnx_read(&h.model, h.file, &diagnostic);
  ck_assert((h.code == MAFAT_OK) == (h.model != NULL));
  ck_assert_msg(h.code == MAFAT_OK || (strncmp(diagnostic.text, path, strlen(path)) == 0 &&
                                       !strchr(diagnostic.text, '\n')),
                "%s", diagnostic.text);
  return h;
}

static struct held read_bytes(const char *data, size_t n)
{
  char path[64];
  int fd = memfd_create("onnx", MFD_CLOEXEC);
  write_fd(fd, data, n);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  struct held h = read_path(path);
  close(fd);
  return h;
}

/* Reads a message, and frees it. */
static struct held read_message(struct test_message *m)
{
  struct held h = read_bytes(m->data, m->n);
  free(m->data);
  return h;
}

static struct held read_good(struct test_message m)
{
  struct held h = read_message(&m);
  ck_assert_msg(h.code == MAFAT_OK, "%s", diagnostic.text);
  return h;
}

static void release(struct held *h)
{
  mafat_onnx_close(&h->model);
  mafat_model_file_close(&h->file);
}

static const struct mafat_onnx_attribute *attribute(const struct held *h, int node,
                                                    const char *name,
                                                    enum mafat_onnx_attribute_type type)
{
  const struct mafat_onnx_attribute *a = mafat_onnx_attribute(&h->model->nodes[node], name);
  ck_assert_msg(a && a->type == (int)type, "%s", name);
  return a;
}

START_TEST(nodes_are_read)
{
  struct held h = read_good(test_onnx_whole());
  const struct mafat_onnx_node *n = h.model->nodes;
  ck_assert(h.model->n_nodes == 6 && h.model->ir_version == 8);
  ck_assert(mafat_onnx_opset(h.model, "") == 13 && mafat_onnx_opset(h.model, "ai.onnx") == 13 &&
            mafat_onnx_opset(h.model, "ai.onnx.ml") == 0);
  ck_assert(strcmp(n[0].op_type, "Conv") == 0 && strcmp(n[0].name, "stem/conv") == 0 &&
            strcmp(n[0].domain, "") == 0);
  ck_assert(n[0].n_inputs == 3 && n[0].n_outputs == 1 && n[0].n_attributes == 4);
  ck_assert_str_eq(n[0].inputs[1]->name, "w");
  ck_assert(n[1].n_inputs == 3 && n[1].inputs[1] == NULL && n[1].inputs[0] == n[0].outputs[0] &&
            n[1].n_attributes == 0);
  ck_assert_str_eq(n[2].name, "");
  const struct mafat_onnx_attribute *pads = attribute(&h, 0, "pads", MAFAT_ONNX_ATTRIBUTE_INTS);
  ck_assert(pads->n == 4 && pads->as.ints[3] == 1);
  ck_assert_int_eq(attribute(&h, 0, "group", MAFAT_ONNX_ATTRIBUTE_INT)->as.i, 1);
  ck_assert_int_eq(attribute(&h, 5, "allowzero", MAFAT_ONNX_ATTRIBUTE_INT)->as.i, -1);
  ck_assert_str_eq(attribute(&h, 0, "auto_pad", MAFAT_ONNX_ATTRIBUTE_STRING)->as.s, "NOTSET");
  ck_assert(attribute(&h, 2, "alpha", MAFAT_ONNX_ATTRIBUTE_FLOAT)->as.f == .125f);
  const struct mafat_onnx_attribute *scales =
      attribute(&h, 3, "scales", MAFAT_ONNX_ATTRIBUTE_FLOATS);
  ck_assert(scales->n == 4 && scales->as.floats[2] == 2);
  ck_assert_int_eq(attribute(&h, 3, "empty", MAFAT_ONNX_ATTRIBUTE_INTS)->n, 0);
  const struct mafat_onnx_tensor *t = attribute(&h, 4, "value", MAFAT_ONNX_ATTRIBUTE_TENSOR)->as.t;
  ck_assert(t->type == MAFAT_ONNX_INT64 && t->n == 3 && t->form == MAFAT_ONNX_WIRE);
  release(&h);
}
END_TEST

START_TEST(values_are_read)
{
  struct held h = read_good(test_onnx_whole());
  const struct mafat_onnx *m = h.model;
  ck_assert(m->n_inputs == 2 && m->n_outputs == 1 && mafat_onnx_n_values(m) == 11 &&
            !mafat_onnx_value_of(m, "z"));
  const struct mafat_onnx_value *x = mafat_onnx_value_of(m, "x"), *w = mafat_onnx_value_of(m, "w"),
                                *y = mafat_onnx_value_of(m, "y");
  ck_assert(x == m->inputs[0] && x->is_input && x->makers == 0 && x->node == -1 &&
            !x->initializer && x == mafat_onnx_value(m, x->index));
  ck_assert(x->info->type == MAFAT_ONNX_FLOAT && x->info->rank == 4 && x->info->dims[1].n == 2 &&
            !x->info->dims[0].param);
  ck_assert(w == m->inputs[1] && w->makers == 1 && w->initializer->rank == 4 &&
            w->initializer->dims[0] == 3 && w->initializer->n == 54);
  ck_assert(w->initializer->form == MAFAT_ONNX_PLACE && w->initializer->bytes == 216 &&
            w->initializer->file == 0 && w->initializer->name == w->name);
  ck_assert(y == m->outputs[0] && y->node == 5 && y->makers == 1 && y->info->dims[0].n == -1 &&
            y->info->dims[1].n == 6);
  ck_assert_str_eq(y->info->dims[0].param, "batch");
  ck_assert(mafat_onnx_value_of(m, "d")->info == NULL && mafat_onnx_value_of(m, "d")->node == 1);
  const struct mafat_onnx_tensor *scalar = mafat_onnx_value_of(m, "most")->initializer,
                                 *nothing = mafat_onnx_value_of(m, "nothing")->initializer;
  ck_assert(scalar->rank == 0 && scalar->n == 1 && nothing->rank == 1 && nothing->n == 0 &&
            nothing->bytes == 0);
  release(&h);
}
END_TEST

/* ---- numbers in all types, and in all ways of writing them ---- */

static const int number_types[] = {MAFAT_ONNX_FLOAT,  MAFAT_ONNX_UINT8, MAFAT_ONNX_INT8,
                                   MAFAT_ONNX_UINT16, MAFAT_ONNX_INT16, MAFAT_ONNX_INT32,
                                   MAFAT_ONNX_INT64,  MAFAT_ONNX_BOOL,  MAFAT_ONNX_DOUBLE,
                                   MAFAT_ONNX_UINT32, MAFAT_ONNX_UINT64};
enum { N_NUMBER_TYPES = sizeof number_types / sizeof *number_types };

static const int64_t two_by_three[] = {2, 3};
static const double whole[] = {0, 1, 7, 100, 2, 127}, negative[] = {0, -1, -7, -128, 2, 127},
                    flags[] = {0, 1, 1, 0, 0, 1};
static const double large[] = {0, 3e9, 4294967295., 1, 2, 3},
                    wide[] = {-9007199254740992., 9007199254740991., -1, 1e15, 2, 3};

static const double *values_of(int type)
{
  switch (type) {
  case MAFAT_ONNX_BOOL: return flags;
  case MAFAT_ONNX_UINT8:
  case MAFAT_ONNX_UINT16: return whole;
  case MAFAT_ONNX_UINT32:
  case MAFAT_ONNX_UINT64: return large;
  case MAFAT_ONNX_INT64:
  case MAFAT_ONNX_DOUBLE: return wide;
  default: return negative;
  }
}

static void check_numbers(const struct mafat_onnx *m, const struct mafat_onnx_tensor *t,
                          const double *expected)
{
  double doubles[6];
  int64_t ints[6];
  for (size_t first = 0; first <= 6; first++)
    for (size_t n = 0; first + n <= 6; n++) {
      int code = mafat_onnx_tensor_doubles(m, t, first, n, doubles, &diagnostic);
      ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
      for (size_t i = 0; i < n; i++)
        ck_assert_msg(doubles[i] == expected[first + i], "expected %g, found %g",
                      expected[first + i], doubles[i]);
      code = mafat_onnx_tensor_ints(m, t, first, n, ints, &diagnostic);
      ck_assert_int_eq(code, t->type == MAFAT_ONNX_FLOAT || t->type == MAFAT_ONNX_DOUBLE
                                 ? MAFAT_EUNSUPPORTED
                                 : MAFAT_OK);
      for (size_t i = 0; i < n && code == MAFAT_OK; i++)
        ck_assert_int_eq(ints[i], (int64_t)expected[first + i]);
    }
  ck_assert_int_eq(mafat_onnx_tensor_doubles(m, t, 0, 7, doubles, &diagnostic), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_onnx_tensor_doubles(m, t, 7, 0, doubles, &diagnostic), MAFAT_EINVAL);
}

START_TEST(numbers_are_read)
{
  int type = number_types[_i % N_NUMBER_TYPES];
  enum test_onnx_style style = (enum test_onnx_style)(_i / N_NUMBER_TYPES);
  struct test_onnx_tensor wanted = {.name = "t",
                                    .type = type,
                                    .rank = 2,
                                    .dims = two_by_three,
                                    .values = values_of(type),
                                    .style = style};
  struct held h = read_good(test_onnx_of_tensor(&wanted));
  const struct mafat_onnx_tensor *t = mafat_onnx_value_of(h.model, "t")->initializer;
  bool floats = type == MAFAT_ONNX_FLOAT || type == MAFAT_ONNX_DOUBLE;
  ck_assert_int_eq(t->form == MAFAT_ONNX_PLACE,
                   style == TEST_ONNX_RAW || (style == TEST_ONNX_TYPED && floats));
  ck_assert(t->n == 6 && t->type == type &&
            (t->form == MAFAT_ONNX_WIRE || t->bytes == 6 * mafat_onnx_type_bytes(type)));
  check_numbers(h.model, t, wanted.values);
  release(&h);
}
END_TEST

/* A uint64 that int64 cannot hold, and texts, are refused as numbers. */
START_TEST(invalid_numbers_are_refused)
{
  int64_t number;
  double value;
  struct test_message graph = {0}, t = {0}, inner = {0};
  test_put_int(&t, 2, MAFAT_ONNX_UINT64);
  test_put_text(&t, 8, "most");
  test_put_varint(&inner, UINT64_MAX);
  test_put_message(&t, 11, &inner);
  test_put_message(&graph, 5, &t);
  test_put_int(&t, 2, MAFAT_ONNX_STRING);
  test_put_text(&t, 8, "text");
  test_put_text(&t, 6, "some");
  test_put_message(&graph, 5, &t);
  struct held h = read_good(test_onnx_model(&graph, 13));
  const struct mafat_onnx_tensor *most = mafat_onnx_value_of(h.model, "most")->initializer,
                                 *text = mafat_onnx_value_of(h.model, "text")->initializer;
  ck_assert_int_eq(mafat_onnx_tensor_ints(h.model, most, 0, 1, &number, &diagnostic),
                   MAFAT_EFORMAT);
  ck_assert(mafat_onnx_tensor_doubles(h.model, most, 0, 1, &value, &diagnostic) == MAFAT_OK &&
            value == 18446744073709551616.);
  ck_assert_int_eq(mafat_onnx_tensor_doubles(h.model, text, 0, 1, &value, &diagnostic),
                   MAFAT_EUNSUPPORTED);
  release(&h);
}
END_TEST

/* ---- other files ---- */

static char folder[64], model_path[96], data_path[96], tensor_path[96];

static void make_folder(void)
{
  strcpy(folder, "/tmp/mafat-test-XXXXXX");
  ck_assert(mkdtemp(folder) != NULL);
  snprintf(model_path, sizeof model_path, "%s/model.onnx", folder);
  snprintf(data_path, sizeof data_path, "%s/weights.bin", folder);
  snprintf(tensor_path, sizeof tensor_path, "%s/input_0.pb", folder);
}

static void remove_folder(void)
{
  unlink(model_path);
  unlink(data_path);
  unlink(tensor_path);
  rmdir(folder);
}

static struct held read_external(const char *location, const char *offset, const char *length)
{
  struct test_onnx_tensor t = {.name = "t",
                               .type = MAFAT_ONNX_FLOAT,
                               .rank = 2,
                               .dims = two_by_three,
                               .style = TEST_ONNX_EXTERNAL,
                               .location = location,
                               .offset = offset,
                               .length = length};
  struct test_message m = test_onnx_of_tensor(&t);
  test_write_file(model_path, m.data, m.n);
  free(m.data);
  return read_path(model_path);
}

/* Numbers in another file are read from it when needed, not with the graph. */
START_TEST(external_data_is_read_when_needed)
{
  float floats[14] = {0};
  double found[6];
  for (int i = 0; i < 14; i++) floats[i] = (float)i;
  test_write_file(data_path, floats, sizeof floats);
  struct held h = read_external("./weights.bin", "32", "24");
  ck_assert_msg(h.code == MAFAT_OK, "%s", diagnostic.text);
  const struct mafat_onnx_tensor *t = mafat_onnx_value_of(h.model, "t")->initializer;
  ck_assert(t->form == MAFAT_ONNX_PLACE && t->file == 1 && t->at == 32 && t->bytes == 24 &&
            mafat_onnx_n_files(h.model) == 2);
  ck_assert_str_eq(mafat_onnx_path(h.model, 0), model_path);
  ck_assert(mafat_onnx_tensor_doubles(h.model, t, 0, 6, found, &diagnostic) == MAFAT_OK &&
            found[0] == 8 && found[5] == 13);
  unlink(data_path); /* the graph can be read without this file, the numbers cannot */
  ck_assert_int_eq(mafat_onnx_tensor_doubles(h.model, t, 0, 6, found, &diagnostic), MAFAT_EIO);
  test_write_file(data_path, floats, 32 + 23);
  ck_assert_int_eq(mafat_onnx_tensor_doubles(h.model, t, 0, 6, found, &diagnostic),
                   MAFAT_EIO); /* the file was replaced */
  release(&h);
  h = read_external("./weights.bin", "32", "24");
  ck_assert_msg(h.code == MAFAT_OK, "%s", diagnostic.text);
  t = mafat_onnx_value_of(h.model, "t")->initializer;
  ck_assert_int_eq(mafat_onnx_tensor_doubles(h.model, t, 0, 6, found, &diagnostic),
                   MAFAT_EFORMAT); /* the file is shorter than the graph says */
  release(&h);
}
END_TEST

static const struct {
  const char *location, *offset, *length;
  int code;
} externals[] = {
    {"weights.bin", NULL, NULL, MAFAT_OK},
    {"a/..b/c..", "0", "24", MAFAT_OK},
    {NULL, "0", "24", MAFAT_EFORMAT},
    {"", "0", "24", MAFAT_EUNSUPPORTED},
    {"/etc/passwd", "0", "24", MAFAT_EUNSUPPORTED},
    {"..", "0", "24", MAFAT_EUNSUPPORTED},
    {"../weights.bin", "0", "24", MAFAT_EUNSUPPORTED},
    {"a/../../b", "0", "24", MAFAT_EUNSUPPORTED},
    {"a/..", "0", "24", MAFAT_EUNSUPPORTED},
    {"a", "0", "23", MAFAT_EFORMAT},
    {"a", "0", "0", MAFAT_EFORMAT},
    {"a", "-1", "24", MAFAT_EFORMAT},
    {"a", "", "24", MAFAT_EFORMAT},
    {"a", "1e3", "24", MAFAT_EFORMAT},
    {"a", "18446744073709551600", "24", MAFAT_EFORMAT},
    {"a", "99999999999999999999", "24", MAFAT_EFORMAT},
};

START_TEST(external_data_stays_in_the_folder)
{
  struct held h = read_external(externals[_i].location, externals[_i].offset, externals[_i].length);
  ck_assert_msg(h.code == externals[_i].code, "%d: %s", h.code, diagnostic.text);
  ck_assert_msg(h.code == MAFAT_OK || strstr(diagnostic.text, "initializer 0 \"t\""), "%s",
                diagnostic.text);
  release(&h);
}
END_TEST

/* Links: the file's location leads to /etc/passwd, by itself or by a folder, or to another file of
 * the model's folder. */
static const struct {
  const char *link, *target, *location;
  int code;
} links[] = {
    {"weights.bin", "/etc/passwd", "weights.bin", MAFAT_EUNSUPPORTED},
    {"weights.bin", "/etc", "weights.bin/passwd", MAFAT_EUNSUPPORTED},
    {"weights.bin", "../../etc/passwd", "./weights.bin", MAFAT_EUNSUPPORTED},
    {"weights.bin", "model.onnx", "weights.bin", MAFAT_OK},
    {"weights.bin", ".", "weights.bin/model.onnx", MAFAT_OK},
    {"weights.bin", "/nowhere/at all", "weights.bin", MAFAT_OK}, /* not opened yet */
};

START_TEST(external_data_follows_no_link_out_of_the_folder)
{
  ck_assert_int_eq(symlink(links[_i].target, data_path), 0);
  struct held h = read_external(links[_i].location, "0", "24");
  ck_assert_msg(h.code == links[_i].code, "%d: %s", h.code, diagnostic.text);
  ck_assert_msg(h.code == MAFAT_OK || strstr(diagnostic.text, "a symbolic link out of it"), "%s",
                diagnostic.text);
  release(&h);
}
END_TEST

/* Caches of downloaded models have links to the files of one folder, for model and data. */
START_TEST(linked_models_have_their_data_beside_their_target)
{
  char blobs[128], model[160], data[160];
  snprintf(blobs, sizeof blobs, "%s/blobs", folder);
  snprintf(model, sizeof model, "%s/12ab", blobs);
  snprintf(data, sizeof data, "%s/34cd", blobs);
  ck_assert_int_eq(mkdir(blobs, 0700), 0);
  test_write_file(data, "", 0);
  ck_assert_int_eq(symlink(data, data_path), 0);
  struct held h = read_external("weights.bin", "0", "24");
  ck_assert_int_eq(h.code, MAFAT_OK); /* below the folder */
  release(&h);
  char apart[64] = "/tmp/mafat-test-XXXXXX";
  ck_assert(mkdtemp(apart) != NULL);
  snprintf(data, sizeof data, "%s/56ef", apart);
  test_write_file(data, "", 0);
  unlink(data_path);
  ck_assert_int_eq(symlink(data, data_path), 0);
  h = read_external("weights.bin", "0", "24");
  ck_assert_int_eq(h.code, MAFAT_EUNSUPPORTED); /* the data alone is elsewhere */
  release(&h);
  snprintf(model, sizeof model, "%s/12ab", apart);
  ck_assert_int_eq(rename(model_path, model), 0);
  ck_assert_int_eq(symlink(model, model_path), 0);
  h = read_path(model_path);
  ck_assert_msg(h.code == MAFAT_OK, "%s", diagnostic.text);
  release(&h);
  unlink(model);
  unlink(data);
  rmdir(apart);
  snprintf(data, sizeof data, "%s/34cd", blobs);
  unlink(data);
  rmdir(blobs);
}
END_TEST

/* Reads a model with a tensor of two floats, which has raw bytes and the fields that `add` adds. */
static struct held read_ambiguous(void (*add)(struct test_message *t))
{
  struct test_message graph = {0}, t = {0};
  test_put_int(&t, 1, 2);
  test_put_int(&t, 2, MAFAT_ONNX_FLOAT);
  test_put_text(&t, 8, "pair");
  add(&t);
  test_put_message(&graph, 5, &t);
  struct test_message m = test_onnx_model(&graph, 13);
  struct held h = read_message(&m);
  return h;
}

static void put_entry(struct test_message *t, const char *key, const char *value)
{
  struct test_message entry = {0};
  test_put_text(&entry, 1, key);
  test_put_text(&entry, 2, value);
  test_put_message(t, 13, &entry);
}

static void put_outside(struct test_message *t)
{
  put_entry(t, "location", "pair.data");
  test_put_int(t, 14, 1);
}

static void two_locations(struct test_message *t)
{
  put_outside(t);
  put_entry(t, "location", "other.data");
}

static void two_lengths(struct test_message *t)
{
  put_outside(t);
  put_entry(t, "length", "8");
  put_entry(t, "length", "8");
}

static void two_offsets(struct test_message *t)
{
  put_outside(t);
  put_entry(t, "offset", "0");
  put_entry(t, "offset", "4096");
}

static void raw_too(struct test_message *t)
{
  put_outside(t);
  test_put_data(t, 9, "12345678", 8);
}

static void typed_too(struct test_message *t)
{
  put_outside(t);
  test_put_data(t, 4, "12345678", 8);
}

static void located_here(struct test_message *t)
{
  put_entry(t, "location", "pair.data");
  test_put_data(t, 9, "12345678", 8);
}

static void nothing_here(struct test_message *t)
{
  put_outside(t);
  put_entry(t, "checksum", "1");
  put_entry(t, "checksum", "2");
  test_put_data(t, 9, "", 0);
}

static const struct {
  void (*add)(struct test_message *t);
  const char *message; /* NULL: read */
} ambiguous[] = {
    {two_locations, "one location of external data"},
    {two_lengths, "one length of external data"},
    {two_offsets, "one offset of external data"},
    {raw_too, "here and in a file"},
    {typed_too, "here and in a file"},
    {located_here, "here and in a file"},
    {nothing_here, NULL},
};

START_TEST(external_data_has_one_place)
{
  struct held h = read_ambiguous(ambiguous[_i].add);
  const char *message = ambiguous[_i].message;
  ck_assert_msg(h.code == (message ? MAFAT_EFORMAT : MAFAT_OK) &&
                    (!message || strstr(diagnostic.text, message)),
                "%d: %s", h.code, diagnostic.text);
  release(&h);
}
END_TEST

START_TEST(tensors_of_other_files_are_bound)
{
  double found[6];
  struct held h = read_good(test_onnx_whole());
  struct test_message t = test_onnx_tensor(&(struct test_onnx_tensor){.type = MAFAT_ONNX_INT32,
                                                                      .rank = 2,
                                                                      .dims = two_by_three,
                                                                      .values = negative,
                                                                      .style = TEST_ONNX_TYPED});
  test_write_file(tensor_path, t.data, t.n);
  ck_assert_int_eq(mafat_onnx_bind(h.model, "x", tensor_path, &diagnostic), MAFAT_OK);
  ck_assert_int_eq(mafat_onnx_bind(h.model, "w", tensor_path, &diagnostic), MAFAT_OK);
  const struct mafat_onnx_value *x = mafat_onnx_value_of(h.model, "x"),
                                *w = mafat_onnx_value_of(h.model, "w");
  ck_assert(x->makers == 1 && w->makers == 1 && x->initializer->file == 1 &&
            x->initializer->name == x->name);
  ck_assert(mafat_onnx_tensor_doubles(h.model, x->initializer, 0, 6, found, &diagnostic) ==
                MAFAT_OK &&
            memcmp(found, negative, sizeof found) == 0);
  ck_assert_int_eq(mafat_onnx_bind(h.model, "y", tensor_path, &diagnostic), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_onnx_bind(h.model, "z", tensor_path, &diagnostic), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_onnx_bind(h.model, "x", data_path, &diagnostic), MAFAT_EIO);
  test_write_file(tensor_path, t.data, t.n - 1);
  ck_assert_int_eq(mafat_onnx_bind(h.model, "x", tensor_path, &diagnostic), MAFAT_EFORMAT);
  ck_assert_str_eq(x->initializer->name, "x"); /* the file bound before */
  free(t.data);
  release(&h);
}
END_TEST

/* Binds a graph input of `rank` dimensions, the first of which is unknown. */
static int bind_numbers(const char *path, int rank, const char *data, size_t n, long long *first)
{
  static const int64_t dims[] = {-1, 3, -1};
  struct test_message graph = {0};
  test_onnx_input(&graph, "x", rank, dims);
  struct held h = read_good(test_onnx_model(&graph, 13));
  test_write_file(path, data, n);
  int code = mafat_onnx_bind(h.model, "x", path, &diagnostic);
  const struct mafat_onnx_tensor *t = mafat_onnx_value_of(h.model, "x")->initializer;
  ck_assert((code == MAFAT_OK) == (t != NULL));
  *first = t ? t->dims[0] : -1;
  if (t)
    ck_assert(t->rank == rank && t->form == MAFAT_ONNX_PLACE && t->file == 1 &&
              t->at + t->bytes == n && t->type == MAFAT_ONNX_FLOAT);
  release(&h);
  return code;
}

START_TEST(arrays_of_other_files_are_bound)
{
  char bytes[128 + 24] = "\x93NUMPY\1";
  const char *text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  long long first;
  bytes[8] = 118;
  memset(bytes + 10, ' ', 118);
  memcpy(bytes + 10, text, strlen(text));
  ck_assert_msg(bind_numbers(data_path, 2, bytes, sizeof bytes, &first) == MAFAT_OK, "%s",
                diagnostic.text);
  ck_assert_int_eq(first, 2);
  ck_assert_int_eq(bind_numbers(data_path, 2, bytes, sizeof bytes - 1, &first), MAFAT_EFORMAT);
  ck_assert_int_eq(bind_numbers(data_path, 1, bytes, sizeof bytes, &first), MAFAT_EFORMAT);
  for (size_t n = 7; n < 128; n += 11)
    ck_assert_int_ne(bind_numbers(data_path, 2, bytes, n, &first), MAFAT_OK);
  ck_assert_msg(bind_numbers(data_path, 2, bytes + 128, 24, &first) == MAFAT_OK, "%s",
                diagnostic.text); /* a file of raw numbers */
  ck_assert_int_eq(first, 2);
  ck_assert_int_eq(bind_numbers(data_path, 2, bytes + 128, 20, &first), MAFAT_EFORMAT);
  ck_assert_int_eq(bind_numbers(data_path, 3, bytes + 128, 24, &first),
                   MAFAT_EINVAL); /* two dimensions are unknown */
  ck_assert_int_eq(bind_numbers(data_path, -1, bytes + 128, 24, &first), MAFAT_EINVAL);
  ck_assert_int_eq(bind_numbers(tensor_path, 2, bytes + 128, 24, &first),
                   MAFAT_EFORMAT); /* not a message of a tensor */
}
END_TEST

/* A tensor in another file without offset and length is the whole file. */
START_TEST(a_tensor_may_be_all_of_a_file)
{
  struct mafat_model_file *file;
  struct mafat_onnx *m;
  const struct mafat_onnx_tensor *t;
  double found[6];
  struct test_message bytes = test_onnx_tensor(&(struct test_onnx_tensor){
      .name = "t", .type = MAFAT_ONNX_DOUBLE, .rank = 2, .dims = two_by_three, .values = wide});
  test_write_file(tensor_path, bytes.data, bytes.n);
  ck_assert_int_eq(mafat_model_file_open(&file, tensor_path, &diagnostic), MAFAT_OK);
  ck_assert_int_eq(mafat_onnx_read_one(&m, &t, file, &diagnostic), MAFAT_OK);
  ck_assert(t->rank == 2 && t->dims[1] == 3 && strcmp(t->name, "t") == 0 && m->n_nodes == 0);
  ck_assert(mafat_onnx_tensor_doubles(m, t, 0, 6, found, &diagnostic) == MAFAT_OK &&
            memcmp(found, wide, sizeof found) == 0);
  mafat_onnx_close(&m);
  mafat_model_file_close(&file);
  test_write_file(tensor_path, bytes.data, bytes.n - 1);
  ck_assert_int_eq(mafat_model_file_open(&file, tensor_path, &diagnostic), MAFAT_OK);
  ck_assert(mafat_onnx_read_one(&m, &t, file, &diagnostic) == MAFAT_EFORMAT && !m && !t);
  mafat_model_file_close(&file);
  free(bytes.data);
}
END_TEST

/* ---- damage ---- */

START_TEST(files_cut_anywhere_are_refused)
{
  struct test_message m = test_onnx_sample((unsigned)_i);
  for (size_t n = 0; n < m.n; n++) {
    struct held h = read_bytes(m.data, n);
    ck_assert_msg(h.code == MAFAT_EFORMAT, "%zu of %zu bytes: %d %s", n, m.n, h.code,
                  diagnostic.text);
    release(&h);
  }
  free(m.data);
}
END_TEST

/* Reads all numbers and attributes of a damaged model; sanitizers would report faults. */
static void read_everything(const struct held *h)
{
  static double doubles[64];
  static int64_t ints[64];
  for (int i = 0; h->model && i < mafat_onnx_n_values(h->model); i++) {
    const struct mafat_onnx_tensor *t = mafat_onnx_value(h->model, i)->initializer;
    size_t n = t && t->n < 64 ? (size_t)t->n : 64;
    if (!t) continue;
    diagnostic.text[0] = 0;
    ck_assert(mafat_onnx_tensor_doubles(h->model, t, 0, n, doubles, &diagnostic) == MAFAT_OK ||
              diagnostic.text[0]);
    diagnostic.text[0] = 0;
    ck_assert(mafat_onnx_tensor_ints(h->model, t, 0, n, ints, &diagnostic) == MAFAT_OK ||
              diagnostic.text[0]);
  }
}

START_TEST(any_changed_byte_does_no_harm)
{
  static const unsigned char changes[] = {0x01, 0x80, 0xff, 0x08};
  struct test_message m = test_onnx_sample((unsigned)_i);
  for (size_t at = 0; at < m.n; at++)
    for (size_t k = 0; k < sizeof changes; k++) {
      m.data[at] = (char)(m.data[at] ^ changes[k]);
      struct held h = read_bytes(m.data, m.n);
      read_everything(&h);
      release(&h);
      m.data[at] = (char)(m.data[at] ^ changes[k]);
    }
  free(m.data);
}
END_TEST

/* The message into which a case's bytes are put. */
enum place { FILE_OF, MODEL, GRAPH, NODE, ATTRIBUTE, TENSOR, INPUT };

#define BYTES(text) text, sizeof text - 1
static const struct {
  enum place place;
  const char *bytes;
  size_t n;
  int code;
  const char *message;
} damages[] = {
    {FILE_OF, BYTES(""), MAFAT_EFORMAT, "one graph, found 0"},
    {FILE_OF, BYTES("[net]\nwidth=8\n"), MAFAT_EFORMAT, "a group"},
    {FILE_OF, BYTES("\x08\x08\x3a\x00"), MAFAT_EFORMAT, "operator set, found none"},
    {FILE_OF, BYTES("\x3a\x00\x42\x02\x10\x0d"), MAFAT_EFORMAT, "version, found 0"},
    {FILE_OF, BYTES("\x08\x08\x3a\x00\x3a\x00\x42\x02\x10\x0d"), MAFAT_EFORMAT,
     "one graph, found 2"},
    {MODEL, BYTES("\xa2\x01\x00"), MAFAT_EUNSUPPORTED, "training"},
    {MODEL, BYTES("\xca\x01\x00"), MAFAT_EUNSUPPORTED, "functions"},
    {MODEL, BYTES("\x42\x00"), MAFAT_EFORMAT, "version of an operator set, found 0"},
    {MODEL, BYTES("\x03\x00"), MAFAT_EFORMAT, "found number 0"},
    {MODEL, BYTES("\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), MAFAT_EFORMAT,
     "at most 64 bits"},
    {MODEL, BYTES("\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02"), MAFAT_EFORMAT,
     "at most 64 bits"},
    {MODEL, BYTES("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), MAFAT_EFORMAT,
     "found a length of 18446744073709551615"},
    {MODEL, BYTES("\x1e\x00"), MAFAT_EFORMAT, "found 6"},
    {MODEL, BYTES("\xf8\xff\xff\xff\xff\x01\x00"), MAFAT_EFORMAT, "expected a field"},
    {GRAPH, BYTES("\x7a\x00"), MAFAT_EUNSUPPORTED, "sparse initializers"},
    {GRAPH, BYTES("\x08\x01"), MAFAT_EFORMAT, "node 1: expected field 1"},
    {GRAPH, BYTES("\x0a\x02\x0a\x00"), MAFAT_EFORMAT, "node 1: expected an operator"},
    {GRAPH, BYTES("\x2a\x02\x10\x01"), MAFAT_EFORMAT,
     "initializer 0: expected 1 numbers of type float, found 0"},
    {GRAPH, BYTES("\x2a\x08\x10\x01\x25\x00\x00\x00\x00\x42"), MAFAT_EFORMAT,
     "expected a number of at most"},
    {GRAPH, BYTES("\x2a\x07\x10\x01\x25\x00\x00\x00\x00"), MAFAT_EFORMAT,
     "an initializer with a name"},
    {GRAPH, BYTES("\x5a\x00"), MAFAT_EFORMAT, "input 0: expected a name"},
    {NODE, BYTES("\x0a\x03\x61\x00\x62"), MAFAT_EFORMAT, "node 0 (Relu \"r\"): expected text"},
    {NODE, BYTES("\x2a\x07\x0a\x01\x61\x18\x01\xa0\x01"), MAFAT_EFORMAT,
     "attribute \"a\": expected a number"},
    {NODE, BYTES("\x2a\x05\x0a\x01\x61\x18\x01\x2a\x05\x0a\x01\x61\x18\x02"), MAFAT_EFORMAT,
     "attribute \"a\": expected an attribute once"},
    {ATTRIBUTE, BYTES(""), MAFAT_EFORMAT, "a name and a type, found type 0"},
    {ATTRIBUTE, BYTES("\xa0\x01\x0f"), MAFAT_EFORMAT, "a name and a type, found type 15"},
    {ATTRIBUTE, BYTES("\xaa\x01\x01\x78"), MAFAT_EUNSUPPORTED, "attribute of a function"},
    {ATTRIBUTE, BYTES("\xa0\x01\x04"), MAFAT_EFORMAT,
     "(Relu \"r\"): attribute \"a\": expected a tensor, found none"},
    {ATTRIBUTE, BYTES("\x18\x01\xa0\x01\x01\x10\x01"), MAFAT_EFORMAT, "expected field 2"},
    {ATTRIBUTE, BYTES("\xa0\x01\x06\x3a\x05\x00\x00\x00\x00\x00"), MAFAT_EFORMAT,
     "numbers of 4 bytes each"},
    {ATTRIBUTE, BYTES("\xa0\x01\x07\x42\x02\x01\x80"), MAFAT_EFORMAT, "at most 64 bits"},
    {ATTRIBUTE, BYTES("\xa0\x01\x07\x45\x00\x00\x00\x00"), MAFAT_EFORMAT, "expected field 8"},
    {TENSOR, BYTES(""), MAFAT_EUNSUPPORTED, "type 1 to 16, found 0"},
    {TENSOR, BYTES("\x10\x16"), MAFAT_EUNSUPPORTED, "type 1 to 16, found 22"},
    {TENSOR, BYTES("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), MAFAT_EUNSUPPORTED, "found -1"},
    {TENSOR, BYTES("\x10\x01\x1a\x00"), MAFAT_EUNSUPPORTED, "segments"},
    {TENSOR, BYTES("\x10\x01\x70\x02"), MAFAT_EUNSUPPORTED, "location 2"},
    {TENSOR, BYTES("\x10\x01\x70\x01"), MAFAT_EFORMAT, "location of external data, found none"},
    {TENSOR, BYTES("\x10\x01\x08\x02\x4a\x04\x00\x00\x00\x00"), MAFAT_EFORMAT,
     "expected 8 bytes of raw data for 2 elements of type float, found 4"},
    {TENSOR, BYTES("\x10\x08\x4a\x01\x00"), MAFAT_EFORMAT, "raw data"},
    {TENSOR, BYTES("\x10\x01\x48\x00"), MAFAT_EFORMAT, "raw data"},
    {TENSOR, BYTES("\x10\x01\x38\x01"), MAFAT_EFORMAT,
     "expected numbers of type float in field 4, found them in field 7"},
    {TENSOR, BYTES("\x10\x07\x38\x01\x28\x01"), MAFAT_EFORMAT,
     "in one field, found them in 7 and 5"},
    {TENSOR, BYTES("\x10\x07\x38\x01\x4a\x08\x01\x00\x00\x00\x00\x00\x00\x00"), MAFAT_EFORMAT,
     "once, found them raw and in field 7"},
    {TENSOR, BYTES("\x10\x07\x38\x01\x38\x02"), MAFAT_EFORMAT,
     "expected 1 numbers of type int64, found 2"},
    {TENSOR, BYTES("\x10\x01\x0a\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01"), MAFAT_EUNSUPPORTED,
     "at most 8 dimensions"},
    {TENSOR, BYTES("\x10\x01\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), MAFAT_EFORMAT,
     "dimension, found -1"},
    {TENSOR, BYTES("\x10\x01\x08\x80\x80\x80\x80\x80\x80\x01\x08\x80\x80\x80\x80\x80\x80\x01"),
     MAFAT_EFORMAT, "too large"},
    {TENSOR, BYTES("\x10\x0f\x08\x80\x80\x80\x80\x80\x80\x80\x80\x08"), MAFAT_EFORMAT, "too large"},
    {TENSOR, BYTES("\x10\x01\x08\x00\x08\x80\x80\x80\x80\x80\x40\x08\x80\x80\x80\x80\x80\x40"),
     MAFAT_EFORMAT, "too large"},
    {INPUT, BYTES("\x12\x06\x0a\x04\x12\x02\x0a\x08"), MAFAT_EFORMAT, "input 0 \"i\": field 1"},
    {INPUT,
     BYTES("\x12\x18\x0a\x16\x12\x14\x0a\x00\x0a\x00\x0a\x00\x0a\x00\x0a\x00\x0a\x00\x0a\x00\x0a"
           "\x00\x0a\x00\x0a\x00"),
     MAFAT_EUNSUPPORTED, "at most 8 dimensions, found 10"},
};

/* A file that is valid except for these bytes. */
static struct test_message damaged(enum place place, const char *bytes, size_t n)
{
  struct test_message m = {0}, graph = {0}, node = test_onnx_node("Relu", "r", "x", "y"),
                      inner = {0};
  if (place == FILE_OF) {
    test_put_bytes(&m, bytes, n);
    free(node.data);
    return m;
  }
  if (place == ATTRIBUTE) test_put_text(&inner, 1, "a");
  if (place == INPUT) test_put_text(&inner, 1, "i");
  if (place == TENSOR) test_put_text(&inner, 8, "t");
  if (place > NODE) test_put_bytes(&inner, bytes, n);
  if (place == NODE) test_put_bytes(&node, bytes, n);
  if (place == ATTRIBUTE) test_put_message(&node, 5, &inner);
  test_onnx_add_node(&graph, &node);
  if (place == GRAPH) test_put_bytes(&graph, bytes, n);
  if (place == TENSOR) test_put_message(&graph, 5, &inner);
  if (place == INPUT) test_put_message(&graph, 11, &inner);
  m = test_onnx_model(&graph, 13);
  if (place == MODEL) test_put_bytes(&m, bytes, n);
  return m;
}

START_TEST(invalid_messages_are_refused)
{
  struct test_message m = damaged(damages[_i].place, damages[_i].bytes, damages[_i].n);
  struct held h = read_message(&m);
  ck_assert_msg(h.code == damages[_i].code && strstr(diagnostic.text, damages[_i].message),
                "expected %d \"%s\", found %d: %s", damages[_i].code, damages[_i].message, h.code,
                diagnostic.text);
  release(&h);
}
END_TEST

/* ---- large files, and little memory ---- */

/* Graphs inside attributes are not read, so deep nesting does no harm. */
START_TEST(graphs_in_graphs_are_not_entered)
{
  struct test_message graph = {0};
  for (int i = 0; i < 300; i++) { /* each graph is in an attribute of the next */
    struct test_message a = {0}, node = test_onnx_node("If", "branch", "c", "y");
    test_put_text(&a, 1, "then_branch");
    test_put_message(&a, 6, &graph);
    test_put_int(&a, 20, MAFAT_ONNX_ATTRIBUTE_GRAPH);
    test_put_message(&node, 5, &a);
    test_onnx_add_node(&graph, &node);
  }
  struct held h = read_good(test_onnx_model(&graph, 13));
  ck_assert_int_eq(h.model->n_nodes, 1);
  ck_assert_str_eq(mafat_onnx_attribute_type_name(
                       attribute(&h, 0, "then_branch", MAFAT_ONNX_ATTRIBUTE_GRAPH)->type),
                   "graph");
  release(&h);
}
END_TEST

START_TEST(names_are_found_among_many)
{
  enum { N = 30000 };
  struct test_message graph = {0};
  char from[32] = "x0", to[32];
  for (int i = 1; i <= N; i++) {
    snprintf(to, sizeof to, "x%d", i);
    test_onnx_add(&graph, "Relu", from, to, "");
    strcpy(from, to);
  }
  struct held h = read_good(test_onnx_model(&graph, 13));
  ck_assert_int_eq(mafat_onnx_n_values(h.model), N + 1);
  for (int i = 1; i <= N; i++) {
    snprintf(to, sizeof to, "x%d", i);
    const struct mafat_onnx_value *v = mafat_onnx_value_of(h.model, to);
    ck_assert(v && v->node == i - 1 && v->index == i && h.model->nodes[i - 1].outputs[0] == v);
  }
  release(&h);
}
END_TEST

/* ---- order ---- */

/* Each node is after those that make its inputs, and values know their makers. */
static void check_order(const struct mafat_onnx *m)
{
  for (int k = 0; k < m->n_nodes; k++) {
    const struct mafat_onnx_node *node = &m->nodes[k];
    for (int i = 0; i < node->n_inputs; i++) ck_assert_int_lt(node->inputs[i]->node, k);
    for (int i = 0; i < node->n_outputs; i++) ck_assert_int_eq(node->outputs[i]->node, k);
  }
}

/* Graphs of nodes that read up to three earlier ones, listed in a random order. */
START_TEST(nodes_are_sorted)
{
  enum { MOST = 40 };
  struct test_rng rng = test_rng((uint64_t)_i + 1);
  int n = test_random_int(&rng, 1, MOST), order[MOST];
  bool seen[MOST] = {false};
  struct test_message graph = {0};
  for (int k = 0; k < n; k++) order[k] = k;
  for (int k = n - 1; k > 0 && _i % 4; k--) {
    int other = test_random_int(&rng, 0, k), moved = order[k];
    order[k] = order[other];
    order[other] = moved;
  }
  for (int k = 0; k < n; k++) {
    char inputs[64] = "x", output[16];
    for (int i = 0; i < 3 && order[k] > 0; i++)
      snprintf(inputs + strlen(inputs), 16, " y%d",
               test_random_int(&rng, 0, order[k] - 1));
    snprintf(output, sizeof output, "y%d", order[k]);
    test_onnx_add(&graph, "Sum", inputs, output, "");
  }
  struct held h = read_good(test_onnx_model(&graph, 13));
  ck_assert_int_eq(h.model->n_nodes, n);
  check_order(h.model);
  for (int k = 0; k < n; k++) {
    const struct mafat_onnx_node *node = &h.model->nodes[k];
    int listed = order[node->number];
    ck_assert(!seen[listed] && atoi(node->outputs[0]->name + 1) == listed);
    ck_assert(_i % 4 || node->number == k); /* a valid order is kept */
    seen[listed] = true;
  }
  release(&h);
}
END_TEST

/* Sorting a chain that is listed from its end needs neither deep recursion nor much memory. */
START_TEST(long_chains_are_sorted)
{
  enum { N = 30000 };
  size_t bytes[2];
  for (int reversed = 0; reversed < 2; reversed++) {
    struct test_message graph = {0};
    char from[16], to[16];
    for (int i = 0; i < N; i++) {
      int k = reversed ? N - 1 - i : i;
      snprintf(from, sizeof from, "v%d", k);
      snprintf(to, sizeof to, "v%d", k + 1);
      test_onnx_add(&graph, "Relu", from, to, "");
    }
    struct held h = read_good(test_onnx_model(&graph, 13));
    check_order(h.model);
    ck_assert_str_eq(h.model->nodes[0].outputs[0]->name, "v1");
    bytes[reversed] = h.model->memory.bytes;
    release(&h);
  }
  ck_assert_uint_le(bytes[1], bytes[0] + 12 * N + (256 << 10));
}
END_TEST

static const struct {
  const char *names[3], *inputs[3]; /* of three nodes with the outputs a, b, c */
  const char *message;
} cycles[] = {
    {{"first", "second", "third"},
     {"a", "a", "b"},
     "node 0 (Sum \"first\"): a cycle: its input 'a'"},
    {{"first", "second", "third"}, {"x b", "x c", "x a"}, "a cycle: its input 'a'"},
    {{"first", "second", "third"},
     {"x", "a c", "b"},
     "node 2 (Sum \"third\"): a cycle: its input 'b'"},
    {{"", "", ""},
     {"b", "a", "x"},
     "node 1 (Sum): a cycle: its input 'a' depends on its own output"},
};

START_TEST(cycles_are_refused)
{
  static const char *const outputs[] = {"a", "b", "c"};
  struct test_message graph = {0};
  for (int k = 0; k < 3; k++) {
    struct test_message node = test_onnx_node("Sum", cycles[_i].names[k], cycles[_i].inputs[k],
                                              outputs[k]);
    test_onnx_add_node(&graph, &node);
  }
  struct test_message m = test_onnx_model(&graph, 13);
  struct held h = read_message(&m);
  ck_assert_msg(h.code == MAFAT_EFORMAT && strstr(diagnostic.text, cycles[_i].message), "%d: %s",
                h.code, diagnostic.text);
  release(&h);
}
END_TEST

/* A name that several nodes or initializers have is one value, which counts its makers. */
START_TEST(makers_of_a_name_are_counted)
{
  struct test_message graph = {0};
  static const double one[] = {1};
  test_onnx_add(&graph, "Relu", "x", "y", "");
  test_onnx_add(&graph, "Relu", "x", "y", "");
  test_onnx_floats(&graph, "x", 0, NULL, one);
  test_onnx_floats(&graph, "x", 0, NULL, one);
  struct held h = read_good(test_onnx_model(&graph, 13));
  const struct mafat_onnx_value *x = mafat_onnx_value_of(h.model, "x"),
                                *y = mafat_onnx_value_of(h.model, "y");
  ck_assert(x->makers == 2 && x->node == -1 && y->makers == 2 && y->node == 0);
  release(&h);
}
END_TEST

/* A file beyond a limit is a wrong file, not a budget that is too small: programs exit with 2. */
START_TEST(limits_of_files_are_no_limits_of_memory)
{
  enum { MOST = 256 };
  for (int n = MOST; n <= MOST + 1; n++) {
    struct test_message graph = {0}, node = test_onnx_node("Relu", "x", "y", "");
    for (int i = 0; i < n; i++) {
      struct test_message a = {0};
      char name[16];
      snprintf(name, sizeof name, "a%d", i);
      test_put_text(&a, 1, name);
      test_put_int(&a, 3, i);
      test_put_int(&a, 20, MAFAT_ONNX_ATTRIBUTE_INT);
      test_put_message(&node, 5, &a);
    }
    test_onnx_add_node(&graph, &node);
    struct test_message m = test_onnx_model(&graph, 13);
    struct held h = read_message(&m);
    ck_assert_msg(h.code == (n > MOST ? MAFAT_EUNSUPPORTED : MAFAT_OK), "%d: %s", h.code,
                  diagnostic.text);
    release(&h);
  }
}
END_TEST

START_TEST(operator_sets_of_the_future_are_refused)
{
  for (int version = 28; version < 31; version++) {
    struct test_message graph = {0};
    test_onnx_add(&graph, "Relu", "x", "y", "");
    struct test_message m = test_onnx_model(&graph, version);
    struct held h = read_message(&m);
    ck_assert_msg(h.code == (version > 28 ? MAFAT_EUNSUPPORTED : MAFAT_OK), "%d: %s", h.code,
                  diagnostic.text);
    ck_assert(h.code == MAFAT_OK || strstr(diagnostic.text, "an operator set of version 1 to 28"));
    release(&h);
  }
}
END_TEST

/* Reading takes no memory for weights, and refuses attributes beyond a limit. */
START_TEST(memory_is_bounded)
{
  enum { LARGE = 9 << 20 };
  const int64_t dims[] = {LARGE / 4};
  char *zeros = calloc(1, LARGE);
  struct test_message graph = {0}, t = {0}, node = test_onnx_node("Constant", NULL, "", "y"),
                      a = {0};
  test_put_int(&t, 1, dims[0]);
  test_put_int(&t, 2, MAFAT_ONNX_FLOAT);
  test_put_text(&t, 8, "w");
  test_put_data(&t, 9, zeros, LARGE);
  test_put_message(&graph, 5, &t);
  struct held h = read_good(test_onnx_model(&graph, 13));
  ck_assert_uint_le(h.model->memory.bytes, 16 << 10);
  release(&h);
  test_put_text(&a, 1, "value_ints");
  test_put_data(&a, 8, zeros, LARGE);
  test_put_message(&node, 5, &a);
  test_onnx_add_node(&graph, &node);
  struct test_message m = test_onnx_model(&graph, 13);
  h = read_message(&m);
  ck_assert_msg(h.code == MAFAT_ELIMIT && strstr(diagnostic.text, "value_ints"), "%s",
                diagnostic.text);
  release(&h);
  free(zeros);
}
END_TEST

START_TEST(allocations_may_fail)
{
  long unfreed, n = 1;
  char path[64];
  struct test_message m = test_onnx_whole();
  int fd = memfd_create("onnx", MFD_CLOEXEC);
  write_fd(fd, m.data, m.n);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  for (long fail_at = 0; fail_at < n; fail_at++) {
    struct mafat_model_file *file;
    struct mafat_onnx *model;
    ck_assert_int_eq(mafat_model_file_open(&file, path, NULL), MAFAT_OK);
    failing_malloc_arm(fail_at);
    int code = mafat_onnx_read(&model, file, &diagnostic);
    mafat_onnx_close(&model);
    n = failing_malloc_disarm(&unfreed);
    ck_assert_msg(code == (fail_at < n ? MAFAT_ENOMEM : MAFAT_OK) && unfreed == 0,
                  "allocation %ld of %ld failed: code %d, %ld not freed", fail_at, n, code,
                  unfreed);
    if (fail_at == n - 1 && code == MAFAT_ENOMEM) n++; /* until none fails */
    mafat_model_file_close(&file);
  }
  ck_assert_int_ge(n, 4);
  close(fd);
  free(m.data);
}
END_TEST

START_TEST(beginnings)
{
  ck_assert(mafat_onnx_begins("\x08\x03") && mafat_onnx_begins("\x08\x0a"));
  ck_assert(!mafat_onnx_begins("[n") && !mafat_onnx_begins("MA") &&
            !mafat_onnx_begins("\x08\x80") && !mafat_onnx_begins("\x1c\0"));
}
END_TEST

Suite *onnx_suite(void)
{
  Suite *s = suite_create("onnx");
  TCase *t = tcase_create("onnx");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, make_folder, remove_folder);
  tcase_add_test(t, nodes_are_read);
  tcase_add_test(t, values_are_read);
  tcase_add_loop_test(t, numbers_are_read, 0, N_NUMBER_TYPES * TEST_ONNX_EXTERNAL);
  tcase_add_test(t, invalid_numbers_are_refused);
  tcase_add_test(t, external_data_is_read_when_needed);
  tcase_add_loop_test(t, external_data_stays_in_the_folder, 0,
                      sizeof externals / sizeof *externals);
  tcase_add_loop_test(t, external_data_follows_no_link_out_of_the_folder, 0,
                      sizeof links / sizeof *links);
  tcase_add_test(t, linked_models_have_their_data_beside_their_target);
  tcase_add_loop_test(t, external_data_has_one_place, 0, sizeof ambiguous / sizeof *ambiguous);
  tcase_add_test(t, tensors_of_other_files_are_bound);
  tcase_add_test(t, arrays_of_other_files_are_bound);
  tcase_add_test(t, a_tensor_may_be_all_of_a_file);
  tcase_add_loop_test(t, files_cut_anywhere_are_refused, 0, 3);
  tcase_add_loop_test(t, any_changed_byte_does_no_harm, 0, 3);
  tcase_add_loop_test(t, invalid_messages_are_refused, 0, sizeof damages / sizeof *damages);
  tcase_add_test(t, graphs_in_graphs_are_not_entered);
  tcase_add_test(t, names_are_found_among_many);
  tcase_add_test(t, makers_of_a_name_are_counted);
  tcase_add_loop_test(t, nodes_are_sorted, 0, 200);
  tcase_add_test(t, long_chains_are_sorted);
  tcase_add_loop_test(t, cycles_are_refused, 0, sizeof cycles / sizeof *cycles);
  tcase_add_test(t, limits_of_files_are_no_limits_of_memory);
  tcase_add_test(t, operator_sets_of_the_future_are_refused);
  tcase_add_test(t, memory_is_bounded);
  tcase_add_test(t, allocations_may_fail);
  tcase_add_test(t, beginnings);
  suite_add_tcase(s, t);
  return s;
}
