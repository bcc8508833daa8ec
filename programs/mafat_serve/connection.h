/* One connection: its requests are read, answered and forgotten one after the other. It never
 * blocks: what must wait continues when the socket, the connection pool or the job queue is ready.
 * Reads and writes the socket and the body's file; allocates nothing. Included by server.h. */
#ifndef MAFAT_PROGRAM_SERVE_CONNECTION_H
#define MAFAT_PROGRAM_SERVE_CONNECTION_H

#include "programs/mafat_serve/job_queue.h"
#include "programs/mafat_serve/connection_pool.h"

enum { MAFAT_CONNECTION_HEAD = 4096 }; /* bytes of a request's head at most */

enum mafat_connection_state {
  MAFAT_CONNECTION_FREE,
  MAFAT_CONNECTION_READS, /* a head, of which there may be nothing yet */
  MAFAT_CONNECTION_WAITS, /* for room */
  MAFAT_CONNECTION_TAKES, /* a body */
  MAFAT_CONNECTION_ASKS,  /* its job is in the job queue */
  MAFAT_CONNECTION_SENDS,
  MAFAT_CONNECTION_DRAINS /* has sent its last: what still comes is thrown away, so that the other
                             end reads that */
};

struct mafat_connection {
  enum mafat_connection_state state;
  int fd;
  int body_fd;         /* its own, for good: the request's body, then the answer's */
  bool turned;         /* only asked to come again later */
  bool closes;         /* after this answer */
  bool gone;           /* the other end is, while its job runs */
  bool expects, keeps, only_head; /* as the request has it */
  double until_ms;     /* when it is given up in this state; INFINITY: not */
  double since_ms;     /* in this state */
  uint64_t ticket;     /* its number among those that wait for room */
  size_t capacity;         /* that is its own */
  size_t got;          /* of the body's job.body_bytes */
  int n_answered;
  struct mafat_job job;
  /* what is sent: head, then fixed or body_fd's first bytes */
  char head[512];
  size_t head_bytes, answer_bytes, sent;
  const char *fixed;   /* NULL: it is in body_fd */
  size_t have;         /* of bytes, not taken yet */
  char bytes[MAFAT_CONNECTION_HEAD];
};

void mafat_connection_begin(struct mafat_connection *c, struct mafat_connection_pool *pool, int fd);
/* Answers instead that the client should come again in so many seconds. */
void mafat_connection_turn_away(struct mafat_connection *c, struct mafat_connection_pool *pool,
                                int fd, int seconds);

/* poll's events that it waits for. */
short mafat_connection_events(const struct mafat_connection *c);
/* poll's answer; 0: something else has changed: room, the job queue, the time. */
void mafat_connection_go_on(struct mafat_connection *c, struct mafat_connection_pool *pool,
                            short events);

/* One that waits for room, the first of them: is there enough? Then its body comes. */
bool mafat_connection_offer_room(struct mafat_connection *c, struct mafat_connection_pool *pool);

/* Waits for its next request, and for nothing else. */
bool mafat_connection_is_idle(const struct mafat_connection *c);
/* No request is taken any more: what is not being computed, or sent, ends. */
void mafat_connection_end(struct mafat_connection *c, struct mafat_connection_pool *pool);
void mafat_connection_close(struct mafat_connection *c, struct mafat_connection_pool *pool);

#endif
