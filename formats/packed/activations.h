/* Activations as whole numbers: a network of floats, some of whose layers shall compute with bytes. Which, and what the
 * numbers mean, a table in the packed file says (doc/packed.md); whoever reads one makes the same network of it as whoever
 * packed it, by the function below. Nothing behind it can tell that from a network whose file has whole numbers.
 *
 * A layer *computes* with whole numbers where the table says so: all that it reads, and what it puts out, are some. Between
 * such layers and others lie layers that quantize, or make floats again: behind what they are made of, once for all who read
 * it so. By ONNX's rule, so that a sum is rounded once. Bounds (relu) are the output's; a sloped rectifier (leaky) is in
 * the factors of sums; other functions become a layer of their own behind the sums, a table. */
#ifndef MAFAT_FORMATS_PACKED_ACTIVATIONS_H
#define MAFAT_FORMATS_PACKED_ACTIVATIONS_H

#include "network/network.h"

enum { MAFAT_ACTIVATIONS_MOST_ROW = 1 << 15 }; /* weights of a filter: products of bytes stay below 2^30 */

/* Of one tensor of the network of floats. */
struct mafat_activation_numbers {
  int tensor;
  float scale;                /* a number means scale * (number - zero) */
  float before_scale;         /* of sums before a function that is a table; 0: there is none */
  unsigned char zero, before_zero;
  bool computes;              /* else floats, of which numbers are made for layers that compute with them */
};

struct mafat_activations {
  int n_layers, n;            /* of the network of floats; how many of its tensors are listed */
  struct mafat_activation_numbers list[]; /* by tensor, ascending */
};

/* None yet, of so many at most; NULL: out of memory. The caller's to free. */
struct mafat_activations *mafat_activations_make(int n_layers, int room);

/* Scales that no factor of two overflows a float with. */
bool mafat_activations_is_scale(float scale);

/* Can the layer of floats compute with whole numbers? */
bool mafat_activations_can_compute(const struct mafat_network *n, int layer);
/* Is its function then a table behind its sums? */
bool mafat_activations_has_table(const struct mafat_layer *l);

/* Maps that are read as one, and those that a layer reads and puts out unchanged, have the same scale and zero point:
 * same[tensor] is the first tensor that has the same. */
void mafat_activations_find_classes(const struct mafat_activations *a, const struct mafat_network *n, int *same);

/* What becomes of each tensor of the network of floats: those that are what it was. */
struct mafat_activations_places {
  int made;    /* computes it */
  int put;     /* behind its function */
  int floats, numbers; /* the same as such; -1: nobody takes them so */
};

/* Makes such a network of n. places: [tensor], as they were before. `types` false: functions that would be tables
 * become layers of their own, and all stay floats: to see what sums come to. MAFAT_EFORMAT: no such network can be: name is
 * for messages; then n is to be closed. MAFAT_ENOMEM. */
int mafat_activations_apply(struct mafat_network *n, const struct mafat_activations *a, bool types,
                            struct mafat_activations_places *places, const char *name, struct mafat_diagnostic *d);

#endif
