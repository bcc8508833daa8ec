/* Applies a packed file's table of quantized activations to a float network.
 *
 * The table (doc/packed.md) lists the layers that compute in integers and their quantization
 * parameters. Packing and running call the same function below, so both get the same network. Later
 * stages cannot tell that network from one whose file has integers.
 *
 * A layer *computes* in integers if the table says so; then its operands and its output are
 * integers. If a tensor is needed both as integers and as floats, or in the other form than its
 * producer makes, a quantize layer after the producer converts it once for all readers. Rounding
 * follows ONNX's rule, so a sum is rounded once. Activations that are bounds (relu) become the
 * output's range. A leaky rectifier becomes another factor for negative sums. Other functions
 * become a table layer after the sums.
 *
 * Included by api/packing/calibrate.h, formats/packed/model.h and runner/weights/equalize.h; called
 * by formats/packed/network.c and api/packing. Allocates the new layers. */
#ifndef MAFAT_FORMATS_PACKED_ACTIVATIONS_H
#define MAFAT_FORMATS_PACKED_ACTIVATIONS_H

#include "network/network.h"

/* most weights per filter: sums of byte products then stay below 2^30 */
enum { MAFAT_ACTIVATIONS_MOST_ROW = 1 << 15 };

/* Entry of the table, for one tensor of the float network. */
struct mafat_activation_numbers {
  int tensor;                 /* index in the float network */
  float scale;                /* real = scale * (value - zero) */
  float before_scale;         /* scale of the sums before a table function; 0: no table */
  unsigned char zero, before_zero;
  /* computed in integers; else in floats, and quantized for readers that compute in integers */
  bool computes;
};

struct mafat_activations {
  int n_layers, n;            /* layers of the float network; entries of the list */
  struct mafat_activation_numbers list[]; /* sorted by tensor */
};

/* Allocates an empty table for `capacity` entries; the caller frees it. NULL: out of memory. */
struct mafat_activations *mafat_activations_make(int n_layers, int capacity);

/* True for scales from 2^-40 to 2^40: the product of two cannot overflow a float. */
bool mafat_activations_is_scale(float scale);

/* True if this layer of the float network can compute in integers. */
bool mafat_activations_can_compute(const struct mafat_network *n, int layer);
/* True if the activation of the layer becomes a table layer when the layer computes in integers. */
bool mafat_activations_has_table(const struct mafat_layer *l);

/* Groups tensors that must share scale and zero point: tensors that one operand reads, and inputs
 * and outputs of layers that keep values unchanged. Sets same[tensor] to the first tensor of its
 * group. */
void mafat_activations_find_classes(const struct mafat_activations *a,
                                    const struct mafat_network *n, int *same);

/* Indices of the tensors of the new network that stand for one tensor of the float network. */
struct mafat_activations_places {
  int made;    /* output of the layer itself */
  int put;     /* output after the table layer; same as `made` if there is no table layer */
  int floats, numbers; /* the tensor as floats and as integers; -1: not needed */
};

/* Converts n, and fills in places: [tensor of the float network]. `types` false: only makes table
 * layers, and all values stay floats; this is used to observe the sums. name: for messages.
 * MAFAT_EFORMAT: invalid table; MAFAT_ENOMEM. After a failure n may only be closed. */
int mafat_activations_apply(struct mafat_network *n, const struct mafat_activations *a, bool types,
                            struct mafat_activations_places *places, const char *name,
                            struct mafat_diagnostic *d);

#endif
