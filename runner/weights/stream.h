/* The fetches of a run (fetches.h) through a ring in memory: reads are under way
 * ahead of whoever takes them, as far as the ring has room. First in, first out: each
 * fetch has one aligned piece of the ring until it is freed. Used by one thread; only
 * opening allocates. */
#ifndef MAFAT_RUNNER_WEIGHTS_STREAM_H
#define MAFAT_RUNNER_WEIGHTS_STREAM_H

#include "predictor/schedule/fetches.h"
#include "runner/weights/reads.h"

struct mafat_stream;

/* `reads` and `fetches` stay the caller's, who touches neither from now on. `values`: what fetches that
 * lie in no file are made of (network/constant.h); may be NULL where there are none. */
int mafat_stream_open(struct mafat_stream **out, struct mafat_reads *reads, struct mafat_fetches *fetches,
                      const float *values);
/* Stops first. */
void mafat_stream_close(struct mafat_stream **stream);

/* To the first fetch. `ring`, of so many bytes, at a multiple of MAFAT_FETCH_ALIGNMENT, is not
 * touched until something is submitted. What was under way must have been taken and
 * freed, or stopped. */
void mafat_stream_rewind(struct mafat_stream *s, char *ring, size_t ring_bytes);
/* Waits for reads under way, and forgets all. */
void mafat_stream_stop(struct mafat_stream *s);

/* Starts as many reads as there is room for. */
int mafat_stream_submit(struct mafat_stream *s, struct mafat_diagnostic *d);
/* The step that the next fetch to be taken is for; -1: there is none. */
long long mafat_stream_next_step(const struct mafat_stream *s);
/* Waits for the next fetch, which there must be: its bytes are at *data until freed. Its first float is
 * aligned, wherever it lay in the file. */
int mafat_stream_take(struct mafat_stream *s, struct mafat_fetch *fetch, const char **data,
                      struct mafat_diagnostic *d);
/* Frees all that was taken. */
void mafat_stream_free(struct mafat_stream *s);

#endif
