/* State that all connections share: how many there are, the memory for bodies, and counters. Only
 * the thread of connections uses it; the main thread sets some members before that thread starts.
 * Allocates nothing. Included by connection.h and server.h. */
#ifndef MAFAT_PROGRAM_SERVE_CONNECTION_POOL_H
#define MAFAT_PROGRAM_SERVE_CONNECTION_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/mafat_serve/job_queue.h"
#include "programs/mafat_serve/room.h"

enum {
  MAFAT_POOL_HELD = MAFAT_ROOM_CLAIMS, /* connections that may have jobs */
  MAFAT_POOL_SPARE = 8, /* further connections: /healthz is answered, pictures get 429 */
  MAFAT_POOL_SIZE = MAFAT_POOL_HELD + MAFAT_POOL_SPARE
};

/* Each connection has at most one job. */
_Static_assert((int)MAFAT_POOL_HELD <= (int)MAFAT_JOB_QUEUE_SIZE, "all jobs fit in the queue");

/* HTTP statuses of answers. */
enum { MAFAT_POOL_STATUSES = 18 };
extern const int mafat_pool_statuses[MAFAT_POOL_STATUSES];

struct mafat_connection_pool {
  struct mafat_job_queue *job_queue;
  const char *token; /* required of callers; NULL: none */
  float thresh, nms; /* defaults of requests */
  /* timeout_ms: limit for receiving a request, and for sending an answer; wait_ms: longest time
   * that a request may wait for memory or for its turn */
  double timeout_ms, wait_ms;
  size_t budget_bytes, charge_bytes; /* memory budget; predicted memory charge */
  int n_held, n_spare; /* open connections, at most MAFAT_POOL_HELD and MAFAT_POOL_SPARE */
  bool ends;         /* no further requests are accepted */
  struct mafat_room room;
  int n_queued;      /* connections that wait for memory */
  /* counters: answers by status; connections accepted, closed to make space for others (evicted),
   * ended during a request (lost); bytes of bodies received */
  uint64_t answers[MAFAT_POOL_STATUSES], accepted, evicted, lost, body_bytes;
};

/* Bytes of whole pages. */
size_t mafat_pool_pages(size_t bytes);
/* Bytes that the file of a body of this size needs: whole pages, and enough for the answer. */
size_t mafat_pool_need(size_t bytes);

void mafat_pool_count(struct mafat_connection_pool *pool, int status);

/* Estimates how many milliseconds another picture would wait, from the moving average of pictures'
 * times; 0 if no job is queued or running. */
double mafat_pool_waiting_ms(struct mafat_connection_pool *pool);

/* Writes metrics in Prometheus' text format to a body's file. Returns the number of bytes; 0: they
 * exceed `capacity`. */
size_t mafat_pool_write_metrics(struct mafat_connection_pool *pool, int fd, size_t capacity);

#endif
