/* What ranks have to have in common, so that they come to one plan and their parts to the same bits: told and compared before any
 * of them opens anything. Its bytes are the first message of any version. */
#ifndef MAFAT_API_RANK_IDENTITY_H
#define MAFAT_API_RANK_IDENTITY_H

#include "base/model_source.h"
#include "include/mafat.h"

#include <stddef.h>
#include <stdint.h>

struct mafat_rank_identity {
  char version[24]; /* the program's */
  char host[64];
  char class[16];   /* of its kernels: how products and sums are rounded; empty: none can be had */
  uint64_t model, weights; /* checksums of the files; 0: it cannot be read, which opening it tells */
};

/* cpu: the highest level that is wished; NULL: any. */
void mafat_rank_identity_find(struct mafat_rank_identity *id, const struct mafat_model_source *model,
                              const struct mafat_model_source *weights, const char *cpu);

/* Of a file its size and what stands at both ends and at places in between, 256 KiB in all, of smaller ones everything: another
 * training is another everywhere, and nobody reads weights that are not his. 0: it cannot be read, or is NULL. */
uint64_t mafat_rank_identity_checksum(const struct mafat_model_source *source);

/* Of how many layers what is computed how: the plan's text, and the algorithms that it leaves open. */
struct mafat_plan;
uint64_t mafat_rank_identity_plan(const char *text, const struct mafat_plan *plan);

/* The first that differs from rank 0: MAFAT_EINVAL with one line of its number, host and difference. */
int mafat_rank_identity_compare(const struct mafat_rank_identity *list, int n, struct mafat_diagnostic *d);

#endif
