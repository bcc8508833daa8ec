/* Properties that must be equal on all ranks, so that they choose the same plan and compute the
 * same bits. Ranks exchange and compare them before any of them opens the model; this struct is the
 * first message in every version. Included by api/rank_link.h; called by api/model.c and
 * programs/mafat_ranks. Reads samples of the files. */
#ifndef MAFAT_API_RANK_IDENTITY_H
#define MAFAT_API_RANK_IDENTITY_H

#include "base/model_source.h"
#include "include/mafat.h"

#include <stddef.h>
#include <stdint.h>

struct mafat_rank_identity {
  char version[24]; /* the program's version */
  char host[64];
  char class[16];   /* class of its kernels: "fused" (fused multiply-adds) or "plain"; empty: level
                       `cpu` is not available */
  uint64_t model, weights; /* checksums of the files; 0: unreadable; opening reports the error */
};

/* Fills the identity of this process. cpu: highest allowed kernel level; NULL: any. */
void mafat_rank_identity_find(struct mafat_rank_identity *id,
                              const struct mafat_model_source *model,
                              const struct mafat_model_source *weights, const char *cpu);

/* Returns a checksum of a file's size and of samples at both ends and in between, 256 KiB in all,
 * or of all bytes of a smaller file. Samples are enough, because other training changes weights
 * everywhere, and they spare a rank from reading weights that it does not need. 0: the source is
 * NULL, unreadable or no regular file. */
uint64_t mafat_rank_identity_checksum(const struct mafat_model_source *source);

/* Returns a checksum of a plan: its text, its number of layers, and the algorithms, because the
 * text need not name them. */
struct mafat_plan;
uint64_t mafat_rank_identity_plan(const char *text, const struct mafat_plan *plan);

/* Compares n ranks with rank 0. MAFAT_EINVAL: one differs; the diagnostic names the rank, its host
 * and the difference. */
int mafat_rank_identity_compare(const struct mafat_rank_identity *list, int n,
                                struct mafat_diagnostic *d);

#endif
