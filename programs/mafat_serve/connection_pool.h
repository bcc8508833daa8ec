/* State shared by all connections: their number, memory for bodies in the order of requests, and
 * counters. Only the thread of connections uses it. Allocates nothing. Included by connection.h and
 * server.h. */
#ifndef MAFAT_PROGRAM_SERVE_CONNECTION_POOL_H
#define MAFAT_PROGRAM_SERVE_CONNECTION_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/mafat_serve/job_queue.h"

enum {
  MAFAT_POOL_HELD = 64,  /* connections whose requests are read */
  MAFAT_POOL_TURNED = 8, /* those that are asked to come again, and read no further */
  MAFAT_POOL_SIZE = MAFAT_POOL_HELD + MAFAT_POOL_TURNED
};

/* Statuses that are answered. */
enum { MAFAT_POOL_STATUSES = 18 };
extern const int mafat_pool_statuses[MAFAT_POOL_STATUSES];

struct mafat_connection_pool {
  struct mafat_job_queue *job_queue;
  const char *token; /* NULL: everybody may ask */
  float thresh, nms; /* of requests that do not say */
  double timeout_ms, wait_ms;
  size_t budget_bytes, charge_bytes; /* as told */
  int n_held;        /* connections in those places */
  bool ends;         /* no request is taken any more */
  size_t capacity_bytes, capacity_used;
  int n_queued;      /* connections that wait for room */
  uint64_t tickets;  /* that such have been given: the lowest is the next */
  uint64_t answers[MAFAT_POOL_STATUSES], accepted, turned, lost, body_bytes;
};

/* Whole pages for a body, or for its answer if that may be larger. */
size_t mafat_pool_need(size_t bytes);
/* Is there so much left? Then it is taken. */
bool mafat_pool_take(struct mafat_connection_pool *pool, size_t bytes);
void mafat_pool_give(struct mafat_connection_pool *pool, size_t bytes);

void mafat_pool_count(struct mafat_connection_pool *pool, int status);

/* Milliseconds that another picture would wait, as pictures go now; 0 where nothing is before it,
 * however long one takes. */
double mafat_pool_waiting_ms(struct mafat_connection_pool *pool);

/* Prometheus' text, into a body's file; how many bytes, 0: no room. */
size_t mafat_pool_write_metrics(struct mafat_connection_pool *pool, int fd, size_t capacity);

#endif
