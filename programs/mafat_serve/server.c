/* Runs the event loop: accepts connections and continues those that are ready. Called by
 * mafat_serve.c. Creates the files in memory that hold bodies, and starts the thread of
 * connections. Polls listeners, connections and the eventfd of the job queue; cancels a late run of
 * the model. */
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
  STACK = 128 << 10, /* bytes of stack of the thread of connections */
  /* Kernel memory of a connection: its socket and its body file, each with file and inode, and one
     page of the body. */
  RECORDS = 12 << 10,
  FIRST_LISTENER = 1,
  FIRST_PLACE = FIRST_LISTENER + MAFAT_SANDBOX_LISTENERS,
  FILES = FIRST_PLACE + MAFAT_POOL_SIZE
};
/* look_ms: timeout of poll() while no new connection can be accepted. pause_ms: no connection is
 * accepted for this time after accepting has failed. */
static const double look_ms = 25, pause_ms = 200;
/* A connection younger than this is not closed to make room for others if it has sent nothing (its
 * request may be on its way), or if it has been answered (the client may be reading). The second
 * limit is for connections in spare places. */
static const double fresh_ms = 250, fresh_spare_ms = 25;
/* Spare places are used if new connections have waited in the backlog for this time. */
static const double crowd_ms = 300;
static const double most_ms =
    10000; /* longest poll: a wake-up may have been lost */
enum { MOST_EVICTED = 8 }; /* connections closed in one turn; then new connections are read */

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

/* Rank in which connections are closed to make room for new ones: 0 first; KEPT: not now. */
enum { KEPT = 3 };
static int rank_of(const struct mafat_connection *c, double now)
{
  const bool fresh = now - c->since_ms < (c->spare ? fresh_spare_ms : fresh_ms);
  if (c->state == MAFAT_CONNECTION_READS)
    return fresh && mafat_connection_is_idle(c) ? KEPT : 0;
  if (c->state == MAFAT_CONNECTION_DRAINS) return fresh ? KEPT : 1;
  return mafat_connection_is_stalled(c, now) ? 2 : KEPT;
}

/* The connection to close for a new one: of the lowest rank, the oldest; NULL: none. */
static struct mafat_connection *find_victim(struct mafat_server *s, bool spare, double now)
{
  struct mafat_connection *first = NULL;
  int rank = KEPT;
  for (int i = 0; i < MAFAT_POOL_SIZE; i++) {
    struct mafat_connection *c = &s->places[i];
    if (c->state == MAFAT_CONNECTION_FREE || c->spare != spare) continue;
    const int r = rank_of(c, now);
    if (r > rank || r == KEPT || (r == rank && c->since_ms >= first->since_ms)) continue;
    first = c;
    rank = r;
  }
  return first;
}

static struct mafat_connection *find_free(struct mafat_server *s)
{
  int i = 0;
  while (s->places[i].state != MAFAT_CONNECTION_FREE) i++;
  return &s->places[i];
}

static struct mafat_connection *find_spare(struct mafat_server *s, double now)
{
  return s->pool.n_spare < MAFAT_POOL_SPARE ? find_free(s) : find_victim(s, true, now);
}

/* A place for a new connection; NULL: the client waits in the listener's backlog. A spare place is
 * given if the other places stay taken or the job queue is long. On it, /healthz is answered, and
 * pictures get 429 unless another place has become free. */
static struct mafat_connection *find_place(struct mafat_server *s, double now, bool *spare)
{
  *spare = false;
  struct mafat_connection *c =
      s->pool.n_held < MAFAT_POOL_HELD ? find_free(s) : find_victim(s, false, now);
  if (c) return c;
  *spare = true;
  return now - s->emptied_ms >= crowd_ms || mafat_pool_waiting_ms(&s->pool) > s->pool.wait_ms
             ? find_spare(s, now)
             : NULL;
}

/* Accepts a connection. False: none is there (EAGAIN), or it failed. */
static bool accept_one(struct mafat_server *s, int listener, struct mafat_connection *c, bool spare)
{
  int fd = mafat_listeners_accept(&s->listeners, listener);
  if (fd < 0) {
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      s->pauses_until_ms = mafat_session_now_ms() + pause_ms; /* out of descriptors or memory */
    return false;
  }
  if (c->state != MAFAT_CONNECTION_FREE) mafat_connection_evict(c, &s->pool);
  mafat_connection_begin(c, &s->pool, fd, spare);
  mafat_connection_go_on(c, &s->pool, POLLIN); /* its request may have arrived already */
  return true;
}

static void accept_all(struct mafat_server *s, int listener)
{
  const double now = mafat_session_now_ms();
  bool spare;
  for (int n_evicted = 0; n_evicted < MOST_EVICTED;) {
    struct mafat_connection *c = find_place(s, now, &spare);
    if (!c) return;
    n_evicted += c->state != MAFAT_CONNECTION_FREE;
    if (accept_one(s, listener, c, spare)) continue;
    if (errno == EAGAIN) s->emptied_ms = now;
    return;
  }
}

/* Accepts at the listeners that poll() found ready. */
static void accept_ready(struct mafat_server *s, const struct pollfd listeners[])
{
  bool any = false;
  for (int i = 0; i < s->listeners.n; i++) {
    if (listeners[i].revents) accept_all(s, i);
    any = any || listeners[i].revents || listeners[i].fd < 0;
  }
  if (!any) s->emptied_ms = mafat_session_now_ms();
}

/* ---- the loop ---- */

static bool comes_after(const struct mafat_connection *c, const struct mafat_connection *other)
{
  return c->due_ms > other->due_ms || (c->due_ms == other->due_ms && c > other);
}

/* Returns the connection to offer memory after `after`, in order of due times; the first one if
 * `after` is NULL. NULL: there is none. */
static struct mafat_connection *find_waiting(struct mafat_server *s,
                                             const struct mafat_connection *after)
{
  struct mafat_connection *next = NULL;
  for (int i = 0; i < MAFAT_POOL_SIZE; i++) {
    struct mafat_connection *c = &s->places[i];
    if (c->state != MAFAT_CONNECTION_WAITS) continue;
    if (after && !comes_after(c, after)) continue;
    if (!next || comes_after(next, c)) next = c;
  }
  return next;
}

/* Offers memory to the connections that wait for it, in order. One that cannot get any yet does not
 * block those after it. */
static void offer_room(struct mafat_server *s)
{
  struct mafat_connection *c = NULL;
  while (s->pool.n_queued > 0 && (c = find_waiting(s, c)))
    mafat_connection_offer_room(c, &s->pool);
}

/* The connection that has been stalled longest and holds memory; NULL: none. */
static struct mafat_connection *find_stalled(struct mafat_server *s)
{
  const double now = mafat_session_now_ms();
  struct mafat_connection *first = NULL;
  for (int i = 0; i < MAFAT_POOL_SIZE; i++) {
    struct mafat_connection *c = &s->places[i];
    if (c->claim.open && mafat_connection_is_stalled(c, now) &&
        (!first || c->stalls_ms < first->stalls_ms))
      first = c;
  }
  return first;
}

/* Gives memory to the connections that wait for it, and closes stalled connections to free some. */
static void share_room(struct mafat_server *s)
{
  struct mafat_connection *stalled;
  offer_room(s);
  while (s->pool.n_queued > 0 && (stalled = find_stalled(s))) {
    mafat_connection_evict(stalled, &s->pool);
    offer_room(s);
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
  bool spare;
  const bool open = now >= s->pauses_until_ms && find_place(s, now, &spare);
  if (!open && s->listeners.n > 0) until = now + look_ms;
  if (s->pool.n_queued > 0 || mafat_job_queue_counts(s->pool.job_queue).n_waiting > 0)
    until = fmin(until, now + look_ms * 4); /* a connection may stall, or a run be late */
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
    accept_ready(s, &files[FIRST_LISTENER]);
    share_room(s);
    mafat_job_queue_hurry(s->pool.job_queue, s->model, s->usual_ms);
    if (ends && !s->pool.ends) begin_end(s);
  }
  return NULL;
}

int mafat_server_start(struct mafat_server *server, pthread_t *thread, struct mafat_diagnostic *d)
{
  pthread_attr_t attributes;
  signalled = server->pool.job_queue;
  server->emptied_ms = mafat_session_now_ms();
  int error = pthread_attr_init(&attributes);
  if (!error) error = pthread_attr_setstacksize(&attributes, STACK);
  if (!error) error = pthread_create(thread, &attributes, run, server);
  pthread_attr_destroy(&attributes);
  return error ? mafat_fail(d, MAFAT_ENOMEM, "cannot make a thread: %s", strerror(error))
               : MAFAT_OK;
}
