/* Streams the fetches of a run (predictor/schedule/fetches.h) through a ring in memory. Reads are
 * submitted ahead of use, as far as the ring has capacity. First in, first out: each fetch occupies
 * one aligned range of the ring until it is freed. One thread at a time; only opening allocates.
 * Included by packer.c and weights_store.h. */
#ifndef MAFAT_RUNNER_WEIGHTS_STREAM_H
#define MAFAT_RUNNER_WEIGHTS_STREAM_H

#include "predictor/schedule/fetches.h"
#include "runner/weights/reads.h"

struct mafat_stream;

/* The caller still owns `reads` and `fetches`, but must not use them until the stream is closed.
 * `values`: data of fetches that are in no file (network/constant.h); may be NULL if there are
 * none. */
int mafat_stream_open(struct mafat_stream **out, struct mafat_read_queue *reads,
                      struct mafat_fetches *fetches, const float *values);
/* Waits for pending reads first. */
void mafat_stream_close(struct mafat_stream **stream);

/* Begins again with the first fetch. `ring`, the memory for fetched data, is aligned to
 * MAFAT_FETCH_ALIGNMENT and not touched until a fetch is submitted. All earlier fetches must have
 * been freed or stopped. */
void mafat_stream_rewind(struct mafat_stream *s, char *ring, size_t ring_bytes);
/* Waits for pending reads and forgets all fetches. */
void mafat_stream_stop(struct mafat_stream *s);

/* Submits as many reads as fit. */
int mafat_stream_submit(struct mafat_stream *s, struct mafat_diagnostic *d);
/* Returns the step that the next fetch is for; -1: there is none. */
long long mafat_stream_next_step(const struct mafat_stream *s);
/* Waits for the next fetch, which must exist. Its data is at *data, aligned to a float, until
 * mafat_stream_free. */
int mafat_stream_take(struct mafat_stream *s, struct mafat_fetch *fetch, const char **data,
                      struct mafat_diagnostic *d);
/* Frees all taken fetches. */
void mafat_stream_free(struct mafat_stream *s);

#endif
