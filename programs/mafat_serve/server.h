/* The thread of connections: accepts connections, and continues each when it is ready. If new
 * clients wait, it closes connections: first those that have sent no whole request, oldest first,
 * then those that have been answered, then stalled ones. Starts the thread, and creates files for
 * bodies of requests; allocates no heap. Included by mafat_serve.c. */
#ifndef MAFAT_PROGRAM_SERVE_SERVER_H
#define MAFAT_PROGRAM_SERVE_SERVER_H

#include <pthread.h>

#include "include/mafat.h"
#include "programs/mafat_serve/connection.h"
#include "programs/mafat_serve/listeners.h"
#include "programs/mafat_serve/connection_pool.h"

struct mafat_server {
  struct mafat_connection_pool pool;
  struct mafat_listeners listeners;
  double pauses_until_ms; /* until then none is accepted, because descriptors ran out */
  double emptied_ms;      /* last time at which no new connection was waiting */
  struct mafat_model *model; /* model whose late runs are canceled; set before the start */
  double usual_ms;           /* predicted milliseconds of the model's layers */
  struct mafat_connection places[MAFAT_POOL_SIZE];
};

/* Creates the files for bodies; MAFAT_EIO on failure. Afterwards all of the server's memory is
 * resident. */
int mafat_server_open(struct mafat_server *server, struct mafat_diagnostic *d);
/* Closes the files for bodies and the listeners. */
void mafat_server_close(struct mafat_server *server);

/* Bytes that a server with a pool of capacity_bytes will need later: kernel memory and heap that
 * are not resident yet. */
size_t mafat_server_bytes(size_t capacity_bytes);

/* Starts the thread of connections, which the caller joins. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_server_start(struct mafat_server *server, pthread_t *thread, struct mafat_diagnostic *d);

/* Makes the thread accept no further requests; safe in a signal handler. */
void mafat_server_end(void);

#endif
