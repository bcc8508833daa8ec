/* Reads the index of packed files from memory, and writes it to a buffer. Called by
 * formats/packed/packed.c. Allocates the cfg or embedded graph, and the table of activations, which
 * struct mafat_packed owns. */
#include "formats/packed/index.h"

#include "base/part.h"
#include "formats/darknet/fork.h"
#include "formats/packed/graph.h"
#include "network/constant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct index {
  struct mafat_bytes_reader bytes;
  const char *name; /* path of the file, for messages */
  struct mafat_diagnostic *d;
};

static int damaged(const struct index *i, const char *what)
{
  return mafat_fail(i->d, MAFAT_EFORMAT, "%s: the index is damaged: %s", i->name, what);
}

/* ---- the graph ---- */

/* Allocates a cfg, and in cfg->text a copy of the rest of the index, into which its sections will
 * point. */
static struct mafat_cfg *begin_graph(const struct index *i, uint32_t n_operators,
                                     uint32_t n_parameters)
{
  struct mafat_cfg *cfg = calloc(1, sizeof *cfg);
  if (!cfg) return NULL;
  cfg->path = strdup(i->name);
  cfg->text = malloc(i->bytes.left + 1);
  cfg->sections = calloc((size_t)n_operators + 1, sizeof *cfg->sections);
  cfg->options = calloc((size_t)n_parameters + 1, sizeof *cfg->options);
  if (cfg->path && cfg->text && cfg->sections && cfg->options) {
    memcpy(cfg->text, i->bytes.at, i->bytes.left);
    return cfg;
  }
  mafat_cfg_close(&cfg);
  return NULL;
}

/* Reads an operator and its parameters. False: it has more than *parameters_left parameters, or
 * more than a section may have. */
static bool read_operator(struct mafat_bytes_reader *r, struct mafat_cfg *cfg,
                          uint32_t *parameters_left)
{
  struct mafat_cfg_section *s = &cfg->sections[cfg->n_sections++];
  s->type = mafat_bytes_word(r);
  s->line = (int)(mafat_bytes_u32(r) & INT32_MAX);
  uint32_t n = mafat_bytes_u32(r);
  if (n > *parameters_left || n > MAFAT_CFG_MAX_KEYS) return false;
  *parameters_left -= n;
  s->n_options = (int)n;
  for (int k = 0; k < s->n_options; k++) {
    s->options[k].key = mafat_bytes_word(r);
    s->options[k].value = mafat_bytes_word(r);
    s->options[k].line = s->line;
  }
  return true;
}

/* Reads the operators as a cfg, which p->graph keeps if `wanted`. */
static int read_graph(struct mafat_packed *p, struct index *i, bool wanted)
{
  enum { LEAST_OPERATOR = 13, LEAST_PARAMETER = 10 }; /* minimum bytes of each */
  uint32_t n = mafat_bytes_u32(&i->bytes), parameters = mafat_bytes_u32(&i->bytes);
  if (n == 0) return MAFAT_OK; /* the file has none */
  bool alike = n - 1 == (uint32_t)p->n_layers ||
               (mafat_packed_has_activations(p->version) && n - 1 < (uint32_t)p->n_layers);
  if (!alike || n > i->bytes.left / LEAST_OPERATOR || parameters > i->bytes.left / LEAST_PARAMETER)
    return damaged(i, "its number of operators is wrong");
  struct mafat_cfg *cfg = begin_graph(i, n, parameters);
  if (!cfg) return mafat_fail(i->d, MAFAT_ENOMEM, "%s: out of memory", i->name);
  struct mafat_bytes_reader copy = {cfg->text, i->bytes.left, false};
  struct mafat_cfg_option *free_options = cfg->options;
  bool good = true;
  for (uint32_t k = 0; k < n && good; k++) {
    cfg->sections[k].options = free_options;
    good = read_operator(&copy, cfg, &parameters);
    free_options += cfg->sections[k].n_options;
  }
  good = good && !copy.failed && parameters == 0;
  i->bytes.at += i->bytes.left - copy.left;
  i->bytes.left = copy.left;
  if (good && wanted) p->graph = cfg;
  else mafat_cfg_close(&cfg);
  return good ? MAFAT_OK : damaged(i, "an operator is invalid");
}

/* Returns the name of the kind of layer `layer` of the cfg. Network n may have additional layers,
 * which were inserted for quantized activations. */
static const char *name_of(const struct mafat_network *n, const struct mafat_packed_origin *origin,
                           int layer)
{
  return mafat_layer_type_name(
      n->layers[origin->activations ? origin->places[layer].made : layer].type);
}

static void write_graph(const struct mafat_network *n, const struct mafat_packed_origin *origin,
                        struct mafat_bytes *to)
{
  const struct mafat_cfg *graph = origin ? origin->cfg : NULL;
  uint32_t used = 0;
  for (int i = 0; graph && i < graph->n_sections; i++)
    for (int k = 0; k < graph->sections[i].n_options; k++)
      used += graph->sections[i].options[k].used;
  mafat_bytes_put_u32(to, graph ? (uint32_t)graph->n_sections : 0);
  mafat_bytes_put_u32(to, used);
  for (int i = 0; graph && i < graph->n_sections; i++) {
    const struct mafat_cfg_section *s = &graph->sections[i];
    uint32_t n_used = 0;
    for (int k = 0; k < s->n_options; k++) n_used += s->options[k].used;
    mafat_bytes_put_word(to, i == 0 ? "net" : name_of(n, origin, i - 1));
    mafat_bytes_put_u32(to, (uint32_t)s->line);
    mafat_bytes_put_u32(to, n_used);
    for (int k = 0; k < s->n_options; k++) {
      if (!s->options[k].used) continue;
      mafat_bytes_put_word(to, s->options[k].key);
      mafat_bytes_put_word(to, s->options[k].value);
    }
  }
}

/* ---- constants ---- */

/* Finds a type by name. False: weights cannot be packed in it. */
static bool find_type(enum mafat_dtype *type, const char *word)
{
  for (int t = 0; t < MAFAT_N_DTYPES; t++) {
    *type = (enum mafat_dtype)t;
    if ((t == MAFAT_F32 || t == MAFAT_U8 || mafat_dtypes[t].narrow) &&
        strcmp(word, mafat_dtype_name(*type)) == 0)
      return true;
  }
  return false;
}

/* Reads the entry of a layer with weights. Its index must be at least *next, which becomes the
 * index after it. */
static int read_constant(struct mafat_packed *p, struct index *i, int *next)
{
  uint32_t layer = mafat_bytes_u32(&i->bytes);
  const char *type = mafat_bytes_word(&i->bytes), *order = mafat_bytes_word(&i->bytes);
  struct mafat_packed_entry e;
  e.offset = mafat_bytes_u64(&i->bytes);
  e.bytes = mafat_bytes_u64(&i->bytes);
  e.checksum = mafat_bytes_u64(&i->bytes);
  if (i->bytes.failed || layer >= (uint32_t)p->n_layers || (int)layer < *next || e.bytes == 0)
    return damaged(i, "an entry of weights is invalid");
  if (!find_type(&p->types[layer], type) || strcmp(order, mafat_order_name(MAFAT_ORDER_READY)) != 0)
    return mafat_fail(
        i->d, MAFAT_EUNSUPPORTED,
        "%s: expected weights of a supported type, in order %s, found %.40s, %.40s", i->name,
        mafat_order_name(MAFAT_ORDER_READY), type, order);
  p->entries[layer] = e;
  *next = (int)layer + 1;
  return MAFAT_OK;
}

static int read_constants(struct mafat_packed *p, struct index *i)
{
  int next = 0, code = MAFAT_OK;
  for (uint32_t left = mafat_bytes_u32(&i->bytes); left > 0 && code == MAFAT_OK; left--)
    code = read_constant(p, i, &next);
  return code;
}

static void write_constants(const struct mafat_packed *p, struct mafat_bytes *to)
{
  uint32_t n = 0;
  for (int l = 0; l < p->n_layers; l++) n += p->entries[l].bytes > 0;
  mafat_bytes_put_u32(to, n);
  for (int l = 0; l < p->n_layers; l++) {
    const struct mafat_packed_entry *e = &p->entries[l];
    if (e->bytes == 0) continue;
    mafat_bytes_put_u32(to, (uint32_t)l);
    mafat_bytes_put_word(to, mafat_dtype_name(p->types[l]));
    mafat_bytes_put_word(to, mafat_order_name(MAFAT_ORDER_READY));
    mafat_bytes_put_u64(to, e->offset);
    mafat_bytes_put_u64(to, e->bytes);
    mafat_bytes_put_u64(to, e->checksum);
  }
}

/* ---- activations ---- */

static float float_of(uint32_t bits)
{
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static uint32_t bits_of(float x)
{
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* Reads an entry of the table of activations. False: a value is out of its type's range.
 * mafat_activations_apply checks the rest. */
static bool read_numbers(struct mafat_bytes_reader *r, struct mafat_activation_numbers *a)
{
  uint32_t operator = mafat_bytes_u32(r), computes = mafat_bytes_u32(r), zero, before_zero;
  a->scale = float_of(mafat_bytes_u32(r));
  zero = mafat_bytes_u32(r);
  a->before_scale = float_of(mafat_bytes_u32(r));
  before_zero = mafat_bytes_u32(r);
  a->tensor = (int)(operator & INT32_MAX);
  a->computes = computes;
  a->zero = (unsigned char)zero;
  a->before_zero = (unsigned char)before_zero;
  return operator <= INT32_MAX && computes <= 1 && zero <= UINT8_MAX && before_zero <= UINT8_MAX;
}

static int read_activations(struct mafat_packed *p, struct index *i, bool wanted)
{
  enum { NUMBERS_BYTES = 24 };
  uint32_t n_layers = mafat_bytes_u32(&i->bytes), n = mafat_bytes_u32(&i->bytes);
  if (n_layers > (uint32_t)p->n_layers || n > i->bytes.left / NUMBERS_BYTES)
    return damaged(i, "its number of activations is wrong");
  struct mafat_activations *a = mafat_activations_make((int)n_layers, (int)n);
  if (!a) return mafat_fail(i->d, MAFAT_ENOMEM, "%s: out of memory", i->name);
  bool good = true;
  for (a->n = 0; a->n < (int)n && good; a->n++) {
    good = read_numbers(&i->bytes, &a->list[a->n]);
    if (a->n > 0) good = good && a->list[a->n].tensor > a->list[a->n - 1].tensor;
  }
  if (good && wanted) p->activations = a;
  else free(a);
  return good ? MAFAT_OK : damaged(i, "an entry of activations is invalid");
}

static void write_activations(const struct mafat_activations *a, struct mafat_bytes *to)
{
  mafat_bytes_put_u32(to, (uint32_t)a->n_layers);
  mafat_bytes_put_u32(to, (uint32_t)a->n);
  for (int i = 0; i < a->n; i++) {
    mafat_bytes_put_u32(to, (uint32_t)a->list[i].tensor);
    mafat_bytes_put_u32(to, a->list[i].computes);
    mafat_bytes_put_u32(to, bits_of(a->list[i].scale));
    mafat_bytes_put_u32(to, a->list[i].zero);
    mafat_bytes_put_u32(to, bits_of(a->list[i].before_scale));
    mafat_bytes_put_u32(to, a->list[i].before_zero);
  }
}

/* ---- options ---- */

/* Copies a word with the zeros that follow it. False: it is too long. */
MAFAT_PART(opening)
static bool read_short_word(struct mafat_bytes_reader *r, char *to, size_t capacity)
{
  const char *word = mafat_bytes_word(r);
  size_t n = strlen(word);
  if (n < capacity) memcpy(to, word, n);
  return n < capacity;
}

/* Numbers that are not stored must be 0. Does not check the meaning of the words, nor mean and
 * scale together: api/picture_options.c and runner/detect/heads/heads.c do. */
MAFAT_PART(opening) static int read_options(struct mafat_packed *p, struct index *i)
{
  struct mafat_stored_options *o = &p->options;
  float *const numbers[] = {o->mean, o->scale, &o->pad};
  o->numbers = mafat_bytes_u32(&i->bytes);
  bool good = o->numbers <= (MAFAT_STORED_MEAN | MAFAT_STORED_SCALE | MAFAT_STORED_PAD);
  for (int k = 0; k < 7; k++) {
    uint32_t bits = mafat_bytes_u32(&i->bytes);
    float x = float_of(bits);
    numbers[k / 3][k % 3] = x;
    good &= o->numbers >> k / 3 & 1 ? isfinite(x) : bits == 0;
  }
  good &= o->pad >= 0 && o->pad <= 255;
  good &= read_short_word(&i->bytes, o->channels, sizeof o->channels);
  good &= read_short_word(&i->bytes, o->resize, sizeof o->resize);
  good &= read_short_word(&i->bytes, o->decode, sizeof o->decode);
  return good && mafat_stored_any(o) ? MAFAT_OK : damaged(i, "an option is invalid");
}

static void write_options(const struct mafat_stored_options *o, struct mafat_bytes *to)
{
  mafat_bytes_put_u32(to, o->numbers);
  for (int c = 0; c < 3; c++) mafat_bytes_put_u32(to, bits_of(o->mean[c]));
  for (int c = 0; c < 3; c++) mafat_bytes_put_u32(to, bits_of(o->scale[c]));
  mafat_bytes_put_u32(to, bits_of(o->pad));
  mafat_bytes_put_word(to, o->channels);
  mafat_bytes_put_word(to, o->resize);
  mafat_bytes_put_word(to, o->decode);
}

/* ---- whole index ---- */

/* Reads the name of the Darknet fork whose operators the file has. */
static int read_fork(struct mafat_packed *p, struct index *i)
{
  const char *words = mafat_bytes_word(&i->bytes);
  if (i->bytes.failed) return damaged(i, "it names no fork");
  if (mafat_fork_find(&p->fork, words, NULL) == MAFAT_OK && p->fork != MAFAT_FORK_AUTO)
    return MAFAT_OK;
  return mafat_fail(i->d, MAFAT_EUNSUPPORTED,
                    "%s: expected operators of darknet or alexeyab, found %.40s",
                    i->name, words);
}

int mafat_packed_index_read(struct mafat_packed *p, const char *index, size_t bytes,
                            const char *name, bool graph, struct mafat_diagnostic *d)
{
  struct index i = {{index, bytes, false}, name, d};
  bool embedded_graph = mafat_packed_has_embedded_graph(p->version);
  const char *wrong = embedded_graph ? mafat_packed_graph_index_read(p, &i.bytes, graph) : NULL;
  int code = wrong ? damaged(&i, wrong) : MAFAT_OK;
  if (!embedded_graph) code = read_fork(p, &i);
  if (!embedded_graph && code == MAFAT_OK) code = read_graph(p, &i, graph);
  if (code == MAFAT_OK) code = read_constants(p, &i);
  if (code == MAFAT_OK && mafat_packed_has_activations(p->version))
    code = read_activations(p, &i, graph);
  if (code == MAFAT_OK && mafat_packed_has_options(p->version)) code = read_options(p, &i);
  if (code == MAFAT_OK && (i.bytes.failed || i.bytes.left > 0))
    code = damaged(&i, "its length is wrong");
  return code;
}

MAFAT_PART(rare)
void mafat_packed_index_write(const struct mafat_packed *p, const struct mafat_network *n,
                              const struct mafat_packed_origin *origin, struct mafat_bytes *to)
{
  if (mafat_packed_has_embedded_graph(p->version)) {
    mafat_packed_graph_index_write(p, origin->embedded_graph, to);
  } else {
    mafat_bytes_put_word(to, mafat_fork_name(n->fork));
    write_graph(n, origin, to);
  }
  write_constants(p, to);
  if (mafat_packed_has_activations(p->version)) write_activations(origin->activations, to);
  if (mafat_packed_has_options(p->version)) write_options(origin->options, to);
}
