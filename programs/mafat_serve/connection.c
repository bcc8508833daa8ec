/* Reads requests of a connection and writes answers, without blocking. Called by server.c, in the
 * thread of connections. Reads and writes the socket and the body's file, adds jobs to the job
 * queue, counts in the pool. */
#include "programs/mafat_serve/connection.h"

#include "programs/mafat_serve/http.h"
#include "programs/mafat_serve/page.h"
#include "programs/mafat_serve/picture_cost.h"
#include "programs/mafat_serve/route.h"
#include "programs/run_inference/session.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  PIECE = 16 << 10, /* bytes of one write */
  TURN = 16,        /* reads of a body before other connections get their turn */
  LEAST_RATE = 16,  /* lowest allowed rate of a body or an answer, KB/s */
  DUE_RATE = 256,   /* each DUE_RATE KB of a body move it a second back in the order of those that
                       wait for memory */
  PLAN_ROOM = 128 << 10, /* most bytes of an answer about a plan */
  MAP_ROOM = 512 << 10,  /* most bytes of a map */
  SMALL_ROOM = 16 << 10  /* most bytes of the metrics */
};
static const double drain_ms = 2000, stall_ms = 1000,
                    idle_times = 3; /* an idle connection is closed after this many timeouts */

static const char json[] = "application/json", text[] = "text/plain; charset=utf-8",
                  metrics[] = "text/plain; version=0.0.4; charset=utf-8";

static void enter(struct mafat_connection *c, enum mafat_connection_state state, double ms)
{
  c->state = state;
  c->since_ms = mafat_session_now_ms();
  c->until_ms = c->since_ms + ms;
}

/* ---- pace ---- */

/* Sets the deadlines of a body or an answer. If it is slower than LEAST_RATE for the pool's
 * timeout, the connection ends; if for stall_ms, it counts as stalled. */
static void start_pace(struct mafat_connection *c, const struct mafat_connection_pool *pool)
{
  c->until_ms = c->since_ms + pool->timeout_ms;
  c->stalls_ms = c->since_ms + stall_ms;
}

/* Postpones each deadline by the time that `bytes` take at LEAST_RATE, but at most to the whole
 * timeout (or stall_ms) from now, so that a fast phase does not excuse a later slow one. */
static void keep_pace(struct mafat_connection *c, const struct mafat_connection_pool *pool,
                      size_t bytes)
{
  const double now = mafat_session_now_ms(), ms = (double)bytes / (LEAST_RATE << 10) * 1e3;
  c->until_ms = fmin(c->until_ms + ms, now + pool->timeout_ms);
  c->stalls_ms = fmin(c->stalls_ms + ms, now + stall_ms);
}

/* ---- memory ---- */

/* Truncates the body file, which also holds answers, and gives its memory back to the pool. False:
 * truncating failed, and the memory stays in use. */
static bool leave_body(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  const bool emptied = ftruncate(c->body_fd, 0) == 0;
  if (emptied) mafat_room_close(&pool->room, &c->claim);
  return emptied;
}

/* ---- answers ---- */

/* Writes the head of an answer. retry: seconds for Retry-After; 0: no such field. allow: value of
 * the field Allow; NULL: no such field. */
static void put_head(struct mafat_connection *c, int status, const char *type, const char *allow,
                     int retry)
{
  char more[96] = "";
  if (allow) snprintf(more, sizeof more, "Allow: %s\r\n", allow);
  if (retry) snprintf(more, sizeof more, "Retry-After: %d\r\n", retry);
  if (status == 401) snprintf(more, sizeof more, "WWW-Authenticate: Bearer\r\n");
  int n = snprintf(
      c->head, sizeof c->head,
      "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\n%sConnection: %s\r\n\r\n",
      status, mafat_http_reason(status), type, c->answer_bytes, more,
      c->closes ? "close" : "keep-alive");
  c->head_bytes = (size_t)n;
}

/* Appends an error's text to the answer's head, so that it needs no file and no memory of the pool.
 * An answer to HEAD gets no text. */
static void put_error(struct mafat_connection *c, const char *body)
{
  const size_t n = c->answer_bytes;
  c->answer_bytes = 0;
  if (c->only_head) return;
  memcpy(c->head + c->head_bytes, body, n);
  c->head_bytes += n;
}

/* Writes the head and begins to send. If all places for connections are taken, the connection
 * closes after this answer, since other clients wait for its place. */
static void begin_answer(struct mafat_connection *c, struct mafat_connection_pool *pool, int status,
                         const char *type, const char *allow, int retry)
{
  if (!c->keeps || pool->ends || pool->n_held >= MAFAT_POOL_HELD || c->spare) c->closes = true;
  put_head(c, status, type, allow, retry);
  c->sent = 0;
  mafat_pool_count(pool, status);
  enter(c, MAFAT_CONNECTION_SENDS, pool->timeout_ms);
  start_pace(c, pool);
}

/* Begins an answer whose body is `fixed` or in the body's file. HEAD gets the head that GET would
 * get, and no body. */
static void begin_body_answer(struct mafat_connection *c, struct mafat_connection_pool *pool,
                              int status, const char *type, int retry)
{
  begin_answer(c, pool, status, type, NULL, retry);
  if (c->only_head) c->answer_bytes = 0;
}

static void answer_fixed(struct mafat_connection *c, struct mafat_connection_pool *pool,
                         const char *type, const char *bytes, size_t n)
{
  c->fixed = bytes;
  c->answer_bytes = n;
  begin_body_answer(c, pool, 200, type, 0);
}

/* `wrong` is a text of this program, which needs no escapes in JSON. */
static void answer_error(struct mafat_connection *c, struct mafat_connection_pool *pool, int status,
                         const char *wrong, const char *allow, int retry)
{
  char body[320];
  int n = snprintf(body, sizeof body, "{\"error\":\"%.250s\",\"status\":%d}\n", wrong, status);
  if (!leave_body(c, pool)) c->closes = true;
  c->fixed = NULL;
  c->answer_bytes = (size_t)n;
  begin_answer(c, pool, status, json, allow, retry);
  put_error(c, body);
}

/* Answers with an error, and then closes the connection, because the start of the next request is
 * unknown. */
static void answer_error_and_close(struct mafat_connection *c, struct mafat_connection_pool *pool,
                                   int status, const char *wrong, int retry)
{
  c->closes = true;
  answer_error(c, pool, status, wrong, NULL, retry);
}

static int seconds_of(double ms)
{
  return ms < 1000 ? 1 : (int)ceil(ms * 1e-3);
}

/* ---- a request ---- */

static void consume(struct mafat_connection *c, size_t n)
{
  memmove(c->bytes, c->bytes + n, c->have - n);
  c->have -= n;
}

static void ask(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  const struct mafat_job_frame *f = &c->job.frame;
  if (f->w) c->job.cost = (double)f->w * f->h;
  else if (c->job.body_bytes) c->job.cost = mafat_picture_cost(c->body_fd, c->job.body_bytes);
  enter(c, MAFAT_CONNECTION_ASKS, INFINITY);
  mafat_job_queue_add(pool->job_queue, &c->job);
}

static bool store(struct mafat_connection *c, struct mafat_connection_pool *pool, const char *bytes,
                  size_t n)
{
  for (size_t done = 0; done < n;) {
    ssize_t some = pwrite(c->body_fd, bytes + done, n - done, (off_t)(c->got + done));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) { /* no memory, or a limit of the size of files (ulimit -f) */
      answer_error_and_close(c, pool, 503, "out of memory", 1);
      return false;
    }
    done += (size_t)some;
  }
  c->got += n;
  pool->body_bytes += n;
  return true;
}

static void invite(struct mafat_connection *c)
{
  static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
  if (!c->expects || c->have > 0) return;
  ssize_t sent = write(c->fd, line, sizeof line - 1); /* the socket's queue is empty, so it fits;
                                                         if not, the client sends after a while */
  (void)sent;
}

static size_t need_of(const struct mafat_job *job)
{
  return job->kind == MAFAT_JOB_PICTURE ? mafat_pool_need(job->body_bytes)
         : job->kind == MAFAT_JOB_MAP   ? MAP_ROOM
                                        : PLAN_ROOM;
}

/* Takes memory for n more bytes of the body; with the body's last bytes, for the answer, too. */
static bool take_room(struct mafat_connection *c, struct mafat_connection_pool *pool, size_t n)
{
  const size_t after = c->got + n;
  return mafat_room_take(&pool->room, &c->claim,
                         after == c->job.body_bytes ? c->claim.need : mafat_pool_pages(after));
}

static void wait_for_room(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  pool->n_queued++;
  enter(c, MAFAT_CONNECTION_WAITS, pool->wait_ms);
}

/* Stores the part of the body that has arrived in c->bytes, if there is memory for it. After the
 * last part, queues the job. False: stop reading the body for now. */
static bool take_body(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  const size_t left = c->job.body_bytes - c->got, here = c->have < left ? c->have : left;
  if (left > 0 && here == 0) return true;
  if (!take_room(c, pool, here)) {
    wait_for_room(c, pool);
    return false;
  }
  if (!store(c, pool, c->bytes, here)) return false;
  consume(c, here);
  if (c->got < c->job.body_bytes) return true;
  ask(c, pool);
  return false;
}

static void begin_body(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  mafat_room_open(&pool->room, &c->claim, need_of(&c->job));
  c->job.most_bytes = c->claim.need;
  c->got = 0;
  enter(c, MAFAT_CONNECTION_TAKES, pool->timeout_ms);
  start_pace(c, pool);
  c->due_ms = c->since_ms + (double)c->claim.need / (DUE_RATE << 10) * 1e3;
  if (c->job.body_bytes) invite(c);
  take_body(c, pool);
}

/* Turns a spare connection into one that may have jobs, if such a place is free. True: it may have
 * jobs. */
static bool may_have_job(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  if (!c->spare) return true;
  if (pool->n_held >= MAFAT_POOL_HELD) return false;
  c->spare = false;
  pool->n_spare--;
  pool->n_held++;
  return true;
}

static void begin_job(struct mafat_connection *c, struct mafat_connection_pool *pool,
                      const struct mafat_route *route, uint64_t body_bytes)
{
  const double wait_ms = mafat_pool_waiting_ms(pool);
  if (route->job == MAFAT_JOB_PICTURE && wait_ms > pool->wait_ms) {
    answer_error_and_close(c, pool, 429, "too many pictures wait", seconds_of(wait_ms));
    return;
  }
  if (!may_have_job(c, pool)) {
    answer_error_and_close(c, pool, 429, "too many requests wait", seconds_of(wait_ms));
    return;
  }
  if (route->job != MAFAT_JOB_PICTURE && mafat_job_queue_counts(pool->job_queue).n_plans > 0) {
    answer_error(c, pool, 429, "another plan is being found", NULL, 1);
    return;
  }
  c->job = (struct mafat_job){.kind = route->job,
                              .body_fd = c->body_fd,
                              .body_bytes = (size_t)body_bytes,
                              .frame = route->frame,
                              .form = route->form,
                              .thresh = route->thresh,
                              .nms = route->nms,
                              .memory_bytes = route->memory_bytes};
  begin_body(c, pool);
}

static void answer_health(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  static const char well[] = "ok\n";
  if (pool->ends) answer_error(c, pool, 503, "ending", NULL, 0);
  else if (!mafat_job_queue_counts(pool->job_queue).well)
    answer_error(c, pool, 503, "the last run failed", NULL, 0);
  else answer_fixed(c, pool, text, well, sizeof well - 1);
}

static void answer_metrics(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  c->fixed = NULL;
  c->answer_bytes = mafat_pool_write_metrics(pool, c->body_fd, SMALL_ROOM);
  if (c->answer_bytes) begin_body_answer(c, pool, 200, metrics, 0);
  else answer_error(c, pool, 503, "out of memory", NULL, 1);
}

/* Does what the request's route requires. A body that is rejected may have any length, also above
 * SIZE_MAX. */
static void follow(struct mafat_connection *c, struct mafat_connection_pool *pool,
                   const struct mafat_route *route, uint64_t body_bytes)
{
  switch (route->kind) {
  case MAFAT_ROUTE_PAGE:
    answer_fixed(c, pool, mafat_page_type, mafat_page, mafat_page_bytes());
    break;
  case MAFAT_ROUTE_HEALTH: answer_health(c, pool); break;
  case MAFAT_ROUTE_METRICS: answer_metrics(c, pool); break;
  case MAFAT_ROUTE_JOB: begin_job(c, pool, route, body_bytes); break;
  case MAFAT_ROUTE_REFUSED:
    if (body_bytes) c->closes = true; /* the body is not read */
    answer_error(c, pool, route->status, route->wrong, route->allow, 0);
    break;
  }
}

/* Drops empty lines before a request, which some clients send after a body. They do not begin a
 * request. */
static void skip_empty_lines(struct mafat_connection *c)
{
  size_t n = 0;
  while (n + 1 < c->have && c->bytes[n] == '\r' && c->bytes[n + 1] == '\n') n += 2;
  if (n) consume(c, n);
}

/* Parses the bytes read so far. */
static void read_request(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  struct mafat_http_request r;
  struct mafat_route route;
  const struct mafat_route_rules rules = {pool->token, pool->room.capacity, pool->thresh,
                                          pool->nms};
  skip_empty_lines(c);
  enum mafat_http_progress p = mafat_http_read(&r, c->bytes, c->have);
  c->only_head = false;
  if (p == MAFAT_HTTP_PART && c->have == sizeof c->bytes) {
    answer_error_and_close(c, pool, 431, "the request's head is longer than 4096 bytes", 0);
  } else if (p == MAFAT_HTTP_BAD) {
    answer_error_and_close(c, pool, r.status, r.wrong, 0);
  } else if (p == MAFAT_HTTP_WHOLE) {
    c->expects = r.expects;
    c->keeps = r.keeps_alive;
    c->only_head = r.method == MAFAT_HTTP_HEAD;
    mafat_route_find(&route, &rules, &r);
    consume(c, r.head_bytes);
    follow(c, pool, &route, r.body_bytes);
  }
}

/* ---- the socket ---- */

static void lose(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  if (c->state != MAFAT_CONNECTION_DRAINS && !mafat_connection_is_idle(c)) pool->lost++;
  mafat_connection_close(c, pool);
}

/* Number of bytes received; 0: none now; -1: end of the connection, or an error. */
static ssize_t receive(struct mafat_connection *c, char *bytes, size_t n)
{
  ssize_t got = read(c->fd, bytes, n);
  if (got > 0) return got;
  return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static void receive_head(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  ssize_t got = receive(c, c->bytes + c->have, sizeof c->bytes - c->have);
  if (got < 0) lose(c, pool);
  if (got <= 0) return;
  if (c->have == 0) c->until_ms = mafat_session_now_ms() + pool->timeout_ms;
  c->have += (size_t)got;
  read_request(c, pool);
}

static void receive_body(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  for (int i = 0; i < TURN; i++) {
    const size_t left = c->job.body_bytes - c->got;
    ssize_t got = receive(c, c->bytes, left < sizeof c->bytes ? left : sizeof c->bytes);
    if (got < 0) lose(c, pool);
    if (got <= 0) return;
    c->have = (size_t)got;
    keep_pace(c, pool, (size_t)got);
    if (!take_body(c, pool)) return;
  }
}

static void drain(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  char piece[PIECE];
  for (int i = 0; i < 4; i++) {
    ssize_t got = receive(c, piece, sizeof piece);
    if (got < 0) mafat_connection_close(c, pool);
    if (got <= 0) return;
  }
}

/* Copies the next bytes to send, of the head and then of the answer. Returns their number; -1: the
 * answer cannot be read from the body file. */
static ssize_t next_piece(const struct mafat_connection *c, char piece[PIECE])
{
  size_t n = 0;
  if (c->sent < c->head_bytes) {
    n = c->head_bytes - c->sent;
    memcpy(piece, c->head + c->sent, n);
  }
  const size_t at = c->sent + n - c->head_bytes, left = c->answer_bytes - at, capacity = PIECE - n,
               some = left < capacity ? left : capacity;
  if (some == 0) return (ssize_t)n;
  if (c->fixed) memcpy(piece + n, c->fixed + at, some);
  else if (pread(c->body_fd, piece + n, some, (off_t)at) != (ssize_t)some) return -1;
  return (ssize_t)(n + some);
}

/* Closes the connection or goes on with the next request, which may have been received already. */
static void finish_answer(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  if (!c->fixed && !leave_body(c, pool)) c->closes = true;
  if (c->closes) {
    shutdown(c->fd, SHUT_WR);
    enter(c, MAFAT_CONNECTION_DRAINS, drain_ms);
    return;
  }
  enter(c, MAFAT_CONNECTION_READS, c->have ? pool->timeout_ms : idle_times * pool->timeout_ms);
  if (c->have) read_request(c, pool);
}

static void send_answer(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  char piece[PIECE];
  while (c->state == MAFAT_CONNECTION_SENDS && c->sent < c->head_bytes + c->answer_bytes) {
    ssize_t n = next_piece(c, piece), sent = n > 0 ? write(c->fd, piece, (size_t)n) : -1;
    if (n > 0 && sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent <= 0) {
      lose(c, pool);
      return;
    }
    c->sent += (size_t)sent;
    keep_pace(c, pool, (size_t)sent);
  }
  finish_answer(c, pool);
}

/* ---- called by server.c ---- */

void mafat_connection_begin(struct mafat_connection *c, struct mafat_connection_pool *pool, int fd,
                            bool spare)
{
  c->fd = fd;
  c->spare = spare;
  c->closes = c->gone = c->expects = c->only_head = false;
  c->keeps = true;
  c->have = 0;
  c->job.state = MAFAT_JOB_IDLE;
  pool->accepted++;
  *(spare ? &pool->n_spare : &pool->n_held) += 1;
  enter(c, MAFAT_CONNECTION_READS, pool->timeout_ms);
}

short mafat_connection_events(const struct mafat_connection *c)
{
  switch (c->state) {
  case MAFAT_CONNECTION_READS:
  case MAFAT_CONNECTION_TAKES:
  case MAFAT_CONNECTION_DRAINS: return POLLIN;
  case MAFAT_CONNECTION_SENDS: return POLLOUT;
  default: return 0;
  }
}

static void answer_job(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  if (c->gone) {
    mafat_connection_close(c, pool);
    return;
  }
  c->job.state = MAFAT_JOB_IDLE;
  if (!c->job.answer_bytes) {
    answer_error(c, pool, 503, "out of memory", NULL, 1);
    return;
  }
  c->fixed = NULL;
  c->answer_bytes = c->job.answer_bytes;
  mafat_room_shrink(&pool->room, &c->claim, mafat_pool_pages(c->answer_bytes));
  begin_body_answer(c, pool, c->job.status, c->job.type,
                    c->job.status == 429 ? seconds_of(mafat_pool_waiting_ms(pool)) : 0);
}

/* Called when the client has closed. If the job already runs, the connection is only marked as
 * `gone`, and is freed when the job ends. */
static void leave_job_queue(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  if (mafat_job_queue_drop(pool->job_queue, &c->job)) lose(c, pool);
  else c->gone = true;
}

static void give_up(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  switch (c->state) {
  case MAFAT_CONNECTION_READS:
    if (mafat_connection_is_idle(c)) mafat_connection_close(c, pool);
    else answer_error_and_close(c, pool, 408, "the request's head did not come in time", 0);
    break;
  case MAFAT_CONNECTION_WAITS:
    pool->n_queued--;
    answer_error_and_close(c, pool, 429, "there is no room for the request now",
                           seconds_of(pool->wait_ms));
    break;
  case MAFAT_CONNECTION_TAKES:
    answer_error_and_close(c, pool, 408, "the body did not come in time", 0);
    break;
  default: lose(c, pool); break;
  }
}

void mafat_connection_go_on(struct mafat_connection *c, struct mafat_connection_pool *pool,
                            short events)
{
  const bool broken = events & (POLLERR | POLLHUP | POLLNVAL);
  if (c->state == MAFAT_CONNECTION_ASKS &&
      mafat_job_queue_state(pool->job_queue, &c->job) == MAFAT_JOB_DONE)
    answer_job(c, pool);
  else if (c->state == MAFAT_CONNECTION_ASKS && broken && !c->gone) leave_job_queue(c, pool);
  else if (c->state == MAFAT_CONNECTION_WAITS && broken) lose(c, pool);
  else if (c->state == MAFAT_CONNECTION_READS && events) receive_head(c, pool);
  else if (c->state == MAFAT_CONNECTION_TAKES && events) receive_body(c, pool);
  else if (c->state == MAFAT_CONNECTION_DRAINS && events) drain(c, pool);
  if (c->state == MAFAT_CONNECTION_SENDS) send_answer(c, pool);
  if (c->state != MAFAT_CONNECTION_FREE && mafat_session_now_ms() >= c->until_ms) give_up(c, pool);
}

bool mafat_connection_offer_room(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  const size_t left = c->job.body_bytes - c->got, here = c->have < left ? c->have : left;
  if (!take_room(c, pool, here)) return false;
  pool->n_queued--;
  enter(c, MAFAT_CONNECTION_TAKES, pool->timeout_ms);
  start_pace(c, pool);
  take_body(c, pool);
  return true;
}

bool mafat_connection_is_idle(const struct mafat_connection *c)
{
  const bool empty = c->have == 0 || (c->have == 1 && c->bytes[0] == '\r');
  return c->state == MAFAT_CONNECTION_READS && empty;
}

bool mafat_connection_is_stalled(const struct mafat_connection *c, double now_ms)
{
  return (c->state == MAFAT_CONNECTION_TAKES || c->state == MAFAT_CONNECTION_SENDS) &&
         now_ms >= c->stalls_ms;
}

void mafat_connection_evict(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  pool->evicted++;
  if (c->state == MAFAT_CONNECTION_TAKES ||
      (c->state == MAFAT_CONNECTION_READS && !mafat_connection_is_idle(c))) {
    answer_error_and_close(c, pool, 408, "the request came too slowly while others waited", 1);
    send_answer(c, pool);
  }
  mafat_connection_close(c, pool);
}

void mafat_connection_end(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  static const char ending[] = "ending";
  c->closes = true;
  if (mafat_connection_is_idle(c)) {
    mafat_connection_close(c, pool);
  } else if (c->state == MAFAT_CONNECTION_READS || c->state == MAFAT_CONNECTION_TAKES) {
    answer_error_and_close(c, pool, 503, ending, 1);
  } else if (c->state == MAFAT_CONNECTION_WAITS) {
    pool->n_queued--;
    answer_error_and_close(c, pool, 503, ending, 1);
  } else if (c->state == MAFAT_CONNECTION_ASKS && mafat_job_queue_drop(pool->job_queue, &c->job)) {
    answer_error_and_close(c, pool, 503, ending, 1);
  }
}

void mafat_connection_close(struct mafat_connection *c, struct mafat_connection_pool *pool)
{
  if (c->state == MAFAT_CONNECTION_FREE) return;
  if (c->state == MAFAT_CONNECTION_WAITS) pool->n_queued--;
  close(c->fd);
  leave_body(c, pool);
  *(c->spare ? &pool->n_spare : &pool->n_held) -= 1;
  c->state = MAFAT_CONNECTION_FREE;
}
