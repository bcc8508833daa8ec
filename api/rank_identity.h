/* Properties that all ranks must share to choose one plan and compute the same bits. Exchanged and
 * compared before any rank opens the model; its bytes are the first message in every version.
 * Included by api/rank_link.h; called by api/model.c and programs/mafat_ranks. Reads samples of
 * the files. */
#ifndef MAFAT_API_RANK_IDENTITY_H
#define MAFAT_API_RANK_IDENTITY_H

#include "base/model_source.h"
#include "include/mafat.h"

#include <stddef.h>
#include <stdint.h>

struct mafat_rank_identity {
  char version[24]; /* the program's version */
  char host[64];
  char class[16];   /* class of its kernels: how products and sums are rounded; empty: not
                       available */
  uint64_t model, weights; /* checksums of the files; 0: unreadable, reported when opened */
};

/* cpu: highest allowed level; NULL: any. */
void mafat_rank_identity_find(struct mafat_rank_identity *id,
                              const struct mafat_model_source *model,
                              const struct mafat_model_source *weights, const char *cpu);

/* Checksum of a file's size and of samples at both ends and in between, 256 KiB in all; smaller
 * files completely. Another training differs everywhere, so samples suffice, and no rank reads
 * weights that it does not need. 0: unreadable or NULL. */
uint64_t mafat_rank_identity_checksum(const struct mafat_model_source *source);

/* Checksum of a plan: its text, number of layers, and the algorithms that the text leaves open. */
struct mafat_plan;
uint64_t mafat_rank_identity_plan(const char *text, const struct mafat_plan *plan);

/* Compares with rank 0. MAFAT_EINVAL: names the first rank that differs, its host and the
 * difference. */
int mafat_rank_identity_compare(const struct mafat_rank_identity *list, int n,
                                struct mafat_diagnostic *d);

#endif
