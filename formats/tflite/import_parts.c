/* Imports TFLite operators that join values or take parts of them: concatenation, pack, split,
 * slices. Called by formats/tflite/import.c through its table; import_shape.c calls
 * mafat_tflite_insert_dim. Adds layers to the graph. */
#include "formats/tflite/importer.h"

/* ---- adding and removing dimensions ---- */

int mafat_tflite_insert_dim(struct mafat_tflite_importer *i, struct mafat_value *out,
                            const struct mafat_value *in, int dim)
{
  long long dims[MAFAT_VIEW_DIMS];
  if (in->view.n_dims == MAFAT_VIEW_DIMS)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "expected at most %d dimensions",
                            MAFAT_VIEW_DIMS);
  for (int k = 0; k <= in->view.n_dims; k++)
    dims[k] = k < dim ? in->view.dims[k] : k == dim ? 1 : in->view.dims[k - 1];
  return mafat_graph_reshape(i->g, out, in, in->view.n_dims + 1, dims);
}

static int remove_dim(struct mafat_tflite_importer *i, struct mafat_value *out,
                      const struct mafat_value *in, int dim)
{
  long long dims[MAFAT_VIEW_DIMS];
  int n = 0;
  for (int k = 0; k < in->view.n_dims; k++)
    if (k != dim) dims[n++] = in->view.dims[k];
  return mafat_graph_reshape(i->g, out, in, n, dims);
}

/* ---- joins ---- */

/* Joins n values along a dimension. If one is a map, constants with as many dimensions become maps
 * first. */
static int concatenate(struct mafat_tflite_importer *i, struct mafat_value *out,
                       const struct mafat_value *const *in, int n, int dim)
{
  struct mafat_value own[MAFAT_MAX_OPERANDS];
  const struct mafat_value *list[MAFAT_MAX_OPERANDS];
  int axes[MAFAT_VIEW_DIMS], code = MAFAT_OK, map = -1, n_own = 0;
  for (int k = 0; k < n; k++)
    if (in[k]->form == MAFAT_VALUE_MAP) map = k;
  if (map >= 0) mafat_graph_axes(in[map], axes);
  for (int k = 0; k < n && code == MAFAT_OK; k++) {
    list[k] = in[k];
    if (map < 0 || in[k]->form == MAFAT_VALUE_MAP || in[k]->view.n_dims != in[map]->view.n_dims)
      continue;
    own[n_own] = (struct mafat_value){.maker = -1};
    list[k] = &own[n_own];
    code = mafat_graph_constant_map(i->g, &own[n_own++], in[k], axes);
  }
  if (code == MAFAT_OK) code = mafat_graph_concat(i->g, out, list, n, dim);
  for (int k = 0; k < n_own; k++) mafat_value_clear(&own[k]);
  return code;
}

/* Requantizes an operand to the output's scale. The result is *own, to which *in then points; the
 * caller clears it. Fails for a constant with another scale. */
static int bring_to_scale(struct mafat_tflite_importer *i, const struct mafat_value **in,
                          struct mafat_value *own)
{
  struct mafat_meaning to = i->g->makes;
  *own = (struct mafat_value){.maker = -1};
  if (mafat_value_is_quantized(*in)) {
    struct mafat_quantization declared = mafat_value_quantization(*in);
    if ((*in)->scales.list.n == 1 && mafat_quantization_equals(&declared, &to.numbers))
      return MAFAT_OK;
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "an input is a constant with another scale than the output");
  }
  if (!mafat_value_is_integer(i->g, *in)) return MAFAT_OK;
  if (to.type == MAFAT_F32)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "inputs of integers: expected an output of their type, found floats");
  struct mafat_meaning is = mafat_value_meaning(i->g, *in);
  if (mafat_quantization_equals(&is.numbers, &to.numbers)) return MAFAT_OK;
  int code = mafat_graph_quantize(i->g, own, *in, to, MAFAT_REQUANTIZE_FLOAT);
  *in = own;
  return code;
}

static int check_count(struct mafat_tflite_importer *i, int n)
{
  if (n >= 1 && n <= MAFAT_MAX_OPERANDS) return MAFAT_OK;
  return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "expected 1 to %d inputs, found %d",
                          MAFAT_MAX_OPERANDS, n);
}

static int import_concatenation(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in[MAFAT_MAX_OPERANDS];
  struct mafat_value made = {.maker = -1}, own[MAFAT_MAX_OPERANDS];
  int dim, n = i->o->n_inputs, n_own = 0, code = check_count(i, n);
  for (int k = 0; k < n && code == MAFAT_OK; k++) {
    in[k] = mafat_tflite_in(i, k);
    if (in[k]->form == MAFAT_VALUE_NONE)
      code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "input %d is left out", k);
    else code = bring_to_scale(i, &in[k], &own[n_own++]);
  }
  if (code == MAFAT_OK)
    code = mafat_tflite_dim(i, "axis", i->o->options.axis.axis, in[0]->view.n_dims, &dim);
  if (code == MAFAT_OK) code = concatenate(i, &made, in, n, dim);
  for (int k = 0; k < n_own; k++) mafat_value_clear(&own[k]);
  return mafat_tflite_finish(i, code, &made, i->o->options.axis.fused);
}

static int import_pack(struct mafat_tflite_importer *i)
{
  struct mafat_value longer[MAFAT_MAX_OPERANDS];
  const struct mafat_value *in[MAFAT_MAX_OPERANDS];
  int dim, n = i->o->n_inputs, n_longer = 0, code = check_count(i, n);
  if (code == MAFAT_OK)
    code = mafat_tflite_dim(i, "axis", i->o->options.axis.axis,
                            mafat_tflite_in(i, 0)->view.n_dims + 1, &dim);
  for (int k = 0; k < n && code == MAFAT_OK; k++) {
    longer[k] = (struct mafat_value){.maker = -1};
    in[k] = &longer[k];
    n_longer++;
    if (mafat_tflite_in(i, k)->form == MAFAT_VALUE_NONE)
      code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "input %d is left out", k);
    else code = mafat_tflite_insert_dim(i, &longer[k], mafat_tflite_in(i, k), dim);
  }
  if (code == MAFAT_OK) code = concatenate(i, mafat_tflite_out(i, 0), in, n, dim);
  for (int k = 0; k < n_longer; k++) mafat_value_clear(&longer[k]);
  return code;
}

/* ---- splits ---- */

enum { MOST_PARTS = 256 };

/* Cuts the input into consecutive ranges along a dimension, one for each output. Outputs without
 * readers are skipped. */
static int cut_parts(struct mafat_tflite_importer *i, const struct mafat_value *in, int dim,
                     const long long *sizes, int n)
{
  struct mafat_value *outs[MOST_PARTS];
  long long first = 0, all = in->view.dims[dim];
  if (n != i->o->n_outputs)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected %d outputs, found %d", n,
                            i->o->n_outputs);
  for (int k = 0; k < n; first += sizes[k++]) {
    if (sizes[k] < 1 || sizes[k] > all - first)
      return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                              "part %d: expected 1 to %lld elements along dimension %d, found %lld",
                              k, all - first, dim, sizes[k]);
    outs[k] = i->slots[i->o->outputs[k]].readers ? mafat_tflite_out(i, k) : NULL;
  }
  if (first != all)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "expected parts of %lld elements in all, found %lld", all, first);
  return mafat_graph_split(i->g, outs, in, dim, sizes, n);
}

static int read_axis(struct mafat_tflite_importer *i, int index, int n_dims, int *dim)
{
  long long axis;
  int n, code = mafat_tflite_list(i, index, 1, &axis, &n);
  if (code == MAFAT_OK && n != 1)
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected one axis, found %d", n);
  return code ? code : mafat_tflite_dim(i, "axis", axis, n_dims, dim);
}

static int import_split(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 1);
  long long sizes[MOST_PARTS];
  int dim, n = i->o->n_outputs, code = read_axis(i, 0, in->view.n_dims, &dim);
  if (code) return code;
  if (n > MOST_PARTS || in->view.dims[dim] % n)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "num_splits: cannot divide %lld elements into %d parts (at most %d)",
                            in->view.dims[dim], n, MOST_PARTS);
  for (int k = 0; k < n; k++) sizes[k] = in->view.dims[dim] / n;
  return cut_parts(i, in, dim, sizes, n);
}

static int import_split_v(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 0);
  long long sizes[MOST_PARTS], known = 0;
  int dim, n, rest = -1, code = read_axis(i, 2, in->view.n_dims, &dim);
  if (code == MAFAT_OK) code = mafat_tflite_list(i, 1, MOST_PARTS, sizes, &n);
  if (code) return code;
  for (int k = 0; k < n; k++) {
    if (sizes[k] == -1 && rest < 0) rest = k;
    else if (sizes[k] < 1 || sizes[k] > in->view.dims[dim])
      return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                              "size_splits: part %d: expected 1 to %lld elements, found %lld", k,
                              in->view.dims[dim], sizes[k]);
    else known += sizes[k];
  }
  if (rest >= 0) sizes[rest] = in->view.dims[dim] - known;
  return cut_parts(i, in, dim, sizes, n);
}

static int import_unpack(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 0), again = mafat_value_again(in);
  int dim, n = i->o->n_outputs,
           code = mafat_tflite_dim(i, "axis", i->o->options.axis.axis, in->view.n_dims, &dim);
  if (code == MAFAT_OK && in->view.dims[dim] != n)
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "num: expected %lld outputs, found %d",
                            in->view.dims[dim], n);
  for (int k = 0; k < n && code == MAFAT_OK; k++) {
    struct mafat_value part = {.maker = -1};
    if (!i->slots[i->o->outputs[k]].readers) continue;
    code = mafat_graph_slice(i->g, &part, &again, dim, k, 1, 1);
    if (code == MAFAT_OK) code = remove_dim(i, mafat_tflite_out(i, k), &part, dim);
    mafat_value_clear(&part);
  }
  return code;
}

/* ---- slices ---- */

/* A slice of a dimension: the n indices first, first + step, first + 2 * step, ... */
struct tflite_slice {
  long long first, n, step;
};

/* Slices one dimension after the other. */
static int cut_slices(struct mafat_tflite_importer *i, struct mafat_value *out,
                      const struct mafat_value *in, const struct tflite_slice *slices)
{
  struct mafat_value at, next = {.maker = -1};
  int code = mafat_value_copy(i->g, &at, in);
  if (code) at = (struct mafat_value){.maker = -1};
  for (int k = 0; k < in->view.n_dims && code == MAFAT_OK; k++) {
    if (slices[k].n < 1)
      code =
          mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                           "the slice of dimension %d, of %lld elements, is empty", k,
                           in->view.dims[k]);
    else
      code = mafat_graph_slice(i->g, &next, &at, k, slices[k].first, slices[k].n, slices[k].step);
    mafat_value_clear(&at);
    at = next;
    next = (struct mafat_value){.maker = -1};
  }
  if (code == MAFAT_OK) *out = at;
  else mafat_value_clear(&at);
  return code;
}

static int import_slice(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 0);
  long long begins[MAFAT_VIEW_DIMS], sizes[MAFAT_VIEW_DIMS];
  struct tflite_slice slices[MAFAT_VIEW_DIMS];
  int n, n_sizes, code = mafat_tflite_list(i, 1, MAFAT_VIEW_DIMS, begins, &n);
  if (code == MAFAT_OK) code = mafat_tflite_list(i, 2, MAFAT_VIEW_DIMS, sizes, &n_sizes);
  if (code) return code;
  if (n != in->view.n_dims || n_sizes != n)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected %d begins and sizes, found %d and %d",
                            in->view.n_dims, n, n_sizes);
  for (int k = 0; k < n; k++) {
    long long all = in->view.dims[k];
    slices[k] = (struct tflite_slice){begins[k], sizes[k] == -1 ? all - begins[k] : sizes[k], 1};
    if (begins[k] < 0 || begins[k] > all || slices[k].n > all - begins[k])
      return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                              "dimension %d: begin %lld, size %lld exceed its %lld elements",
                              k, begins[k], sizes[k], all);
  }
  return cut_slices(i, mafat_tflite_out(i, 0), in, slices);
}

static long long clamp(long long value, long long least, long long most)
{
  return value < least ? least : value > most ? most : value;
}

/* Finds the slice of dimension k by NumPy's rules: negative positions count from the end, and
 * positions out of range are clamped. A bit of begin_mask replaces `begin` by the dimension's first
 * index in the direction of the step; a bit of end_mask replaces `end` by the position past the
 * last one. */
static int find_slice(struct mafat_tflite_importer *i, int k, long long all, long long begin,
                      long long end, long long step, struct tflite_slice *s)
{
  const struct mafat_tflite_strided *o = &i->o->options.strided;
  bool up = step > 0;
  long long least = up ? 0 : -1, most = up ? all : all - 1;
  if (step == 0 || step > MAFAT_MAX_EXTENT || step < -MAFAT_MAX_EXTENT)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "strides: dimension %d: found %lld", k, step);
  if (o->offset) end += begin;
  long long from = o->begin_mask >> k & 1 ? (up ? 0 : all - 1)
                                          : clamp(begin < 0 ? begin + all : begin, least, most);
  long long to =
      o->end_mask >> k & 1 ? (up ? all : -1) : clamp(end < 0 ? end + all : end, least, most);
  long long reach = up ? to - from : from - to, stride = up ? step : -step;
  *s = (struct tflite_slice){from, reach > 0 ? (reach - 1) / stride + 1 : 0, step};
  if (!(o->shrink_axis_mask >> k & 1)) return MAFAT_OK;
  if (!up)
    return mafat_graph_fail(
        i->g, MAFAT_EFORMAT,
        "strides: dimension %d is in shrink_axis_mask: expected a stride above 0, found %lld", k,
        step);
  if (from < 0 || from >= all)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "shrink_axis_mask: dimension %d: index %lld is outside its %lld "
                            "elements",
                            k, begin, all);
  *s = (struct tflite_slice){from, 1, 1};
  return MAFAT_OK;
}

static int find_slices(struct mafat_tflite_importer *i, const struct mafat_value *in,
                       struct tflite_slice *slices)
{
  const struct mafat_tflite_strided *o = &i->o->options.strided;
  long long begins[MAFAT_VIEW_DIMS], ends[MAFAT_VIEW_DIMS], steps[MAFAT_VIEW_DIMS];
  int n, n_ends, n_steps, code = mafat_tflite_list(i, 1, MAFAT_VIEW_DIMS, begins, &n);
  if (code == MAFAT_OK) code = mafat_tflite_list(i, 2, MAFAT_VIEW_DIMS, ends, &n_ends);
  if (code == MAFAT_OK) code = mafat_tflite_list(i, 3, MAFAT_VIEW_DIMS, steps, &n_steps);
  if (code) return code;
  if (o->ellipsis_mask || o->new_axis_mask)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "ellipsis_mask, new_axis_mask: expected 0, found %d and %d",
                            o->ellipsis_mask, o->new_axis_mask);
  if (n != n_ends || n != n_steps || n > in->view.n_dims)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "expected at most %d begins, ends and strides, found %d, %d, %d",
                            in->view.n_dims, n, n_ends, n_steps);
  for (int k = 0; k < in->view.n_dims && code == MAFAT_OK; k++) {
    slices[k] = (struct tflite_slice){0, in->view.dims[k], 1};
    if (k < n) code = find_slice(i, k, in->view.dims[k], begins[k], ends[k], steps[k], &slices[k]);
  }
  return code;
}

static int import_strided_slice(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 0);
  struct tflite_slice slices[MAFAT_VIEW_DIMS];
  struct mafat_value part = {.maker = -1};
  long long dims[MAFAT_VIEW_DIMS];
  int n = 0, code = find_slices(i, in, slices);
  if (code == MAFAT_OK) code = cut_slices(i, &part, in, slices);
  for (int k = 0; k < in->view.n_dims; k++)
    if (code == MAFAT_OK && !(i->o->options.strided.shrink_axis_mask >> k & 1))
      dims[n++] = part.view.dims[k];
  if (code == MAFAT_OK) code = mafat_graph_reshape(i->g, mafat_tflite_out(i, 0), &part, n, dims);
  mafat_value_clear(&part);
  return code;
}

const struct mafat_tflite_row mafat_tflite_part_rows[] = {
    {MAFAT_TFLITE_CONCATENATION, import_concatenation, 1, 0, true},
    {MAFAT_TFLITE_PACK, import_pack, 1, 0, true},
    {MAFAT_TFLITE_UNPACK, import_unpack, 1, 0, true},
    {MAFAT_TFLITE_SPLIT, import_split, 2, 0, true},
    {MAFAT_TFLITE_SPLIT_V, import_split_v, 3, 0, true},
    {MAFAT_TFLITE_SLICE, import_slice, 3, 0, true},
    {MAFAT_TFLITE_STRIDED_SLICE, import_strided_slice, 4, 0, true},
    {0, NULL, 0, 0, false}};
