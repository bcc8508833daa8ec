/* Names operators by their codes, and reads and checks the options of operators. Called by
 * formats/tflite/tflite.c. Reads the file; allocates nothing. */
#include "formats/tflite/operators.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

static const char *const names[] = {
    "ADD", "AVERAGE_POOL_2D", "CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D", "DEPTH_TO_SPACE",
    "DEQUANTIZE", "EMBEDDING_LOOKUP", "FLOOR", "FULLY_CONNECTED", "HASHTABLE_LOOKUP",
    "L2_NORMALIZATION", "L2_POOL_2D", "LOCAL_RESPONSE_NORMALIZATION", "LOGISTIC", "LSH_PROJECTION",
    "LSTM", "MAX_POOL_2D", "MUL", "RELU", "RELU_N1_TO_1", "RELU6", "RESHAPE", "RESIZE_BILINEAR",
    "RNN", "SOFTMAX", "SPACE_TO_DEPTH", "SVDF", "TANH", "CONCAT_EMBEDDINGS", "SKIP_GRAM", "CALL",
    "CUSTOM", "EMBEDDING_LOOKUP_SPARSE", "PAD", "UNIDIRECTIONAL_SEQUENCE_RNN", "GATHER",
    "BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND", "TRANSPOSE", "MEAN", "SUB", "DIV", "SQUEEZE",
    "UNIDIRECTIONAL_SEQUENCE_LSTM", "STRIDED_SLICE", "BIDIRECTIONAL_SEQUENCE_RNN", "EXP", "TOPK_V2",
    "SPLIT", "LOG_SOFTMAX", "DELEGATE", "BIDIRECTIONAL_SEQUENCE_LSTM", "CAST", "PRELU", "MAXIMUM",
    "ARG_MAX", "MINIMUM", "LESS", "NEG", "PADV2", "GREATER", "GREATER_EQUAL", "LESS_EQUAL",
    "SELECT", "SLICE", "SIN", "TRANSPOSE_CONV", "SPARSE_TO_DENSE", "TILE", "EXPAND_DIMS", "EQUAL",
    "NOT_EQUAL", "LOG", "SUM", "SQRT", "RSQRT", "SHAPE", "POW", "ARG_MIN", "FAKE_QUANT",
    "REDUCE_PROD", "REDUCE_MAX", "PACK", "LOGICAL_OR", "ONE_HOT", "LOGICAL_AND", "LOGICAL_NOT",
    "UNPACK", "REDUCE_MIN", "FLOOR_DIV", "REDUCE_ANY", "SQUARE", "ZEROS_LIKE", "FILL", "FLOOR_MOD",
    "RANGE", "RESIZE_NEAREST_NEIGHBOR", "LEAKY_RELU", "SQUARED_DIFFERENCE", "MIRROR_PAD", "ABS",
    "SPLIT_V", "UNIQUE", "CEIL", "REVERSE_V2", "ADD_N", "GATHER_ND", "COS", "WHERE", "RANK", "ELU",
    "REVERSE_SEQUENCE", "MATRIX_DIAG", "QUANTIZE", "MATRIX_SET_DIAG", "ROUND", "HARD_SWISH", "IF",
    "WHILE", "NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5", "SCATTER_ND", "SELECT_V2",
    "DENSIFY", "SEGMENT_SUM", "BATCH_MATMUL", NULL, "CUMSUM", "CALL_ONCE", "BROADCAST_TO", "RFFT2D",
    "CONV_3D", "IMAG", "REAL", "COMPLEX_ABS", "HASHTABLE", "HASHTABLE_FIND", "HASHTABLE_IMPORT",
    "HASHTABLE_SIZE", "REDUCE_ALL", "CONV_3D_TRANSPOSE", "VAR_HANDLE", "READ_VARIABLE",
    "ASSIGN_VARIABLE", "BROADCAST_ARGS", "RANDOM_STANDARD_NORMAL", "BUCKETIZE", "RANDOM_UNIFORM",
    "MULTINOMIAL", "GELU", "DYNAMIC_UPDATE_SLICE", "RELU_0_TO_1", "UNSORTED_SEGMENT_PROD",
    "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_SUM", "ATAN2", "UNSORTED_SEGMENT_MIN", "SIGN",
    "BITCAST", "BITWISE_XOR", "RIGHT_SHIFT"};

_Static_assert(sizeof names / sizeof *names == 162, "a name for each code up to RIGHT_SHIFT");

const char *mafat_tflite_code_name(int code)
{
  return code >= 0 && (size_t)code < sizeof names / sizeof *names ? names[code] : NULL;
}

/* ---- options ---- */

enum field_type { TINY, WHOLE, FLAG, NUMBER, LIST }; /* int8, int32, bool, float, vector of int32 */

/* A field of an operator's options. */
struct option_field {
  const char *name;
  unsigned char type;   /* enum field_type */
  unsigned char number; /* of the field in the schema's table */
  unsigned char place;  /* offset in union mafat_tflite_options */
  int least, most;      /* valid range of integers */
  float otherwise;      /* default */
};

#define PLACE(member) offsetof(union mafat_tflite_options, member)
#define PADDING(number) {"padding", TINY, number, PLACE(window.padding), 0, 1, 0}
#define FUSED(number, member) \
  { \
    "fused_activation_function", TINY, number, PLACE(member), 0, MAFAT_TFLITE_FUSED_SIGN_BIT, 0 \
  }
#define EXTENT(number, member, otherwise) \
  { \
#member, WHOLE, number, PLACE(window.member), 1, MAX_EXTENT, otherwise \
  }
#define FLAG_AT(number, of, member) {#member, FLAG, number, PLACE(of member), 0, 1, 0}
#define WHOLE_AT(number, of, member) {#member, WHOLE, number, PLACE(of member), INT_MIN, INT_MAX, 0}
#define TYPE_AT(number, member, name) {name, TINY, number, PLACE(types.member), 0, INT8_MAX, 0}

enum { MAX_EXTENT = 1 << 20 };

static const struct option_field convolution[] = {PADDING(0),
                                           EXTENT(1, stride_w, 0),
                                           EXTENT(2, stride_h, 0),
                                           FUSED(3, window.fused),
                                           EXTENT(4, dilation_w, 1),
                                           EXTENT(5, dilation_h, 1)};
static const struct option_field depthwise[] = {PADDING(0),
                                                EXTENT(1, stride_w, 0),
                                                EXTENT(2, stride_h, 0),
                                                {"depth_multiplier", WHOLE, 3,
                                                 PLACE(window.depth_multiplier), 0, MAX_EXTENT, 0},
                                                FUSED(4, window.fused),
                                                EXTENT(5, dilation_w, 1),
                                                EXTENT(6, dilation_h, 1)};
static const struct option_field transposed[] = {PADDING(0), EXTENT(1, stride_w, 0),
                                                 EXTENT(2, stride_h, 0), FUSED(3, window.fused)};
static const struct option_field pool[] = {PADDING(0),
                                    EXTENT(1, stride_w, 0),
                                    EXTENT(2, stride_h, 0),
                                    EXTENT(3, filter_w, 0),
                                    EXTENT(4, filter_h, 0),
                                    FUSED(5, window.fused)};
static const struct option_field dense[] = {FUSED(0, dense.fused),
                                            {"weights_format", TINY, 1, PLACE(dense.weights_format),
                                             0, 1, 0},
                                            FLAG_AT(2, dense., keep_num_dims)};
static const struct option_field softmax[] = {{"beta", NUMBER, 0, PLACE(beta), 0, 0, 0}};
static const struct option_field concatenation[] = {WHOLE_AT(0, axis., axis), FUSED(1, axis.fused)};
static const struct option_field fused[] = {FUSED(0, fused)};
static const struct option_field bilinear[] = {FLAG_AT(2, resize., align_corners),
                                               FLAG_AT(3, resize., half_pixel_centers)};
static const struct option_field nearest[] = {FLAG_AT(0, resize., align_corners),
                                              FLAG_AT(1, resize., half_pixel_centers)};
static const struct option_field reshape[] = {{"new_shape", LIST, 0, PLACE(dims), 0, 0, 0}};
static const struct option_field squeeze[] = {{"squeeze_dims", LIST, 0, PLACE(dims), 0, 0, 0}};
static const struct option_field block[] = {
    {"block_size", WHOLE, 0, PLACE(block_size), 1, MAX_EXTENT, 0}};
static const struct option_field gather[] = {WHOLE_AT(0, axis., axis),
                                             WHOLE_AT(1, axis., batch_dims)};
static const struct option_field reducer[] = {FLAG_AT(0, , keep_dims)};
static const struct option_field strided[] = {WHOLE_AT(0, strided., begin_mask),
                                       WHOLE_AT(1, strided., end_mask),
                                       WHOLE_AT(2, strided., ellipsis_mask),
                                       WHOLE_AT(3, strided., new_axis_mask),
                                       WHOLE_AT(4, strided., shrink_axis_mask),
                                       FLAG_AT(5, strided., offset)};
static const struct option_field split[] = {WHOLE_AT(0, axis., n)};
static const struct option_field cast[] = {TYPE_AT(0, in, "in_data_type"),
                                           TYPE_AT(1, out, "out_data_type")};
static const struct option_field arg_max[] = {TYPE_AT(0, out, "output_type")};
static const struct option_field pack[] = {WHOLE_AT(0, axis., n), WHOLE_AT(1, axis., axis)};
static const struct option_field leaky[] = {{"alpha", NUMBER, 0, PLACE(alpha), 0, 0, 0}};
static const struct option_field mirror[] = {{"mode", TINY, 0, PLACE(symmetric), 0, 1, 0}};
static const struct option_field matmul[] = {FLAG_AT(0, matmul., adj_x),
                                             FLAG_AT(1, matmul., adj_y)};
static const struct option_field gelu[] = {FLAG_AT(0, , approximate)};

/* Operators with options. */
static const struct operator_row {
  unsigned char code, kind, n; /* kind: type number in the schema's union of options; n: number of
                                  fields */
  const struct option_field *fields;
} rows[] = {
#define ROW(code, kind, fields) \
  { \
    MAFAT_TFLITE_##code, kind, sizeof(fields) / sizeof *(fields), fields \
  }
    ROW(CONV_2D, 1, convolution), ROW(DEPTHWISE_CONV_2D, 2, depthwise),
    ROW(TRANSPOSE_CONV, 49, transposed), ROW(AVERAGE_POOL_2D, 5, pool), ROW(MAX_POOL_2D, 5, pool),
    ROW(FULLY_CONNECTED, 8, dense), ROW(SOFTMAX, 9, softmax), ROW(CONCATENATION, 10, concatenation),
    ROW(ADD, 11, fused), ROW(L2_NORMALIZATION, 12, fused), ROW(MUL, 21, fused), ROW(SUB, 28, fused),
    ROW(DIV, 29, fused), ROW(RESIZE_BILINEAR, 15, bilinear),
    ROW(RESIZE_NEAREST_NEIGHBOR, 74, nearest), ROW(RESHAPE, 17, reshape), ROW(SQUEEZE, 30, squeeze),
    ROW(SPACE_TO_DEPTH, 19, block), ROW(DEPTH_TO_SPACE, 94, block), ROW(GATHER, 23, gather),
    ROW(MEAN, 27, reducer), ROW(SUM, 27, reducer), ROW(REDUCE_MAX, 27, reducer),
    ROW(REDUCE_MIN, 27, reducer), ROW(STRIDED_SLICE, 32, strided), ROW(SPLIT, 35, split),
    ROW(SPLIT_V, 79, split), ROW(CAST, 37, cast), ROW(ARG_MAX, 40, arg_max), ROW(PACK, 59, pack),
    ROW(UNPACK, 64, pack), ROW(LEAKY_RELU, 75, leaky), ROW(MIRROR_PAD, 77, mirror),
    ROW(BATCH_MATMUL, 101, matmul), ROW(GELU, 116, gelu)};

static const struct operator_row *find_row(int code)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].code == code) return &rows[i];
  return NULL;
}

static void read_list(struct mafat_flat *f, const struct mafat_flat_table *t,
                      const struct option_field *a, const char *name, struct mafat_tflite_dims *to)
{
  to->n = -1;
  if (!mafat_flat_has(t, a->number)) return;
  struct mafat_flat_vector v = mafat_flat_vector(f, t, a->number, sizeof *to->list);
  if (v.n > MAFAT_TFLITE_MAX_RANK)
    mafat_flat_fail(f, MAFAT_EUNSUPPORTED, "%s: %s: expected at most %d dimensions, found %u", name,
                    a->name, MAFAT_TFLITE_MAX_RANK, v.n);
  if (f->code) return;
  mafat_flat_copy(f, &v, v.n, sizeof *to->list, to->list);
  to->n = (int)v.n;
}

static void read_whole(struct mafat_flat *f, const struct mafat_flat_table *t,
                       const struct option_field *a, const char *name, int *to)
{
  int64_t value = mafat_flat_int(f, t, a->number, a->type == WHOLE ? 4 : 1, (int64_t)a->otherwise);
  if (a->type == FLAG) value = value != 0;
  if (value < a->least || value > a->most)
    mafat_flat_fail(f, MAFAT_EFORMAT, "%s: %s: expected %d to %d, found %lld", name, a->name,
                    a->least, a->most, (long long)value);
  *to = (int)value;
}

static void read_field(struct mafat_flat *f, const struct mafat_flat_table *t,
                       const struct option_field *a, const char *name, void *to)
{
  switch ((enum field_type)a->type) {
  case LIST: read_list(f, t, a, name, to); break;
  case NUMBER: *(float *)to = mafat_flat_float(f, t, a->number, a->otherwise); break;
  default: read_whole(f, t, a, name, to);
  }
}

void mafat_tflite_options_read(struct mafat_flat *f, const struct mafat_flat_table *operator,
                               int code, const char *name, union mafat_tflite_options *options)
{
  enum { KIND = 3, OPTIONS = 4 };
  const struct operator_row *row = find_row(code);
  memset(options, 0, sizeof *options);
  if (!row) return;
  unsigned kind = (unsigned)mafat_flat_uint(f, operator, KIND, 1, 0);
  struct mafat_flat_table t = {0}; /* an empty table: all fields have defaults */
  if (kind != 0 && kind != row->kind)
    mafat_flat_fail(f, MAFAT_EFORMAT, "%s: expected options of kind %d, found %u", name, row->kind,
                    kind);
  if (kind != 0) t = mafat_flat_table(f, operator, OPTIONS);
  for (int i = 0; i < row->n && !f->code; i++)
    read_field(f, &t, &row->fields[i], name, (char *)options + row->fields[i].place);
}
