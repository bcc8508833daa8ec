/* Counts the memory that reading a model needs, and refuses memory that would exceed a limit,
 * before it is allocated. Readers count what grows with a file: lists, names, tables. Included by
 * base/, formats/graph/graph.h and formats/onnx/names.h; called by api/, formats/darknet,
 * formats/packed and formats/tflite. Touches only its arguments; NULL stands for an allowance
 * without a limit. */
#ifndef MAFAT_BASE_ALLOWANCE_H
#define MAFAT_BASE_ALLOWANCE_H

#include <stdbool.h>
#include <stddef.h>

struct mafat_allowance {
  size_t limit_bytes;
  size_t bytes, most_bytes; /* counted now, and at the peak */
  size_t kept_bytes;        /* part of `bytes` that the network keeps after reading */
  size_t refused_bytes;     /* `bytes` plus the first request that was refused; 0: none */
};

/* Counts n * bytes_each bytes. False: the limit would be exceeded; nothing is counted. */
bool mafat_allowance_take(struct mafat_allowance *a, size_t n, size_t bytes_each);
/* Counts a list from calloc, of n entries of which only n_used are written: counts at most the
 * pages that are then touched. False: as above. */
bool mafat_allowance_take_sparse(struct mafat_allowance *a, size_t n, size_t n_used,
                                 size_t bytes_each);
/* Counts memory that the network keeps after reading. */
bool mafat_allowance_keep(struct mafat_allowance *a, size_t bytes);
/* Subtracts memory that was freed. */
void mafat_allowance_give(struct mafat_allowance *a, size_t bytes);
/* Returns the bytes at the peak that the network does not keep. */
size_t mafat_allowance_passing(const struct mafat_allowance *a);

#endif
