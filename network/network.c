/* Networks: closing and shortening them, requesting outputs, and checking operands. Called by the
 * readers in formats/, by api/, by code in predictor/, runner/ and search/ that follows sources,
 * and by programs/make_weights to close networks. Frees networks, and allocates lists of
 * outputs. */
#include "network/network.h"

#include "base/blocks.h"
#include "base/part.h"
#include "network/constant.h"

#include <stdlib.h>
#include <string.h>

static const char *const activation_names[MAFAT_N_ACTIVATIONS] = {
#define DARKNET(CONSTANT, name, ...) [MAFAT_##CONSTANT] = name,
#define KERNEL DARKNET
#define FUNCTION DARKNET
#include "network/activations.def"
};

const char *mafat_activation_name(enum mafat_activation activation)
{
  return (unsigned)activation < MAFAT_N_ACTIVATIONS ? activation_names[activation] : "unknown";
}

static void free_layer(struct mafat_layer *l)
{
  for (int k = 0; k < l->n_operands; k++) free(l->operands[k].sources.list);
  free(l->operands);
  free(l->head.anchors);
  free(l->strides);
  free(l->rearrange);
  free(l->normalize);
  free(l->reduce);
  free(l->resample);
  free(l->postprocess);
  free(l->more);
}

/* Corrects tensor indices after `by` layers were removed: decrements those that are n_layers or
 * greater by `by`. */
static void move_sources(struct mafat_sources *sources, int n_layers, int by)
{
  for (int i = 0; i < mafat_sources_count(sources); i++)
    if (sources->list[i].tensor >= n_layers) sources->list[i].tensor -= by;
}

static void free_ports(struct mafat_port *ports, int n)
{
  for (int i = 0; ports && i < n; i++) {
    free(ports[i].name);
    free(ports[i].sources.list);
  }
  free(ports);
}

/* False if no layer was stored in *l yet: its memory is still zero. */
static bool is_made(const struct mafat_layer *l)
{
  return l->operands || l->groups;
}

MAFAT_PART(opening) void mafat_network_shorten(struct mafat_network *network, int n)
{
  struct mafat_layer *layers = network->layers;
  for (int l = 0; l < n; l++)
    for (int k = 0; k < layers[l].n_operands; k++)
      move_sources(&layers[l].operands[k].sources, network->n_layers, network->n_layers - n);
  for (int i = 0; network->inputs && i < network->n_inputs; i++)
    move_sources(&network->inputs[i].sources, network->n_layers, network->n_layers - n);
  for (int i = 0; i < network->n_outputs; i++)
    move_sources(&network->outputs[i].sources, network->n_layers, network->n_layers - n);
  for (int l = n; l < network->n_layers && is_made(&layers[l]); l++) free_layer(&layers[l]);
  memmove(layers + n, layers + network->n_layers, (size_t)network->n_inputs * sizeof *layers);
  while (network->n_more > 0 && network->makers[network->n_more - 1].layer >= n) network->n_more--;
  network->n_layers = n;
}

int mafat_network_add_outputs(struct mafat_network *n, int layer)
{
  struct mafat_more_outputs *more = n->layers[layer].more;
  if (!more) return MAFAT_OK;
  struct mafat_maker *grown = realloc(n->makers, (size_t)(n->n_more + more->n) * sizeof *grown);
  if (!grown) return MAFAT_ENOMEM;
  n->makers = grown;
  more->first = n->n_more;
  for (int k = 0; k < more->n; k++) grown[n->n_more++] = (struct mafat_maker){layer, k + 1};
  return MAFAT_OK;
}

void mafat_network_close(struct mafat_network **network)
{
  if (!network || !*network) return;
  struct mafat_network *n = *network;
  for (int i = 0; n->layers && i < mafat_network_n_operators(n); i++) free_layer(&n->layers[i]);
  free_ports(n->inputs, n->n_inputs);
  free_ports(n->outputs, n->n_outputs);
  free(n->layers);
  free(n->makers);
  mafat_constants_close(&n->constants);
  for (int i = 0; i < n->n_files; i++) free(n->files[i]);
  free(n->files);
  free(n->states);
  free(n->values);
  free(n->path);
  free(n);
  *network = NULL;
}

MAFAT_PART(opening)
int mafat_network_ask_for(struct mafat_network *n, int n_layers, const int *layers, int count,
                          struct mafat_diagnostic *d)
{
  if (count < 0 || (count > 0 && !layers))
    return mafat_fail(d, MAFAT_EINVAL,
                      "%s: expected a list of outputs, found %d of them in no list", n->path,
                      count);
  for (int i = 0; i < count; i++) {
    if (layers[i] < 0 || layers[i] >= n_layers)
      return mafat_fail(d, MAFAT_EINVAL, "%s: expected outputs of layers from 0 to %d, found %d",
                        n->path, n_layers - 1, layers[i]);
    n->layers[layers[i]].output = true;
    for (int k = 1; k < mafat_layer_n_outputs(&n->layers[layers[i]]); k++)
      n->layers[layers[i]].more->list[k - 1].asked = true;
  }
  return MAFAT_OK;
}

struct mafat_sources mafat_network_output_sources(const struct mafat_network *n, int index,
                                                  struct mafat_source *self)
{
  if (index < n->n_layers && mafat_layer_is_alias(&n->layers[index]))
    return *mafat_layer_sources(&n->layers[index]);
  return mafat_network_tensor_sources(n, index, self);
}

struct mafat_sources mafat_network_tensor_sources(const struct mafat_network *n, int tensor,
                                                  struct mafat_source *self)
{
  struct mafat_shape shape = mafat_network_tensor_shape(n, tensor);
  *self = (struct mafat_source){tensor, 0, shape.c, 0, shape.h};
  return (struct mafat_sources){self, 1, 1};
}

/* ---- operands ---- */

static const char *find_source_fault(const struct mafat_network *n, int layer,
                                     const struct mafat_operand *o, const struct mafat_source *s)
{
  if (s->tensor < 0 || s->tensor >= mafat_network_n_tensors(n))
    return "reads a tensor that is not made before it";
  int maker = mafat_network_operator(n, s->tensor);
  if (!mafat_network_is_input(n, maker) && maker >= layer)
    return "reads a tensor that is not made before it";
  if (mafat_layer_is_alias(&n->layers[maker])) return "reads a layer that has no tensor";
  struct mafat_shape shape = mafat_network_tensor_shape(n, s->tensor);
  if (s->n < 1 || s->first < 0 || s->n > shape.c - s->first)
    return "reads channels outside a map";
  if (s->n_rows < 1 || s->first_row < 0 || s->n_rows > shape.h - s->first_row)
    return "reads rows outside a map";
  if (shape.w != o->shape.w) return "reads maps of another width";
  if (mafat_network_tensor_type(n, s->tensor) !=
      mafat_network_tensor_type(n, o->sources.list[0].tensor))
    return "reads elements of several types";
  if (!mafat_quantization_equals(mafat_network_tensor_quantization(n, s->tensor),
                                 mafat_network_tensor_quantization(n, o->sources.list[0].tensor)))
    return "reads integers of several scales or zero points";
  return NULL;
}

/* Compares slice s of a band with `first`, the same slice of the first band. Both must have the
 * same channels, alignment and block widths (sources.h). Returns the fault, or NULL. */
static const char *find_slice_fault(const struct mafat_network *n, const struct mafat_source *s,
                                    const struct mafat_source *first)
{
  int block = s->first / MAFAT_CHANNEL_BLOCK, first_block = first->first / MAFAT_CHANNEL_BLOCK;
  int lane = s->first % MAFAT_CHANNEL_BLOCK, first_lane = first->first % MAFAT_CHANNEL_BLOCK;
  if (s->n != first->n) return "has bands of rows that are cut at different channels";
  if (lane != first_lane && mafat_max(lane, first_lane) + s->n > MAFAT_CHANNEL_BLOCK)
    return "has bands of rows whose channels are aligned differently in their blocks";
  /* blocks before the last are full, because channels follow them */
  int last = mafat_n_blocks(lane + s->n) - 1;
  if (mafat_block_width(mafat_network_tensor_shape(n, s->tensor).c, block + last) !=
      mafat_block_width(mafat_network_tensor_shape(n, first->tensor).c, first_block + last))
    return "has bands of rows whose channels are in blocks of different widths";
  return NULL;
}

static const char *find_operand_fault(const struct mafat_network *n, int layer,
                                      const struct mafat_operand *o)
{
  const struct mafat_sources *s = &o->sources;
  long long channels = 0, rows = 0;
  for (int i = 0; i < mafat_sources_count(s); i++) {
    const struct mafat_source *band = &s->list[i - i % s->n];
    const char *fault = find_source_fault(n, layer, o, &s->list[i]);
    if (!fault) fault = find_slice_fault(n, &s->list[i], &s->list[i % s->n]);
    if (!fault && s->list[i].n_rows != band->n_rows)
      fault = "has a band of sources with different numbers of rows";
    if (fault) return fault;
    if (i < s->n) channels += s->list[i].n;
    if (i % s->n == 0) rows += s->list[i].n_rows;
  }
  /* operands of a blend after the first may have fewer channels */
  bool input = o == n->layers[layer].operands;
  if (input ? channels != o->shape.c : channels > o->shape.c)
    return "has sources with more or fewer channels than its shape";
  return rows != o->shape.h ? "has sources with more or fewer rows than its shape" : NULL;
}

MAFAT_PART(opening)
int mafat_network_check_operand(const struct mafat_network *n, int layer, int operand,
                                const struct mafat_infer_context *context)
{
  const struct mafat_operand *o = &n->layers[layer].operands[operand];
  int slices = o->sources.n, bands = o->sources.n_bands;
  if (slices < 1 || bands < 1)
    return mafat_fail(context->d, MAFAT_EFORMAT, "%s:%d: operand %d of layer [%s] reads nothing",
                      context->path, context->line, operand, context->name);
  if (slices > MAFAT_MAX_SOURCES || bands > MAFAT_MAX_SOURCES || slices * bands > MAFAT_MAX_SOURCES)
    return mafat_fail(context->d, MAFAT_EUNSUPPORTED, "%s:%d: layer [%s] has too many sources",
                      context->path, context->line, context->name);
  const char *fault = find_operand_fault(n, layer, o);
  if (!fault) return MAFAT_OK;
  return mafat_fail(context->d, MAFAT_EFORMAT, "%s:%d: operand %d of layer [%s] %s", context->path,
                    context->line, operand, context->name, fault);
}

int mafat_network_take_operands(struct mafat_network *n, int layer,
                                const struct mafat_infer_context *context)
{
  const struct mafat_layer *l = &n->layers[layer];
  for (int k = 0; k < l->n_operands; k++) {
    int code = mafat_network_check_operand(n, layer, k, context);
    if (code) return code;
    n->n_sources += mafat_sources_count(&l->operands[k].sources);
    if (n->n_sources > MAFAT_MAX_ALL_SOURCES)
      return mafat_fail(
          context->d, MAFAT_EUNSUPPORTED,
          "%s:%d: expected at most %d sources of all layers, found more in layer [%s]",
          context->path, context->line, MAFAT_MAX_ALL_SOURCES, context->name);
  }
  return MAFAT_OK;
}
