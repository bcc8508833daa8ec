/* Streams the fetches of a run through a ring in memory. A fetch is a read of some weights of a
 * step (predictor/schedule/fetches.h). Fetches are submitted ahead of use, as far as the ring has
 * room, and are taken and freed in the same order. Each occupies an aligned range of the ring until
 * it is freed. One thread at a time may use a stream. Reads files through a read queue; only
 * opening allocates. Included by packer.c and weights_store.h. */
#ifndef MAFAT_RUNNER_WEIGHTS_STREAM_H
#define MAFAT_RUNNER_WEIGHTS_STREAM_H

#include "predictor/schedule/fetches.h"
#include "runner/weights/reads.h"

struct mafat_stream;

/* The caller still owns `reads` and `fetches`, but must not use them until the stream is closed.
 * `values`: the network's own values (network/constant.h), for fetches that are in no file; may be
 * NULL if there are none. MAFAT_OK or MAFAT_ENOMEM. */
int mafat_stream_open(struct mafat_stream **out, struct mafat_read_queue *reads,
                      struct mafat_fetches *fetches, const float *values);
/* Waits for pending reads, then frees the stream. */
void mafat_stream_close(struct mafat_stream **stream);

/* Begins again with the first fetch. `ring` is the caller's memory for fetched data, aligned to
 * MAFAT_FETCH_ALIGNMENT. It is not touched until a fetch is submitted. Before this call, all
 * earlier fetches must have been freed, or mafat_stream_stop called. */
void mafat_stream_rewind(struct mafat_stream *s, char *ring, size_t ring_bytes);
/* Waits for pending reads and forgets all fetches. */
void mafat_stream_stop(struct mafat_stream *s);

/* Submits as many fetches as the ring and the read queue have room for. */
int mafat_stream_submit(struct mafat_stream *s, struct mafat_diagnostic *d);
/* Returns the number of the step that the next fetch to be taken is for; -1: there is none. */
long long mafat_stream_next_step(const struct mafat_stream *s);
/* Takes the next fetch, which must exist: waits until it is read, and sets *data to its data,
 * aligned to a float and valid until mafat_stream_free. */
int mafat_stream_take(struct mafat_stream *s, struct mafat_fetch *fetch, const char **data,
                      struct mafat_diagnostic *d);
/* Frees the memory of all fetches that were taken. */
void mafat_stream_free(struct mafat_stream *s);

#endif
