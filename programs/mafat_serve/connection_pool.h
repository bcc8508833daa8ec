/* State that all connections share: how many there are, the memory for bodies, which they get in
 * the order of their requests, and counters. Only the thread of connections uses it. Allocates
 * nothing. Included by connection.h and server.h. */
#ifndef MAFAT_PROGRAM_SERVE_CONNECTION_POOL_H
#define MAFAT_PROGRAM_SERVE_CONNECTION_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/mafat_serve/job_queue.h"

enum {
  MAFAT_POOL_HELD = 64,  /* connections whose requests are read */
  MAFAT_POOL_TURNED = 8, /* connections that are asked to retry later */
  MAFAT_POOL_SIZE = MAFAT_POOL_HELD + MAFAT_POOL_TURNED
};

/* HTTP statuses of answers. */
enum { MAFAT_POOL_STATUSES = 18 };
extern const int mafat_pool_statuses[MAFAT_POOL_STATUSES];

struct mafat_connection_pool {
  struct mafat_job_queue *job_queue;
  const char *token; /* required of callers; NULL: none */
  float thresh, nms; /* defaults of requests */
  double timeout_ms, wait_ms;
  size_t budget_bytes, charge_bytes; /* memory budget; predicted memory charge */
  int n_held;        /* connections whose requests are read */
  bool ends;         /* no further requests are accepted */
  size_t capacity_bytes, capacity_used;
  int n_queued;      /* connections that wait for memory */
  uint64_t tickets;  /* number of tickets issued; the lowest ticket is next */
  uint64_t answers[MAFAT_POOL_STATUSES], accepted, turned, lost, body_bytes;
};

/* Bytes that the file of a body of this size needs: whole pages, and enough for the answer. */
size_t mafat_pool_need(size_t bytes);
/* Reserves bytes for a body. Returns false if fewer are left. */
bool mafat_pool_take(struct mafat_connection_pool *pool, size_t bytes);
void mafat_pool_give(struct mafat_connection_pool *pool, size_t bytes);

void mafat_pool_count(struct mafat_connection_pool *pool, int status);

/* Estimated milliseconds that another picture would wait, by the moving average of pictures; 0 if
 * no job is queued or running. */
double mafat_pool_waiting_ms(struct mafat_connection_pool *pool);

/* Writes metrics in Prometheus' text format to a body's file. Returns the bytes; 0: they do not
 * fit. */
size_t mafat_pool_write_metrics(struct mafat_connection_pool *pool, int fd, size_t capacity);

#endif
