/* Converts a float network to one with quantized layers, by a packed file's table. Called by
 * formats/packed (network.c, index.c) when a file is opened, and by api/packing when it is written.
 * Allocates the new layers, which the network owns, and tables, which the caller frees. */
#include "formats/packed/activations.h"

#include "network/constant.h"
#include "network/resample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mafat_activations *mafat_activations_make(int n_layers, int capacity)
{
  struct mafat_activations *a = calloc(1, sizeof *a + (size_t)capacity * sizeof *a->list);
  if (a) a->n_layers = n_layers;
  return a;
}

bool mafat_activations_is_scale(float scale)
{
  return scale >= 0x1p-40f && scale <= 0x1p40f;
}

/* ---- supported layers ---- */

/* How an integer layer computes an activation (network/activations.def). */
enum { NEVER, BOUNDS, SLOPE, TABLE };

static int form_of(enum mafat_activation kind)
{
  static const unsigned char forms[MAFAT_N_ACTIVATIONS] = {
#define DARKNET(CONSTANT, name, price, integers, ...) [MAFAT_##CONSTANT] = integers,
#define KERNEL DARKNET
#define FUNCTION DARKNET
#include "network/activations.def"
  };
  return forms[kind];
}

/* Returns the slope of negative sums; 0: the activation has another form. */
static float slope_of(struct mafat_activating f)
{
  if (form_of(f.kind) != SLOPE) return 0;
  return f.kind == MAFAT_LEAKY ? .1f : f.a;
}

/* Finds the output range of an activation. False: the activation has another form. */
static bool find_bounds(struct mafat_activating f, float *least, float *most)
{
  *least = f.kind == MAFAT_CLIP ? f.a : f.kind == MAFAT_LINEAR ? -INFINITY : 0;
  *most = f.kind == MAFAT_CLIP ? f.b : f.kind == MAFAT_RELU6 ? 6 : INFINITY;
  return form_of(f.kind) == BOUNDS;
}

bool mafat_activations_has_table(const struct mafat_layer *l)
{
  return form_of(l->activation.kind) == TABLE;
}

/* True if a layer with weights can compute in integers. */
static bool can_sum(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  enum mafat_dtype type =
      n->constants ? (enum mafat_dtype)n->constants->layers[layer].weights.type : MAFAT_F32;
  float least, most;
  bool function = find_bounds(l->activation, &least, &most) || slope_of(l->activation) > 0 ||
                  form_of(l->activation.kind) == TABLE;
  return function && (type == MAFAT_F32 || type == MAFAT_F16) &&
         mafat_matrix_row(mafat_layer_matrix(l)) <= MAFAT_ACTIVATIONS_MOST_ROW;
}

static bool is_same(struct mafat_shape a, struct mafat_shape b)
{
  return a.h == b.h && a.w == b.w && a.c == b.c;
}

/* Number of channels of the sources. */
static int channels_of(const struct mafat_sources *s)
{
  int channels = 0;
  for (int i = 0; i < s->n; i++) channels += s->list[i].n;
  return channels;
}

static bool can_blend(const struct mafat_layer *l)
{
  float least, most;
  bool sum = l->blend == MAFAT_BLEND_ADD && l->alpha == 1 && l->beta == 1;
  if (l->n_operands != 2 || !(sum || l->blend == MAFAT_BLEND_MUL) ||
      !find_bounds(l->activation, &least, &most))
    return false;
  const struct mafat_operand *x = &l->operands[0], *z = &l->operands[1];
  return channels_of(&x->sources) == x->shape.c && channels_of(&z->sources) == z->shape.c &&
         is_same(x->shape, l->out) && (z->broadcast || is_same(z->shape, l->out));
}

bool mafat_activations_can_compute(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  if (l->out_type != MAFAT_F32 || l->more || mafat_layer_is_alias(l) ||
      !mafat_kind_of(l->type)->numbers)
    return false;
  if (mafat_layer_convolves(l))
    return !mafat_layer_multiplies(l) && mafat_layer_has_panels(l) && can_sum(n, layer);
  if (mafat_layer_blends(l)) return can_blend(l);
  if (l->resample && l->resample->interpolation == MAFAT_INTERPOLATE_CUBIC) return false;
  return mafat_layer_keeps_numbers(l) && l->n_operands == 1 && l->activation.kind == MAFAT_LINEAR &&
         !l->count_padding && (l->scale == 0 || l->scale == 1);
}

/* ---- shared quantization parameters ---- */

/* Returns the first tensor of the group that tensor i is in. */
static int first_of(const int *same, int i)
{
  while (same[i] != i) i = same[i];
  return i;
}

static void join(int *same, int a, int b)
{
  int first = first_of(same, a), other = first_of(same, b);
  same[first > other ? first : other] = first > other ? other : first;
}

/* Joins the sources of each operand into one group. If the layer keeps values unchanged, its output
 * joins them. */
static void join_reads(int *same, const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  for (int k = 0; k < l->n_operands; k++) {
    const struct mafat_sources *s = &l->operands[k].sources;
    for (int i = 1; i < mafat_sources_count(s); i++)
      join(same, s->list[0].tensor, s->list[i].tensor);
  }
  if (mafat_layer_keeps_numbers(l)) join(same, layer, mafat_layer_sources(l)->list[0].tensor);
}

void mafat_activations_find_classes(const struct mafat_activations *a,
                                    const struct mafat_network *n, int *same)
{
  int n_tensors = mafat_network_n_tensors(n);
  for (int i = 0; i < n_tensors; i++) same[i] = i;
  for (int i = 0; i < a->n; i++)
    if (a->list[i].computes) join_reads(same, n, a->list[i].tensor);
  for (int i = 0; i < n_tensors; i++) same[i] = first_of(same, i);
}

/* ---- building the network ---- */

struct making {
  struct mafat_network *n;
  const struct mafat_activation_numbers **of; /* [tensor]: its table entry, or NULL */
  struct mafat_activations_places *places;    /* [tensor] */
  bool *for_floats, *for_numbers;             /* [tensor]: read as floats; read as integers */
  struct mafat_layer *layers;                 /* layers and inputs of the new network */
  int n_layers;                               /* layers of the new network */
  int n_operators, n_tensors;                 /* of the old network */
  bool types;                                 /* as in mafat_activations_apply */
};

static bool computes(const struct making *m, int layer)
{
  return m->types && layer < m->n->n_layers && m->of[layer] && m->of[layer]->computes;
}

static bool has_table(const struct making *m, int layer)
{
  return layer < m->n->n_layers && m->of[layer] && m->of[layer]->computes &&
         mafat_activations_has_table(&m->n->layers[layer]);
}

static void note_sources(const struct mafat_sources *s, bool *read)
{
  for (int i = 0; i < mafat_sources_count(s); i++) read[s->list[i].tensor] = true;
}

/* Finds which tensors are read as floats and as integers; network outputs are floats. */
static void note_readers(const struct making *m)
{
  const struct mafat_network *n = m->n;
  int last = n->n_layers - 1;
  for (int l = 0; l < n->n_layers; l++) {
    if (mafat_layer_is_alias(&n->layers[l])) continue;
    for (struct mafat_reads r = mafat_layer_reads(&n->layers[l]); mafat_reads_next(&r);)
      (computes(m, l) ? m->for_numbers : m->for_floats)[r.source->tensor] = true;
  }
  for (int i = 0; i < n->n_outputs; i++) note_sources(&n->outputs[i].sources, m->for_floats);
  if (mafat_layer_is_alias(&n->layers[last]))
    note_sources(mafat_layer_sources(&n->layers[last]), m->for_floats);
  else
    for (int k = 0; k < mafat_layer_n_outputs(&n->layers[last]); k++)
      m->for_floats[mafat_network_output(n, last, k)] = true;
}

/* Numbers the layers that convert a layer's second and later outputs, from `next` on; returns the
 * next number. */
static int place_more(const struct making *m, int layer, int next)
{
  for (int k = 1; k < mafat_layer_n_outputs(&m->n->layers[layer]); k++) {
    int t = mafat_network_output(m->n, layer, k);
    m->places[t].numbers = m->types && m->for_numbers[t] ? next++ : -1;
  }
  return next;
}

/* Numbers the layers of the new network, in execution order: fills in m->places. */
static int place(struct making *m, const char *name, struct mafat_diagnostic *d)
{
  int next = 0, n_layers = m->n->n_layers;
  for (int i = n_layers; i < m->n_operators; i++)
    m->places[i].numbers = m->types && m->for_numbers[i] ? next++ : -1;
  for (int l = 0; l < n_layers; l++) {
    struct mafat_activations_places *p = &m->places[l];
    p->made = p->put = next++;
    if (has_table(m, l)) p->put = next++;
    p->floats = p->numbers = -1;
    if (computes(m, l)) p->numbers = p->put, p->floats = m->for_floats[l] ? next++ : -1;
    else p->floats = p->put, p->numbers = m->types && m->for_numbers[l] ? next++ : -1;
    next = place_more(m, l, next);
  }
  for (int i = n_layers; i < m->n_tensors; i++)
    m->places[i].made = m->places[i].put = m->places[i].floats = next + i - n_layers;
  m->n_layers = next;
  if (next <= MAFAT_MAX_LAYERS) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT, "%s: would have %d layers, expected at most %d", name, next,
                    MAFAT_MAX_LAYERS);
}

/* Returns quantization parameters with the full range, rounded by ONNX's rule. */
static struct mafat_quantization numbers_of(float scale, unsigned char zero)
{
  struct mafat_quantization q = mafat_quantization(scale, zero);
  q.rounding = MAFAT_REQUANTIZE_EVEN;
  return q;
}

/* Makes new layer `at`, which reads new layer `after` and has the same shape. */
static int append(struct making *m, int at, enum mafat_layer_type type, int after)
{
  const struct mafat_shape shape = mafat_network_tensor_shape(m->n, after);
  struct mafat_layer *l = &m->layers[at];
  struct mafat_source *source = malloc(sizeof *source);
  struct mafat_operand *operand = calloc(1, sizeof *operand);
  *l = (struct mafat_layer){.type = type,
                            .line = mafat_network_made_by(m->n, after)->line,
                            .operands = operand,
                            .in = shape,
                            .out = shape};
  if (!source || !operand) {
    free(source);
    return MAFAT_ENOMEM;
  }
  l->n_operands = 1;
  *source = (struct mafat_source){after, 0, shape.c, 0, shape.h};
  *operand = (struct mafat_operand){.sources = {source, 1, 1}, .shape = shape};
  return MAFAT_OK;
}

/* Makes the layer that applies the activation of `layer` to its sums, by a table. */
static int append_function(struct making *m, int layer)
{
  const struct mafat_activations_places *p = &m->places[layer];
  const struct mafat_activation_numbers *a = m->of[layer];
  struct mafat_layer *sums = &m->layers[p->made];
  int code = append(m, p->put, MAFAT_ACTIVATION_LAYER, p->made);
  if (code) return code;
  m->layers[p->put].activation = sums->activation;
  sums->activation = mafat_activating(MAFAT_LINEAR);
  if (!m->types) return MAFAT_OK;
  m->layers[p->put].out_type = MAFAT_U8;
  m->layers[p->put].quantization = numbers_of(a->scale, a->zero);
  return MAFAT_OK;
}

/* Makes a layer of the new network compute in integers. */
static void quantize_layer(struct making *m, int layer)
{
  const struct mafat_activation_numbers *a = m->of[layer];
  struct mafat_layer *l = &m->layers[m->places[layer].made];
  bool table = m->places[layer].put != m->places[layer].made;
  float least, most;
  l->out_type = MAFAT_U8;
  l->quantization =
      table ? numbers_of(a->before_scale, a->before_zero) : numbers_of(a->scale, a->zero);
  if (mafat_layer_has_panels(l)) l->weights_type = MAFAT_I8;
  if (slope_of(l->activation) > 0) {
    l->activation = mafat_activating_sloped(slope_of(l->activation));
  } else if (find_bounds(l->activation, &least, &most)) {
    mafat_quantization_clamp(&l->quantization, least, most);
    l->activation = mafat_activating(MAFAT_LINEAR);
  }
}

/* Makes the layer that converts tensor i from integers to floats or back, if it is needed. */
static int append_other(struct making *m, int i)
{
  const struct mafat_activations_places *p = &m->places[i];
  int at = p->put == p->floats ? p->numbers : p->floats, code;
  if (at < 0 || at == p->put) return MAFAT_OK;
  if ((code = append(m, at, MAFAT_QUANTIZE, p->put))) return code;
  if (at == p->floats) return MAFAT_OK;
  m->layers[at].out_type = MAFAT_U8;
  m->layers[at].quantization = numbers_of(m->of[i]->scale, m->of[i]->zero);
  return MAFAT_OK;
}

/* Replaces old tensors by new ones: integers if `numbers`, else floats. An alias reads floats, or
 * integers if there are no floats. */
static void renumber(const struct making *m, struct mafat_sources *s, bool numbers, bool alias)
{
  for (int i = 0; i < mafat_sources_count(s); i++) {
    const struct mafat_activations_places *p = &m->places[s->list[i].tensor];
    s->list[i].tensor = alias && p->floats < 0 ? p->put : numbers ? p->numbers : p->floats;
  }
}

/* Moves the old layers to their new positions, and renumbers everything that refers to them. */
static void move(struct making *m)
{
  struct mafat_network *n = m->n;
  for (int i = 0; i < m->n_operators; i++) {
    struct mafat_layer *l = &m->layers[m->places[i].made];
    *l = n->layers[i];
    for (int k = 0; k < l->n_operands; k++)
      renumber(m, &l->operands[k].sources, computes(m, i),
               i < n->n_layers && mafat_layer_is_alias(l));
  }
  for (int i = 0; n->inputs && i < n->n_inputs; i++)
    renumber(m, &n->inputs[i].sources, false, false);
  for (int i = 0; i < n->n_outputs; i++) renumber(m, &n->outputs[i].sources, false, false);
  for (int i = 0; i < n->n_more; i++) n->makers[i].layer = m->places[n->makers[i].layer].made;
  free(n->layers);
  n->layers = m->layers;
}

/* Moves the constants. New layers have none: their offset in the file is the end of the previous
 * layer's constants, as in Darknet's files. */
static void move_constants(const struct making *m, struct mafat_constants *to)
{
  struct mafat_constants *from = m->n->constants;
  for (int l = 0, n = m->n->n_layers; from && l < n; l++) {
    int at = m->places[l].made, end = l + 1 < n ? m->places[l + 1].made : m->n_layers;
    uint64_t weights = mafat_constant_end(&from->layers[l].weights),
             normalization = mafat_constant_end(&from->layers[l].normalization);
    to->layers[at] = from->layers[l];
    while (++at < end)
      to->layers[at].weights.at = weights > normalization ? weights : normalization;
  }
  free(from);
  m->n->constants = to;
}

/* If the layer is an output of the network, makes its float version the output instead. */
static void move_output(struct making *m, int layer)
{
  const struct mafat_activations_places *p = &m->places[layer];
  if (p->floats < 0 || p->floats == p->made || !m->layers[p->made].output) return;
  m->layers[p->made].output = false;
  m->layers[p->floats].output = true;
}

static int make(struct making *m, struct mafat_constants *constants)
{
  int n_layers = m->n->n_layers, code = MAFAT_OK;
  move(m);
  move_constants(m, constants);
  m->n->n_layers = m->n_layers;
  for (int i = 0; i < m->n_tensors && code == MAFAT_OK; i++) {
    if (i < n_layers && m->places[i].put != m->places[i].made) code = append_function(m, i);
    if (code == MAFAT_OK && m->types && i < n_layers && m->of[i] && m->of[i]->computes)
      quantize_layer(m, i);
    if (code == MAFAT_OK) code = append_other(m, i);
    if (code == MAFAT_OK && i < n_layers) move_output(m, i);
  }
  return code;
}

/* ---- checking the table ---- */

static int refuse(const char *name, int tensor, const char *what, struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_EFORMAT, "%s: the index is damaged: operator %d %s", name, tensor,
                    what);
}

static const char *find_fault(const struct mafat_network *n,
                              const struct mafat_activation_numbers *a)
{
  if (a->tensor < 0 || a->tensor >= mafat_network_n_tensors(n)) return "is not in the network";
  const struct mafat_layer *l = mafat_network_made_by(n, a->tensor);
  if (mafat_network_tensor_type(n, a->tensor) != MAFAT_F32 || mafat_layer_is_alias(l))
    return "has no output that could become integers";
  if (!mafat_activations_is_scale(a->scale)) return "has an invalid scale";
  if (a->computes && (a->tensor >= n->n_layers || !mafat_activations_can_compute(n, a->tensor)))
    return "cannot compute in integers";
  if (a->computes && mafat_activations_has_table(l) && !mafat_activations_is_scale(a->before_scale))
    return "has an invalid scale before its activation";
  return NULL;
}

/* Checks that tensors of a group have the same scale and zero point. */
static int check_classes(const struct making *m, const struct mafat_activations *a,
                         const char *name, struct mafat_diagnostic *d)
{
  int *same = malloc((size_t)m->n_tensors * sizeof *same), code = MAFAT_OK;
  if (!same) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", name);
  mafat_activations_find_classes(a, m->n, same);
  for (int i = 0; i < a->n && code == MAFAT_OK; i++) {
    const struct mafat_activation_numbers *one = &a->list[i], *first = m->of[same[one->tensor]];
    if (!first || first->scale != one->scale || first->zero != one->zero)
      code = refuse(name, one->tensor, "has another scale than tensors that are read with it", d);
  }
  free(same);
  return code;
}

/* Checks the table, and fills in m->of, m->for_floats and m->for_numbers. */
static int check_table(struct making *m, const struct mafat_activations *a, const char *name,
                       struct mafat_diagnostic *d)
{
  if (a->n_layers != m->n->n_layers)
    return mafat_fail(d, MAFAT_EFORMAT,
                      "%s: the index is damaged: activations of %d layers, expected %d", name,
                      a->n_layers, m->n->n_layers);
  for (int i = 0; i < a->n; i++) {
    const char *fault = find_fault(m->n, &a->list[i]);
    if (fault) return refuse(name, a->list[i].tensor, fault, d);
    m->of[a->list[i].tensor] = &a->list[i];
  }
  note_readers(m);
  for (int i = 0; i < m->n_tensors && m->types; i++)
    if (m->for_numbers[i] && !m->of[i])
      return refuse(name, i, "is read as integers, but has no scale", d);
  return m->types ? check_classes(m, a, name, d) : MAFAT_OK;
}

static int make_of(struct making *m, const struct mafat_activations *a, const char *name,
                   struct mafat_diagnostic *d)
{
  int code = check_table(m, a, name, d);
  if (code == MAFAT_OK) code = place(m, name, d);
  if (code) return code;
  m->layers = calloc((size_t)(m->n_layers + m->n->n_inputs), sizeof *m->layers);
  struct mafat_constants *constants = m->layers ? mafat_constants_make(m->n_layers) : NULL;
  code = constants ? make(m, constants) : MAFAT_ENOMEM;
  if (!constants) free(m->layers);
  return code       ? mafat_fail(d, code, "%s: out of memory", name)
         : m->types ? mafat_network_check_numbers(m->n, d)
                    : MAFAT_OK;
}

int mafat_activations_apply(struct mafat_network *n, const struct mafat_activations *a, bool types,
                            struct mafat_activations_places *places, const char *name,
                            struct mafat_diagnostic *d)
{
  struct making m = {.n = n,
                     .n_operators = mafat_network_n_operators(n),
                     .n_tensors = mafat_network_n_tensors(n),
                     .places = places,
                     .types = types};
  size_t capacity = (size_t)m.n_tensors;
  m.of = calloc(capacity, sizeof *m.of);
  m.for_floats = calloc(2 * capacity, sizeof *m.for_floats);
  m.for_numbers = m.for_floats ? m.for_floats + capacity : NULL;
  int code = m.of && m.for_floats ? make_of(&m, a, name, d)
                                  : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", name);
  free(m.of);
  free(m.for_floats);
  return code;
}
