/* Counts the memory that reading a model takes, and refuses it before it is allocated if it exceeds
 * a limit. Readers count what grows with a file: lists, names, tables. Included by base/,
 * formats/graph/graph.h and formats/onnx/names.h. Pure functions; NULL stands for an allowance
 * without a limit. */
#ifndef MAFAT_BASE_ALLOWANCE_H
#define MAFAT_BASE_ALLOWANCE_H

#include <stdbool.h>
#include <stddef.h>

struct mafat_allowance {
  size_t limit_bytes;
  size_t bytes, most_bytes; /* taken and not given back, now and at the peak */
  size_t kept_bytes;        /* the network's part, which stays after reading */
  size_t refused_bytes;     /* `bytes` as the first refused request would have made it; 0: none */
};

/* False: the limit would be exceeded; nothing is taken. */
bool mafat_allowance_take(struct mafat_allowance *a, size_t n, size_t bytes_each);
/* Takes the pages of a zeroed list of which only n_used entries are written. */
bool mafat_allowance_take_sparse(struct mafat_allowance *a, size_t n, size_t n_used,
                                 size_t bytes_each);
/* Takes memory that stays after reading. */
bool mafat_allowance_keep(struct mafat_allowance *a, size_t bytes);
void mafat_allowance_give(struct mafat_allowance *a, size_t bytes);
/* Bytes that were taken at the peak and are not the network's. */
size_t mafat_allowance_passing(const struct mafat_allowance *a);

#endif
