/* Covers formats/onnx/types.c, formats/graph/combine.c, runner/engine/kinds/norm.c,
 * predictor/kinds/{reduce, resample}.c: small .onnx models give the right outputs with attributes,
 * types and versions of operators that ONNX's own test models (tests/conformance) do not have.
 * Expected outputs follow ONNX's text and equal those of onnxruntime 1.30.0. */
#include "include/mafat.h"
#include "include/mafat_plan.h"
#include "tests/support/onnx_writer.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

Suite *onnx_meaning_suite(void);

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

enum { FLOAT = 1, INT32 = 6, INT64 = 7, MOST_NODES = 6, MOST_CONSTANTS = 5, MOST = 48 };

struct node {
  const char *op_type, *inputs, *outputs, *attributes;
};

struct constant {
  const char *name;
  int type, rank;
  int64_t dims[4];
  double values[8];
};

/* A model with an input "x" and an output "y". */
struct model {
  const char *what;
  int opset;
  struct node nodes[MOST_NODES];
  struct constant constants[MOST_CONSTANTS];
  int type; /* of the input, as in onnx.proto; 0: float */
  int rank;
  int64_t dims[4];
  float input[MOST];
  int n; /* number of elements of the output */
  float expected[MOST];
  const char *says; /* part of the message with which it is refused; NULL: it runs */
};

/* ---- writing and running a model ---- */

static struct test_message write_model(const struct model *m)
{
  struct test_message graph = {0};
  for (int k = 0; k < MOST_NODES && m->nodes[k].op_type; k++)
    test_onnx_add(&graph, m->nodes[k].op_type, m->nodes[k].inputs, m->nodes[k].outputs,
                  m->nodes[k].attributes);
  for (int k = 0; k < MOST_CONSTANTS && m->constants[k].name; k++) {
    const struct constant *c = &m->constants[k];
    const struct test_onnx_tensor t = {
        .name = c->name, .type = c->type, .rank = c->rank, .dims = c->dims, .values = c->values};
    test_onnx_initializer(&graph, &t);
  }
  test_onnx_typed_input(&graph, "x", m->type ? m->type : FLOAT, m->rank, m->dims);
  test_onnx_output(&graph, "y", -1, NULL);
  return test_onnx_model(&graph, m->opset);
}

enum { PATH_ROOM = 64 };

/* Writes a file into memory, with a path for as long as the returned descriptor is open. */
static int keep_file(char path[PATH_ROOM], struct test_message file)
{
  int fd = memfd_create("model", MFD_CLOEXEC);
  ck_assert_int_eq(write(fd, file.data, file.n), (ssize_t)file.n);
  snprintf(path, PATH_ROOM, "/proc/self/fd/%d", fd);
  free(file.data);
  return fd;
}

static int open_model(struct mafat_model **out, struct test_message file,
                      struct mafat_diagnostic *d)
{
  char path[PATH_ROOM];
  struct mafat_model_options options = {.size = sizeof options};
  int fd = keep_file(path, file);
  options.memory_bytes = 1 << 30; /* more than needed, for sanitizers */
  options.floats_only = true;
  int code = mafat_model_open(out, path, NULL, &options, d);
  close(fd);
  return code;
}

static void compare(const struct model *m, struct mafat_model *opened)
{
  struct mafat_port_facts port = {.size = sizeof port};
  struct mafat_diagnostic d;
  float found[MOST];
  size_t n = 1;
  for (int k = 0; k < m->rank; k++) n *= (size_t)m->dims[k];
  ck_assert_int_eq(mafat_model_describe_output(opened, 0, &port), MAFAT_OK);
  ck_assert_msg(port.n == (size_t)m->n, "%s: expected %d numbers, found %zu", m->what, m->n,
                port.n);
  ck_assert_msg(mafat_model_run_floats(opened, m->input, n, &d) == MAFAT_OK, "%s: %s", m->what,
                d.text);
  ck_assert_int_eq(mafat_model_read_output(opened, NULL, found, port.n, &d), MAFAT_OK);
  for (int k = 0; k < m->n; k++)
    ck_assert_msg(fabsf(found[k] - m->expected[k]) <= 1e-5f * fmaxf(1, fabsf(m->expected[k])),
                  "%s: number %d: found %g, expected %g", m->what, k, (double)found[k],
                  (double)m->expected[k]);
}

static void try_model(const struct model *m)
{
  struct mafat_model *opened;
  struct mafat_diagnostic d;
  int code = open_model(&opened, write_model(m), &d);
  if (m->says) {
    ck_assert_msg(code == MAFAT_EUNSUPPORTED || code == MAFAT_EFORMAT, "%s: %d", m->what, code);
    ck_assert_msg(strstr(d.text, m->says) != NULL, "%s: %s", m->what, d.text);
    return;
  }
  ck_assert_msg(code == MAFAT_OK, "%s: %s", m->what, d.text);
  compare(m, opened);
  mafat_model_close(&opened);
}

/* ---- models and their outputs ---- */

static const struct model models[] = {
    {.what = "floats of the file that are cast to int64 lose their fractions",
     .opset = 13,
     .nodes = {{"Cast", "c", "whole", "to=7"},
               {"Cast", "whole", "cut", "to=1"},
               {"Add", "x cut", "y", ""}},
     .constants = {{"c", FLOAT, 1, {2}, {2.7, -1.5}}},
     .rank = 2,
     .dims = {1, 2},
     .input = {.5f, 10},
     .n = 2,
     .expected = {2.5f, 9}},
    {.what = "one that is repeated, too",
     .opset = 13,
     .nodes = {{"ConstantOfShape", "shape", "c", ""},
               {"Add", "c half", "d", ""},
               {"Cast", "d", "whole", "to=6"},
               {"Cast", "whole", "cut", "to=1"},
               {"Add", "x cut", "y", ""}},
     .constants = {{"shape", INT64, 1, {1}, {2}}, {"half", FLOAT, 0, {0}, {1.5}}},
     .rank = 2,
     .dims = {1, 2},
     .input = {.5f, 10},
     .n = 2,
     .expected = {1.5f, 11}},
    {.what = "reals between -1 and 0 are 0 as uint8",
     .opset = 13,
     .nodes = {{"Cast", "x", "y", "to=2"}},
     .rank = 2,
     .dims = {1, 6},
     .input = {-.9f, -.25f, 0, .9f, 1.5f, 254.75f},
     .n = 6,
     .expected = {0, 0, 0, 0, 1, 254}},

    {.what = "columns of columns, in two parts",
     .opset = 13,
     .nodes = {{"Slice", "x starts ends axes", "s", ""},
               {"Split", "s sizes", "p q", "axis=3"},
               {"Concat", "q p", "y", "axis=3"}},
     .constants = {{"starts", INT64, 1, {1}, {1}},
                   {"ends", INT64, 1, {1}, {7}},
                   {"axes", INT64, 1, {1}, {3}},
                   {"sizes", INT64, 1, {2}, {2, 4}}},
     .rank = 4,
     .dims = {1, 1, 1, 8},
     .input = {1, 2, 3, 4, 5, 6, 7, 8},
     .n = 6,
     .expected = {4, 5, 6, 7, 2, 3}},
    {.what = "columns of columns, in any order",
     .opset = 13,
     .nodes = {{"Slice", "x starts ends axes", "s", ""}, {"Gather", "s places", "y", "axis=3"}},
     .constants = {{"starts", INT64, 1, {1}, {1}},
                   {"ends", INT64, 1, {1}, {7}},
                   {"axes", INT64, 1, {1}, {3}},
                   {"places", INT64, 1, {5}, {3, 0, 0, -1, 2}}},
     .rank = 4,
     .dims = {1, 1, 1, 8},
     .input = {1, 2, 3, 4, 5, 6, 7, 8},
     .n = 5,
     .expected = {5, 2, 2, 7, 4}},

    {.what = "the largest columns, of equals the first",
     .opset = 13,
     .nodes = {{"TopK", "x k", "y places", ""}},
     .constants = {{"k", INT64, 1, {1}, {3}}},
     .rank = 4,
     .dims = {1, 1, 2, 4},
     .input = {1, 5, 5, 2, -1, -2, -2, -7},
     .n = 6,
     .expected = {5, 5, 2, -1, -2, -2}},
    {.what = "where these are",
     .opset = 13,
     .nodes = {{"TopK", "x k", "values y", ""}},
     .constants = {{"k", INT64, 1, {1}, {3}}},
     .rank = 4,
     .dims = {1, 1, 2, 4},
     .input = {1, 5, 5, 2, -1, -2, -2, -7},
     .n = 6,
     .expected = {1, 2, 3, 0, 1, 2}},
    {.what = "the smallest channels",
     .opset = 11,
     .nodes = {{"TopK", "x k", "y places", "axis=1 largest=0 sorted=1"}},
     .constants = {{"k", INT64, 1, {1}, {2}}},
     .rank = 4,
     .dims = {1, 3, 1, 2},
     .input = {3, 9, 1, 8, 2, 7},
     .n = 4,
     .expected = {1, 7, 2, 8}},
    {.what = "the largest rows with where they are, by an attribute",
     .opset = 9,
     .nodes = {{"TopK", "x", "values places", "axis=2 k=2"},
               {"Cast", "places", "floats", "to=1"},
               {"Add", "values floats", "y", ""}},
     .rank = 4,
     .dims = {1, 1, 3, 2},
     .input = {10, 40, 30, 20, 20, 60},
     .n = 4,
     .expected = {31, 62, 22, 40}},
    {.what = "rows of a table where the largest are",
     .opset = 13,
     .nodes = {{"TopK", "x k", "values places", ""}, {"Gather", "table places", "y", ""}},
     .constants = {{"k", INT64, 1, {1}, {2}},
                   {"table", FLOAT, 2, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}},
     .rank = 2,
     .dims = {1, 4},
     .input = {.5f, -1, 9, 3},
     .n = 4,
     .expected = {5, 6, 7, 8}},
    {.what = "columns in parts, of which one is read",
     .opset = 13,
     .nodes = {{"Split", "x sizes", "p q r", "axis=3"}, {"Neg", "q", "y", ""}},
     .constants = {{"sizes", INT64, 1, {3}, {1, 2, 1}}},
     .rank = 4,
     .dims = {1, 1, 2, 4},
     .input = {1, 2, 3, 4, 5, 6, 7, 8},
     .n = 4,
     .expected = {-2, -3, -6, -7}},
    {.what = "columns in parts that are summed and scaled",
     .opset = 13,
     .nodes = {{"Split", "x sizes", "p q r", "axis=3"},
               {"Mul", "p r", "pr", ""},
               {"Add", "pr q", "y", ""}},
     .constants = {{"sizes", INT64, 1, {3}, {1, 2, 1}}},
     .rank = 4,
     .dims = {1, 1, 2, 4},
     .input = {1, 2, 3, 4, 5, 6, 7, 8},
     .n = 4,
     .expected = {6, 7, 46, 47}},

    {.what = "Shape from a dimension on",
     .opset = 15,
     .nodes = {{"Shape", "x", "s", "start=1"},
               {"Cast", "s", "dims", "to=1"},
               {"Mul", "x dims", "y", ""}},
     .rank = 2,
     .dims = {1, 1},
     .input = {3},
     .n = 1,
     .expected = {3}},
    {.what = "Shape from behind, up to before the end",
     .opset = 15,
     .nodes = {{"Shape", "x", "s", "start=-3 end=-1"},
               {"Cast", "s", "dims", "to=1"},
               {"Unsqueeze", "dims axes", "column", ""},
               {"Mul", "x column", "y", ""}},
     .constants = {{"axes", INT64, 1, {1}, {1}}},
     .rank = 4,
     .dims = {1, 3, 2, 1},
     .input = {1, 2, 3, 4, 5, 6},
     .n = 6,
     .expected = {3, 4, 9, 8, 15, 12}},
    {.what = "Shape beyond its ends",
     .opset = 15,
     .nodes = {{"Shape", "x", "s", "start=-9 end=9"},
               {"Cast", "s", "dims", "to=1"},
               {"Add", "x dims", "y", ""}},
     .rank = 2,
     .dims = {1, 2},
     .input = {.5f, .25f},
     .n = 2,
     .expected = {1.5f, 2.25f}},
    {.what = "Shape of no dimensions",
     .opset = 15,
     .nodes = {{"Shape", "x", "s", "start=1 end=1"},
               {"Concat", "s ones", "dims", "axis=0"},
               {"Reshape", "x dims", "y", ""}},
     .constants = {{"ones", INT64, 1, {2}, {-1, 1}}},
     .rank = 2,
     .dims = {1, 2},
     .input = {5, 7},
     .n = 2,
     .expected = {5, 7}},

    {.what = "quotients of integers are cut",
     .opset = 13,
     .nodes = {{"Shape", "x", "s", ""},
               {"Gather", "s one", "n", ""},
               {"Div", "n two", "half", ""},
               {"Mul", "half two", "even", ""},
               {"Slice", "x zero even one", "y", ""}},
     .constants = {{"one", INT64, 1, {1}, {1}},
                   {"two", INT64, 1, {1}, {2}},
                   {"zero", INT64, 1, {1}, {0}}},
     .rank = 2,
     .dims = {1, 5},
     .input = {1, 2, 3, 4, 5},
     .n = 4,
     .expected = {1, 2, 3, 4}},
    {.what = "quotients of the file's integers are cut towards 0",
     .opset = 13,
     .nodes = {{"Div", "a b", "q", ""}, {"Cast", "q", "cut", "to=1"}, {"Mul", "x cut", "y", ""}},
     .constants = {{"a", INT32, 1, {2}, {-7, 7}}, {"b", INT32, 1, {1}, {2}}},
     .rank = 2,
     .dims = {1, 2},
     .input = {1, 1},
     .n = 2,
     .expected = {-3, 3}},
    {.what = "powers of integers, too",
     .opset = 13,
     .nodes = {{"Pow", "a b", "q", ""}, {"Cast", "q", "cut", "to=1"}, {"Add", "x cut", "y", ""}},
     .constants = {{"a", INT64, 1, {2}, {3, 3}}, {"b", INT64, 1, {2}, {-1, 2}}},
     .rank = 2,
     .dims = {1, 2},
     .input = {.5f, 1},
     .n = 2,
     .expected = {.5f, 10}},
    {.what = "those of what they are as floats are not",
     .opset = 13,
     .nodes = {{"Cast", "a", "real", "to=1"}, {"Div", "real b", "q", ""}, {"Mul", "x q", "y", ""}},
     .constants = {{"a", INT64, 1, {2}, {-7, 7}}, {"b", FLOAT, 1, {1}, {2}}},
     .rank = 2,
     .dims = {1, 2},
     .input = {1, 1},
     .n = 2,
     .expected = {-3.5f, 3.5f}},
    {.what = "integers that are computed are not divided",
     .opset = 13,
     .says = "divides integers",
     .nodes = {{"Mul", "x two", "m", ""}, {"Div", "m three", "q", ""}, {"Cast", "q", "y", "to=1"}},
     .constants = {{"two", INT32, 1, {1}, {2}}, {"three", INT32, 1, {1}, {3}}},
     .type = INT32,
     .rank = 2,
     .dims = {1, 2}},
    {.what = "as floats they are",
     .opset = 13,
     .nodes = {{"Cast", "x", "real", "to=1"}, {"Div", "real two", "y", ""}},
     .constants = {{"two", FLOAT, 1, {1}, {2}}},
     .type = INT64,
     .rank = 2,
     .dims = {1, 2},
     .input = {7, -3},
     .n = 2,
     .expected = {3.5f, -1.5f}},
    {.what = "means of integers that are computed are not taken",
     .opset = 13,
     .says = "found integers",
     .nodes = {{"ReduceMean", "x", "q", "axes=[1]"}, {"Cast", "q", "y", "to=1"}},
     .type = INT32,
     .rank = 2,
     .dims = {1, 2}},
    {.what = "but their sums",
     .opset = 11,
     .nodes = {{"ReduceSum", "x", "q", "axes=[1]"}, {"Cast", "q", "y", "to=1"}},
     .type = INT32,
     .rank = 2,
     .dims = {1, 2},
     .input = {7, -3},
     .n = 1,
     .expected = {4}},

    {.what = "10 x 0.7 pixels are 7, as the floats' product is",
     .opset = 13,
     .nodes = {{"Resize", "x - scales", "y", "mode=nearest"}},
     .constants = {{"scales", FLOAT, 1, {4}, {1, 1, 1, .7f}}},
     .rank = 4,
     .dims = {1, 1, 1, 10},
     .input = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
     .n = 7,
     .expected = {0, 2, 3, 4, 6, 7, 9}},
    {.what = "Resize of version 10 takes the pixel behind a point where there are to be fewer",
     .opset = 10,
     .nodes = {{"Resize", "x scales", "y", "mode=nearest"}},
     .constants = {{"scales", FLOAT, 1, {4}, {1, 1, .6f, .6f}}},
     .rank = 4,
     .dims = {1, 1, 2, 4},
     .input = {1, 2, 3, 4, 5, 6, 7, 8},
     .n = 2,
     .expected = {1, 3}},
    {.what = "and the one before where there are to be more",
     .opset = 10,
     .nodes = {{"Resize", "x scales", "y", "mode=nearest"}},
     .constants = {{"scales", FLOAT, 1, {4}, {1, 1, 1, 1.75f}}},
     .rank = 4,
     .dims = {1, 1, 1, 4},
     .input = {1, 2, 3, 4},
     .n = 7,
     .expected = {1, 1, 2, 2, 3, 3, 4}},
    {.what = "not both",
     .opset = 10,
     .says = "rows and shrinking columns",
     .nodes = {{"Resize", "x scales", "y", "mode=nearest"}},
     .constants = {{"scales", FLOAT, 1, {4}, {1, 1, .5f, 2}}},
     .rank = 4,
     .dims = {1, 1, 4, 4}},

    {.what = "absolute values over no axes",
     .opset = 18,
     .nodes = {{"ReduceL1", "x", "y", "noop_with_empty_axes=1"}},
     .rank = 2,
     .dims = {1, 3},
     .input = {-2, 3, -.5f},
     .n = 3,
     .expected = {2, 3, .5f}},
    {.what = "squares over no axes",
     .opset = 18,
     .nodes = {{"ReduceSumSquare", "x", "y", "noop_with_empty_axes=1"}},
     .rank = 3,
     .dims = {2, 3, 2},
     .input = {-2, 3, -.5f, 1, 2, 3, 4, 5, 6, 7, 8, 9},
     .n = 12,
     .expected = {4, 9, .25f, 1, 4, 9, 16, 25, 36, 49, 64, 81}},
    {.what = "sums over no axes",
     .opset = 18,
     .nodes = {{"ReduceSum", "x", "y", "noop_with_empty_axes=1"}},
     .rank = 2,
     .dims = {1, 3},
     .input = {-2, 3, -.5f},
     .n = 3,
     .expected = {-2, 3, -.5f}},

    {.what = "no such padding",
     .opset = 13,
     .says = "auto_pad: found 'SAME_INSIDE'",
     .nodes = {{"MaxPool", "x", "y", "kernel_shape=[2,2] auto_pad=SAME_INSIDE"}},
     .rank = 4,
     .dims = {1, 1, 4, 4}},
    {.what = "no such order of depth",
     .opset = 13,
     .says = "mode: expected DCR or CRD, found 'RCD'",
     .nodes = {{"DepthToSpace", "x", "y", "blocksize=2 mode=RCD"}},
     .rank = 4,
     .dims = {1, 4, 1, 1}},
    {.what = "no such approximation",
     .opset = 20,
     .says = "approximate: expected none or tanh, found 'sine'",
     .nodes = {{"Gelu", "x", "y", "approximate=sine"}},
     .rank = 2,
     .dims = {1, 2}},
    {.what = "what cannot become that many",
     .opset = 13,
     .says = "dimension 1 (size 3) cannot become 2",
     .nodes = {{"Expand", "x dims", "y", ""}},
     .constants = {{"dims", INT64, 1, {2}, {1, 2}}},
     .rank = 2,
     .dims = {1, 3}},
    {.what = "fewer than none",
     .opset = 13,
     .says = "dimension 0 cannot become -2",
     .nodes = {{"Expand", "x dims", "y", ""}},
     .constants = {{"dims", INT64, 1, {2}, {-2, 3}}},
     .rank = 2,
     .dims = {1, 3}},
    {.what = "fewer than can be told",
     .opset = 13,
     .says = "dimension 0 cannot become -4",
     .nodes = {{"Expand", "dim dims", "y", ""}, {"Add", "x y", "z", ""}},
     .constants = {{"dims", INT64, 1, {1}, {-9e18}}, {"dim", INT64, 1, {1}, {1}}},
     .rank = 2,
     .dims = {1, 3}},
    {.what = "resized to fewer rows than none",
     .opset = 13,
     .says = "dimension 2 would be -4",
     .nodes = {{"Resize", "x - - sizes", "y", "mode=nearest"}},
     .constants = {{"sizes", INT64, 1, {4}, {1, 1, -4, 4}}},
     .rank = 4,
     .dims = {1, 1, 4, 4}},
    {.what = "resized to none",
     .opset = 13,
     .says = "dimension 2 would be 0",
     .nodes = {{"Resize", "x - - sizes", "y", "mode=nearest"}},
     .constants = {{"sizes", INT64, 1, {4}, {1, 1, 0, 4}}},
     .rank = 4,
     .dims = {1, 1, 4, 4}},
    {.what = "a bound that is none",
     .opset = 13,
     .says = "expected one number, found none",
     .nodes = {{"Clip", "x w", "y", ""}},
     .constants = {{"w", FLOAT, 1, {0}, {0}}},
     .rank = 2,
     .dims = {1, 3}},
    {.what = "filled up with nothing",
     .opset = 13,
     .says = "expected one number, found none",
     .nodes = {{"Pad", "x pads w", "y", ""}},
     .constants = {{"w", FLOAT, 1, {0}, {0}}, {"pads", INT64, 1, {4}, {0, 0, 0, 1}}},
     .rank = 2,
     .dims = {1, 3}},
    {.what = "weights of no tap",
     .opset = 13,
     .says = "weights of at least one tap, found 0 x 1",
     .nodes = {{"Conv", "x w", "y", ""}},
     .constants = {{"w", FLOAT, 4, {2, 1, 0, 1}, {0}}},
     .rank = 4,
     .dims = {1, 1, 4, 4}},
    {.what = "transposed weights of no tap",
     .opset = 13,
     .says = "weights of at least one tap, found 3 x 0",
     .nodes = {{"ConvTranspose", "x w", "y", ""}},
     .constants = {{"w", FLOAT, 4, {1, 2, 3, 0}, {0}}},
     .rank = 4,
     .dims = {1, 1, 4, 4}},
    {.what = "weights of no tap for a row",
     .opset = 13,
     .says = "weights of at least one tap, found 1 x 0",
     .nodes = {{"Conv", "x w", "y", ""}},
     .constants = {{"w", FLOAT, 3, {2, 1, 0}, {0}}},
     .rank = 3,
     .dims = {1, 1, 4}},
    {.what = "to none",
     .opset = 13,
     .says = "dimension 0 cannot become 0",
     .nodes = {{"Expand", "x dims", "y", ""}},
     .constants = {{"dims", INT64, 1, {2}, {0, 3}}},
     .rank = 2,
     .dims = {1, 3}},
};

START_TEST(models_give_the_expected_outputs)
{
  try_model(&models[_i]);
}
END_TEST

/* ---- outputs of one node ---- */

/* Each output of a Split has two readers. No reader may overwrite what the other reads. */
START_TEST(parts_may_have_several_readers)
{
  enum { PARTS = 12, WIDE = 4, ALL = PARTS * WIDE };
  static const int64_t dims[] = {1, 1, 1, ALL}, two[] = {2}, zero[] = {0}, end[] = {WIDE},
                       axis[] = {3};
  char outputs[8 * PARTS] = "", part[16];
  struct test_message graph = {0};
  struct mafat_model *m;
  struct mafat_diagnostic d;
  float input[ALL], found[WIDE];
  for (int k = 0; k < PARTS; k++)
    snprintf(outputs + strlen(outputs), sizeof outputs - strlen(outputs), "%sp%d", k ? " " : "", k);
  for (int k = 0; k < ALL; k++) input[k] = (float)(k + 1);
  test_onnx_add(&graph, "Split", "x", outputs, "axis=3");
  snprintf(part, sizeof part, "p%d", _i);
  char slices[48];
  snprintf(slices, sizeof slices, "%s zero end axis two", part);
  test_onnx_add(&graph, "Slice", slices, "half", "");
  test_onnx_add(&graph, "Neg", "half", "y", "");
  test_onnx_add(&graph, "Neg", part, "z", "");
  test_onnx_int64s(&graph, "zero", 1, zero);
  test_onnx_int64s(&graph, "end", 1, end);
  test_onnx_int64s(&graph, "axis", 1, axis);
  test_onnx_int64s(&graph, "two", 1, two);
  test_onnx_input(&graph, "x", 4, dims);
  test_onnx_output(&graph, "y", -1, NULL);
  test_onnx_output(&graph, "z", -1, NULL);
  ck_assert_msg(open_model(&m, test_onnx_model(&graph, 13), &d) == MAFAT_OK, "%s", d.text);
  ck_assert_msg(mafat_model_run_floats(m, input, ALL, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_read_output(m, "y", found, 2, &d), MAFAT_OK);
  for (int k = 0; k < 2; k++) ck_assert_float_eq(found[k], -input[_i * WIDE + 2 * k]);
  ck_assert_int_eq(mafat_model_read_output(m, "z", found, WIDE, &d), MAFAT_OK);
  for (int k = 0; k < WIDE; k++) ck_assert_float_eq(found[k], -input[_i * WIDE + k]);
  mafat_model_close(&m);
}
END_TEST

/* An output of a Split has memory from the Split's step on, not from the start of the run. */
START_TEST(parts_live_from_their_step_on)
{
  enum { SPLIT = 2 }; /* index of the layer */
  static const int64_t dims[] = {1, 4, 6, 48};
  struct test_message graph = {0};
  struct mafat_model_options options = {.size = sizeof options, .plan = "1x1/NoCut"};
  struct mafat_dry_run *dry_run;
  struct mafat_plan_report *report;
  struct mafat_arena_facts arena = {.size = sizeof arena};
  struct mafat_buffer_facts b = {.size = sizeof b};
  struct mafat_diagnostic d;
  char path[PATH_ROOM];
  int n_parts = 0;
  test_onnx_add(&graph, "Exp", "x", "a", "");
  test_onnx_add(&graph, "Exp", "a", "b", "");
  test_onnx_add(&graph, "Split", "b", "p q r", "axis=3");
  for (int k = 0; k < 3; k++) {
    test_onnx_add(&graph, "Relu", (const char *const[]){"p", "q", "r"}[k],
                  (const char *const[]){"u", "v", "w"}[k], "");
    test_onnx_output(&graph, (const char *const[]){"u", "v", "w"}[k], -1, NULL);
  }
  test_onnx_input(&graph, "x", 4, dims);
  int fd = keep_file(path, test_onnx_model(&graph, 13));
  ck_assert_msg(mafat_dry_run_open(&dry_run, path, NULL, &options, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_msg(mafat_dry_run_report(&report, dry_run, 1 << 30, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_plan_report_arena(report, &arena), MAFAT_OK);
  for (int i = 0; i < arena.n_buffers; i++) {
    ck_assert_int_eq(mafat_plan_report_buffer(report, i, &b), MAFAT_OK);
    if (b.layer != SPLIT || strcmp(b.what, "map") != 0) continue;
    ck_assert_int_ge(b.first, 2 * SPLIT);
    n_parts++;
  }
  ck_assert_int_eq(n_parts, 3);
  mafat_plan_report_close(&report);
  mafat_dry_run_close(&dry_run);
  close(fd);
}
END_TEST

Suite *onnx_meaning_suite(void)
{
  Suite *s = suite_create("onnx_meaning");
  TCase *c = tcase_create("numbers");
  tcase_add_loop_test(c, models_give_the_expected_outputs, 0, COUNT(models));
  tcase_add_loop_test(c, parts_may_have_several_readers, 0, 12);
  tcase_add_test(c, parts_live_from_their_step_on);
  suite_add_tcase(s, c);
  return s;
}
