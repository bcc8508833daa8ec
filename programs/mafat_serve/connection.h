/* One connection, as a state machine that never blocks. It reads a request, passes it to the job
 * queue if needed, sends the answer, and reads the next request. A connection that has to wait is
 * continued when the socket, the connection pool or the job queue is ready. Reads and writes the
 * socket and the body's file; allocates nothing. Included by server.h. */
#ifndef MAFAT_PROGRAM_SERVE_CONNECTION_H
#define MAFAT_PROGRAM_SERVE_CONNECTION_H

#include "programs/mafat_serve/job_queue.h"
#include "programs/mafat_serve/connection_pool.h"

enum { MAFAT_CONNECTION_HEAD = 4096 }; /* largest head of a request, in bytes */

enum mafat_connection_state {
  MAFAT_CONNECTION_FREE,
  MAFAT_CONNECTION_READS, /* reads a head, of which no byte need have come yet */
  MAFAT_CONNECTION_WAITS, /* waits for memory for bytes of its body that have arrived */
  MAFAT_CONNECTION_TAKES, /* reads a body */
  MAFAT_CONNECTION_ASKS,  /* its job waits in the job queue or runs */
  MAFAT_CONNECTION_SENDS,
  MAFAT_CONNECTION_DRAINS /* discards further bytes, so that the client reads the last
                             answer */
};

struct mafat_connection {
  enum mafat_connection_state state;
  int fd;
  int body_fd;         /* file with the request's body, then the answer's; kept for all requests */
  bool spare;          /* one of MAFAT_POOL_SPARE: gets no job */
  bool closes;         /* closes after this answer */
  bool gone;           /* the client closed the connection while its job runs */
  bool expects, keeps, only_head; /* request: has Expect: 100-continue; keep-alive; method HEAD */
  double until_ms;     /* timeout of this state; INFINITY: none */
  double since_ms;     /* beginning of this state */
  double stalls_ms;    /* time from which its body or answer counts as stalled */
  double due_ms;       /* order among connections that wait for memory */
  struct mafat_room_claim claim; /* memory for the body, then for the answer */
  size_t got;          /* bytes of the body stored so far, of job.body_bytes */
  struct mafat_job job;
  /* The answer: head, then `fixed` or the first bytes of body_fd. The text of an error is part of
   * head. */
  char head[1024];
  size_t head_bytes, answer_bytes, sent;
  const char *fixed;   /* constant body; NULL: it is in body_fd */
  size_t have;         /* unread bytes in `bytes` */
  char bytes[MAFAT_CONNECTION_HEAD];
};

/* Begins with an accepted socket in a free place. spare: it will get no job. */
void mafat_connection_begin(struct mafat_connection *c, struct mafat_connection_pool *pool, int fd,
                            bool spare);

/* Events of poll(2) for which the connection waits. */
short mafat_connection_events(const struct mafat_connection *c);
/* Continues after poll(2) returned `events`; 0: memory, the job queue or the time has changed. */
void mafat_connection_go_on(struct mafat_connection *c, struct mafat_connection_pool *pool,
                            short events);

/* Offers memory to a connection that waits for it. True: it took some and reads its body again. */
bool mafat_connection_offer_room(struct mafat_connection *c, struct mafat_connection_pool *pool);

/* True if it only waits for its next request. */
bool mafat_connection_is_idle(const struct mafat_connection *c);
/* True if its body or answer has been slower than 16 KB/s for a second. */
bool mafat_connection_is_stalled(const struct mafat_connection *c, double now_ms);
/* Closes the connection at once, to make room for others. If a request has begun, it is answered
 * with 408 before, if that can be sent without waiting. */
void mafat_connection_evict(struct mafat_connection *c, struct mafat_connection_pool *pool);
/* Accepts no further request, and closes unless an answer is being computed or sent. */
void mafat_connection_end(struct mafat_connection *c, struct mafat_connection_pool *pool);
void mafat_connection_close(struct mafat_connection *c, struct mafat_connection_pool *pool);

#endif
