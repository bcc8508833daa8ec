/* Computes and compares rank identities: the version, model, weights and kernels of each process
 * (rank) that computes a part of a network. Called by api/model.c and programs/mafat_ranks. Reads
 * samples of the files, and the host name. */
#include "api/rank_identity.h"

#include "formats/packed/hash.h"
#include "predictor/plan/plan.h"
#include "runner/kernels/kernels.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SPOT = 4096, SPOTS = 64 }; /* bytes of a sample; number of samples */

/* Adds a sample to the hash; 0: unreadable. Leaves its pages in the page cache, because dropping
 * them waits for all processors, which can take seconds. */
static uint64_t hash_spot(const struct mafat_model_source *source, uint64_t hash, uint64_t at)
{
  unsigned char bytes[SPOT] = {0};
  ssize_t n = mafat_model_source_read(source, bytes, sizeof bytes, at);
  return n < 0 ? 0 : mafat_hash(hash, bytes, sizeof bytes);
}

uint64_t mafat_rank_identity_checksum(const struct mafat_model_source *source)
{
  if (!source || !mafat_model_source_is_regular(source)) return 0;
  uint64_t size = source->bytes, n = (size + SPOT - 1) / SPOT,
           hash = mafat_hash(MAFAT_HASH_START, &size, sizeof size);
  for (uint64_t i = 0; i < n && i < SPOTS && hash; i++) {
    uint64_t spot = n <= SPOTS ? i : i * (n - 1) / (SPOTS - 1);
    hash = hash_spot(source, hash, spot * SPOT);
  }
  return hash;
}

void mafat_rank_identity_find(struct mafat_rank_identity *id,
                              const struct mafat_model_source *model,
                              const struct mafat_model_source *weights, const char *cpu)
{
  const struct mafat_kernels *kernels = mafat_kernels_find(cpu);
  memset(id, 0, sizeof *id);
  snprintf(id->version, sizeof id->version, "%s", MAFAT_VERSION);
  snprintf(id->class, sizeof id->class, "%s", !kernels ? "" : kernels->fused ? "fused" : "plain");
  if (gethostname(id->host, sizeof id->host - 1)) strcpy(id->host, "unknown");
  id->model = mafat_rank_identity_checksum(model);
  id->weights = mafat_rank_identity_checksum(weights);
}

uint64_t mafat_rank_identity_plan(const char *text, const struct mafat_plan *plan)
{
  uint64_t hash = mafat_hash(MAFAT_HASH_START, &plan->n_layers, sizeof plan->n_layers);
  for (int l = 0; l < plan->n_layers; l++) {
    uint64_t algorithm = (uint64_t)plan->algorithms[l];
    hash = mafat_hash(hash, &algorithm, sizeof algorithm);
  }
  return mafat_hash(hash, text, strlen(text));
}

static int refuse(const struct mafat_rank_identity *list, int rank, const char *what,
                  const char *its, const char *other, struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_EINVAL,
                    "rank %d (%s): its %s is not that of rank 0 (%s): %s instead of %s", rank,
                    list[rank].host, what, list[0].host, its, other);
}

static int refuse_file(const struct mafat_rank_identity *list, int rank, const char *what,
                       uint64_t its, uint64_t other, struct mafat_diagnostic *d)
{
  char texts[2][40];
  snprintf(texts[0], sizeof texts[0], "checksum %016llx", (unsigned long long)its);
  snprintf(texts[1], sizeof texts[1], "%016llx", (unsigned long long)other);
  return refuse(list, rank, what, texts[0], texts[1], d);
}

static bool differ(uint64_t a, uint64_t b)
{
  return a && b && a != b;
}

int mafat_rank_identity_compare(const struct mafat_rank_identity *list, int n,
                                struct mafat_diagnostic *d)
{
  const struct mafat_rank_identity *a = list;
  for (int rank = 1; rank < n; rank++) {
    const struct mafat_rank_identity *b = &list[rank];
    if (strcmp(a->version, b->version) != 0)
      return refuse(list, rank, "version", b->version, a->version, d);
    if (a->class[0] && b->class[0] && strcmp(a->class, b->class) != 0)
      return refuse(list, rank, "processor's class", b->class, a->class, d);
    if (differ(a->model, b->model))
      return refuse_file(list, rank, "model file", b->model, a->model, d);
    if (differ(a->weights, b->weights))
      return refuse_file(list, rank, "weights file", b->weights, a->weights, d);
  }
  return MAFAT_OK;
}
