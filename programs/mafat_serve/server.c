/* Runs the event loop: accepts connections and continues those that are ready. Called by
 * mafat_serve.c. */
#include "programs/mafat_serve/server.h"

#include "programs/run_inference/session.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
  STACK = 128 << 10,
  /* Kernel memory of a connection: its socket and its body file, each with file and inode, and one
     page of the body. */
  RECORDS = 12 << 10,
  FIRST_LISTENER = 1,
  FIRST_PLACE = FIRST_LISTENER + MAFAT_SANDBOX_LISTENERS,
  FILES = FIRST_PLACE + MAFAT_POOL_SIZE
};
static const double look_ms = 100, pause_ms = 200, fresh_ms = 1000;
static const double most_ms =
    10000; /* longest poll: a wake-up may have been lost */

static atomic_bool ends;
static struct mafat_job_queue *signalled; /* queue whose wake_fd the signal handler writes to */

void mafat_server_end(void)
{
  ends = true;
  if (signalled) mafat_job_queue_wake(signalled);
}

size_t mafat_server_bytes(size_t capacity_bytes)
{
  const size_t queues = 2 * 2 * MAFAT_LISTENERS_QUEUE; /* both directions, doubled by the kernel */
  return capacity_bytes + STACK + MAFAT_POOL_SIZE * (RECORDS + queues);
}

int mafat_server_open(struct mafat_server *server, struct mafat_diagnostic *d)
{
  memset(server->places, 0, sizeof server->places);
  for (int i = 0; i < MAFAT_POOL_SIZE; i++) server->places[i].body_fd = -1;
  for (int i = 0; i < MAFAT_POOL_SIZE; i++) {
    struct mafat_connection *c = &server->places[i];
    memset(c->bytes, 1, sizeof c->bytes); /* makes the pages resident */
    c->turned = i >= MAFAT_POOL_HELD;
    c->body_fd = mafat_listeners_number(memfd_create("mafat_serve body", MFD_CLOEXEC),
                                        MAFAT_SANDBOX_FIRST_BODY);
    if (c->body_fd < 0 || c->body_fd >= MAFAT_SANDBOX_FIRST_BODY + MAFAT_SANDBOX_BODIES)
      return mafat_fail(d, MAFAT_EIO, "cannot keep bodies in memory: %s",
                        c->body_fd < 0 ? strerror(errno) : "too many files are open");
  }
  return MAFAT_OK;
}

void mafat_server_close(struct mafat_server *server)
{
  for (int i = 0; i < MAFAT_POOL_SIZE; i++)
    if (server->places[i].body_fd > 0) close(server->places[i].body_fd);
  mafat_listeners_close(&server->listeners);
}

/* ---- new connections ---- */

/* First free place of the n places from `from` on; NULL: none. */
static struct mafat_connection *find_free(struct mafat_server *s, int from, int n)
{
  for (int i = from; i < from + n; i++)
    if (s->places[i].state == MAFAT_CONNECTION_FREE) return &s->places[i];
  return NULL;
}

/* The connection that has been idle longest, at least fresh_ms; NULL: none. A fresher one may have
 * a request on its way. */
static struct mafat_connection *find_idle(struct mafat_server *s, double now)
{
  struct mafat_connection *oldest = NULL;
  for (int i = 0; i < MAFAT_POOL_HELD; i++) {
    struct mafat_connection *c = &s->places[i];
    if (mafat_connection_is_idle(c) && now - c->since_ms >= fresh_ms &&
        (!oldest || c->since_ms < oldest->since_ms))
      oldest = c;
  }
  return oldest;
}

/* A place for a new connection: free, or of an idle connection, or, if the queue is long, one of
 * those that only answer 503. NULL: the client waits in the listener's backlog. */
static struct mafat_connection *find_place(struct mafat_server *s, double now)
{
  struct mafat_connection *c = find_free(s, 0, MAFAT_POOL_HELD);
  if (!c) c = find_idle(s, now);
  if (c) return c;
  return mafat_pool_waiting_ms(&s->pool) > s->pool.wait_ms
             ? find_free(s, MAFAT_POOL_HELD, MAFAT_POOL_TURNED)
             : NULL;
}

static void take_in(struct mafat_server *s, struct mafat_connection *c, int fd)
{
  const double wait_ms = mafat_pool_waiting_ms(&s->pool);
  if (c->turned) {
    mafat_connection_turn_away(c, &s->pool, fd, (int)ceil(wait_ms * 1e-3));
    return;
  }
  mafat_connection_close(c, &s->pool); /* the idle one, if any */
  mafat_connection_begin(c, &s->pool, fd);
}

static void accept_all(struct mafat_server *s, int listener)
{
  struct mafat_connection *c;
  const double now = mafat_session_now_ms();
  while ((c = find_place(s, now))) {
    int fd = mafat_listeners_accept(&s->listeners, listener);
    if (fd >= 0) {
      take_in(s, c, fd);
    } else {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        s->pauses_until_ms = now + pause_ms; /* out of descriptors or memory: retry later */
      return;
    }
  }
}

/* ---- the loop ---- */

static void offer_room(struct mafat_server *s)
{
  for (;;) {
    struct mafat_connection *first = NULL;
    for (int i = 0; i < MAFAT_POOL_HELD && s->pool.n_queued > 0; i++) {
      struct mafat_connection *c = &s->places[i];
      if (c->state == MAFAT_CONNECTION_WAITS && (!first || c->ticket < first->ticket)) first = c;
    }
    if (!first || !mafat_connection_offer_room(first, &s->pool)) return;
  }
}

static void begin_end(struct mafat_server *s)
{
  s->pool.ends = true;
  mafat_listeners_close(&s->listeners);
  for (int i = 0; i < MAFAT_POOL_SIZE; i++) mafat_connection_end(&s->places[i], &s->pool);
  mafat_job_queue_end(s->pool.job_queue);
}

/* Fills in the files to poll. Returns the timeout of poll() in milliseconds. */
static int gather(struct mafat_server *s, struct pollfd files[FILES])
{
  const double now = mafat_session_now_ms();
  double until = now + most_ms;
  const bool open = now >= s->pauses_until_ms && find_place(s, now);
  if (!open && s->listeners.n > 0) until = now + look_ms;
  files[0] = (struct pollfd){s->pool.job_queue->wake_fd, POLLIN, 0};
  for (int i = 0; i < MAFAT_SANDBOX_LISTENERS; i++)
    files[FIRST_LISTENER + i] =
        (struct pollfd){open && i < s->listeners.n ? s->listeners.fds[i] : -1, POLLIN, 0};
  for (int i = 0; i < MAFAT_POOL_SIZE; i++) {
    const struct mafat_connection *c = &s->places[i];
    const bool there = c->state != MAFAT_CONNECTION_FREE &&
                       !c->gone; /* a gone client sends nothing more */
    files[FIRST_PLACE + i] = (struct pollfd){there ? c->fd : -1, mafat_connection_events(c), 0};
    if (there && c->until_ms < until) until = c->until_ms;
  }
  return until <= now ? 0 : (int)ceil(until - now);
}

static void hear(const struct mafat_server *s)
{
  uint64_t n;
  ssize_t got = read(s->pool.job_queue->wake_fd, &n, sizeof n);
  (void)got; /* only resets the counter; it may be 0 */
}

static bool is_over(const struct mafat_server *s)
{
  if (!s->pool.ends) return false;
  for (int i = 0; i < MAFAT_POOL_SIZE; i++)
    if (s->places[i].state != MAFAT_CONNECTION_FREE) return false;
  return true;
}

static void *run(void *context)
{
  struct mafat_server *s = context;
  struct pollfd files[FILES];
  while (!is_over(s)) {
    int ready = poll(files, FILES, gather(s, files));
    if (ready < 0) memset(files, 0, sizeof files); /* interrupted by a signal */
    if (files[0].revents) hear(s);
    for (int i = 0; i < MAFAT_POOL_SIZE; i++)
      if (s->places[i].state != MAFAT_CONNECTION_FREE)
        mafat_connection_go_on(&s->places[i], &s->pool, files[FIRST_PLACE + i].revents);
    for (int i = 0; i < s->listeners.n; i++)
      if (files[FIRST_LISTENER + i].revents) accept_all(s, i);
    offer_room(s);
    if (ends && !s->pool.ends) begin_end(s);
  }
  return NULL;
}

int mafat_server_start(struct mafat_server *server, pthread_t *thread, struct mafat_diagnostic *d)
{
  pthread_attr_t attributes;
  signalled = server->pool.job_queue;
  int error = pthread_attr_init(&attributes);
  if (!error) error = pthread_attr_setstacksize(&attributes, STACK);
  if (!error) error = pthread_create(thread, &attributes, run, server);
  pthread_attr_destroy(&attributes);
  return error ? mafat_fail(d, MAFAT_ENOMEM, "cannot make a thread: %s", strerror(error))
               : MAFAT_OK;
}
