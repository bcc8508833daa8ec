/* Tracks which values have an integer type. Arithmetic is done on reals, whatever the declared
 * type, but quotients of integers and casts to integers must be truncated. Called by the importers
 * in formats/onnx. Sets the importer's flags `whole`. */
#include "formats/onnx/importer.h"

bool mafat_onnx_is_whole_type(int type)
{
  return type != MAFAT_ONNX_UNDEFINED && type != MAFAT_ONNX_FLOAT && type != MAFAT_ONNX_DOUBLE &&
         type != MAFAT_ONNX_FLOAT16 && type != MAFAT_ONNX_BFLOAT16;
}

bool mafat_onnx_is_whole(const struct mafat_onnx_importer *i, int index)
{
  const struct mafat_onnx_value *v =
      !i->operands && index < i->node->n_inputs ? i->node->inputs[index] : NULL;
  if (!v) return false;
  return v->initializer ? mafat_onnx_is_whole_type(v->initializer->type) : i->whole[v->index];
}

/* True if the output of a Constant or ConstantOfShape has an integer type; the default is float. */
static bool says_whole(const struct mafat_onnx_node *n)
{
  const struct mafat_onnx_attribute *value = mafat_onnx_attribute(n, "value"),
                                    *a = n->n_attributes ? n->attributes : NULL;
  if (value && value->type == MAFAT_ONNX_ATTRIBUTE_TENSOR)
    return mafat_onnx_is_whole_type(value->as.t->type);
  return a && (a->type == MAFAT_ONNX_ATTRIBUTE_INT || a->type == MAFAT_ONNX_ATTRIBUTE_INTS);
}

/* True if the node's first output has an integer type. By default it has the type of input 0. */
static bool makes_whole(const struct mafat_onnx_importer *i)
{
  static const char *const always[] = {"Shape",  "Size",          "ArgMax",
                                       "ArgMin", "MatMulInteger", "ConvInteger"};
  const char *op_type = i->node->op_type;
  long long to;
  for (size_t k = 0; k < sizeof always / sizeof *always; k++)
    if (strcmp(op_type, always[k]) == 0) return true;
  if (strcmp(op_type, "Constant") == 0 || strcmp(op_type, "ConstantOfShape") == 0)
    return says_whole(i->node);
  if (strcmp(op_type, "DequantizeLinear") == 0) return false;
  if (strcmp(op_type, "Cast") != 0) return mafat_onnx_is_whole(i, 0);
  return mafat_onnx_int(i, "to", MAFAT_ONNX_FLOAT, &to) == MAFAT_OK &&
         mafat_onnx_is_whole_type((int)to);
}

void mafat_onnx_note_type(struct mafat_onnx_importer *i)
{
  bool whole = makes_whole(i), indices = strcmp(i->node->op_type, "TopK") == 0;
  for (int k = 0; k < i->node->n_outputs; k++)
    if (i->node->outputs[k]) i->whole[i->node->outputs[k]->index] = whole || (indices && k == 1);
}
