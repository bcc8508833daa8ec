/* Hashes a network for packed files. Called by formats/packed/packed.c. Pure functions. */
#include "formats/packed/identity.h"

#include "base/tuning.h"
#include "formats/packed/graph.h"
#include "formats/packed/hash.h"
#include "formats/packed/model.h"

#include <string.h>

/* Packed files of version 1 hashed a kind's index in this list; later versions hash its name. */
static const char *const version_1_kinds[] = {"convolutional", "maxpool",   "avgpool", "route",
                                              "shortcut",      "upsample",  "reorg",   "connected",
                                              "local",         "batchnorm", "crop",    "activation",
                                              "dropout",       "cost",      "softmax", "region",
                                              "yolo",          "detection"};

enum { N_VERSION_1_KINDS = sizeof version_1_kinds / sizeof *version_1_kinds };

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
  return mafat_hash(hash, &number, sizeof number);
}

static uint64_t hash_shape(uint64_t hash, struct mafat_shape s)
{
  return hash_number(hash_number(hash_number(hash, (uint64_t)s.h), (uint64_t)s.w), (uint64_t)s.c);
}

static uint64_t hash_kind(uint64_t hash, const char *name, unsigned version)
{
  uint64_t number = 0;
  if (version > 1) return mafat_hash(hash_number(hash, strlen(name)), name, strlen(name));
  while (number < N_VERSION_1_KINDS && strcmp(name, version_1_kinds[number]) != 0) number++;
  return hash_number(hash, number);
}

static uint64_t hash_weights(uint64_t hash, const struct mafat_layer *l)
{
  bool convolves = mafat_layer_convolves(l);
  hash = hash_number(hash, (uint64_t)l->in.c);
  hash = hash_number(hash, (uint64_t)l->out.c);
  hash = hash_number(hash, l->batch_normalize);
  if (!convolves) hash = hash_shape(hash, l->in); /* convolutions' weights suit any map size */
  if (mafat_layer_is_flat(l) || mafat_layer_weights_form(l) == MAFAT_WEIGHTS_AFFINE) return hash;
  hash = hash_number(hash, (uint64_t)l->window.y.size);
  if (l->window.x.size != l->window.y.size) hash = hash_number(hash, (uint64_t)l->window.x.size);
  hash = hash_number(hash, (uint64_t)l->groups);
  if (!convolves) hash = hash_shape(hash, l->out);
  const struct mafat_sources *sources = mafat_layer_sources(l);
  for (int s = 0; convolves && s < sources->n; s++) { /* sources determine the weights' blocks */
    hash = hash_number(hash, (uint64_t)(sources->list[s].first % MAFAT_CHANNEL_BLOCK));
    hash = hash_number(hash, (uint64_t)sources->list[s].n);
  }
  return hash;
}

/* Added to the hash of a network if normalization is folded as in AlexeyAB's fork. */
#define ALEXEYABS_MARK UINT64_C(0x4178656c41)

uint64_t mafat_packed_shapes_hash(const struct mafat_network *n, unsigned version)
{
  uint64_t hash = hash_number(MAFAT_HASH_START, (uint64_t)n->n_layers);
  for (int i = 0; i < n->n_layers; i++) {
    const struct mafat_layer *l = &n->layers[i];
    hash = hash_kind(hash, mafat_layer_type_name(l->type), version);
    if (mafat_layer_has_weights(l)) hash = hash_weights(hash, l);
  }
  if (n->fork == MAFAT_FORK_ALEXEYAB) hash = hash_number(hash, ALEXEYABS_MARK);
  return mafat_packed_has_embedded_graph(version) ? mafat_packed_graph_hash(hash, n) : hash;
}

static uint64_t hash_float(uint64_t hash, float x)
{
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return hash_number(hash, bits);
}

/* Hashes quantization parameters: multipliers, shifts and biases of the packed weights depend on
 * them. */
static uint64_t hash_numbers(uint64_t hash, const struct mafat_network *n, int tensor)
{
  const struct mafat_layer *l = mafat_network_made_by(n, tensor);
  const struct mafat_quantization *q = mafat_network_tensor_quantization(n, tensor);
  const bool sloped = l->activation.kind == MAFAT_SLOPED;
  hash = hash_number(hash, (uint64_t)tensor);
  hash = hash_float(hash, q->scale);
  hash =
      hash_number(hash, (uint64_t)q->zero | (uint64_t)q->least << 8 | (uint64_t)q->most << 16 |
                            (uint64_t)q->rounding << 24 | (uint64_t)q->is_signed << 31 |
                            (uint64_t)(uint8_t)l->weights_zero << 32 | (uint64_t)l->single << 40);
  return hash_float(hash, sloped ? l->activation.a : 0);
}

uint64_t mafat_packed_network_hash(const struct mafat_network *n, unsigned version)
{
  uint64_t hash = mafat_packed_shapes_hash(n, version);
  for (int t = 0; t < mafat_network_n_tensors(n); t++)
    if (mafat_network_tensor_type(n, t) != MAFAT_F32) hash = hash_numbers(hash, n, t);
  return hash;
}
