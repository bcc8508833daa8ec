/* Implements a rank link with MPI messages. Called by mafat_ranks.c and, through the link's
 * callbacks, by the library. Sets environment variables, initializes and finalizes MPI, sends
 * messages, starts the watch thread; allocates buffers, which closing frees. */
#include "programs/mafat_ranks/mpi_link.h"

#include "predictor/plan/partition.h"
#include "runner/os/process.h"
#include "programs/mafat_ranks/guard.h"
#include "programs/mafat_ranks/mpi_watch.h"
#include "programs/run_inference/session.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAGS = 1 << 15 /* number of tags that every MPI has */ };

/* One received result of a picture. It is stored outside the arena, because later pictures
 * overwrite the arena. */
struct staged {
  char *bytes; /* (capacity) */
  size_t capacity;
  MPI_Request request;
};

struct mafat_mpi {
  int rank, n_ranks;
  double timeout_seconds;
  struct mafat_mpi_watch *watch;
  struct mafat_rank_identity *identities; /* (n_ranks) */
  size_t own_bytes;    /* resident bytes of this process after MPI was opened */
  uint64_t sent_bytes; /* bytes of all messages sent so far */
  int ahead; /* pictures that rank 0 begins ahead; 0: it waits for each */
  bool running;
  struct staged
      *staged; /* (ahead + 1, n_staged) by picture, then in the order in which results arrive */
  int n_staged, receiving; /* results of each picture; index of the next one to receive */
  long long n_begun, n_finished;
  MPI_Request *requests; /* [message]: pending ones */
  int n_requests;
  struct mafat_executor_segment *segments; /* (n_segments) of a step */
  int *lengths;
  MPI_Aint *places;
  MPI_Datatype *types;
  int n_segments;
  float *sums; /* partial sums received from another rank (sums_bytes) */
  size_t sums_bytes;
};

void mafat_mpi_say(const struct mafat_mpi *mpi, const char *text)
{
  char line[700];
  snprintf(line, sizeof line, "rank %d (%s): %s", mpi->rank, mafat_guard_host(), text);
  mafat_session_complain(line);
}

void mafat_mpi_abort(const struct mafat_mpi *mpi, const char *text, int status)
{
  mafat_mpi_say(mpi, text);
  mafat_guard_limit(5, "MPI does not end");
  MPI_Abort(MPI_COMM_WORLD, status);
}

/* ---- a message ---- */

static int make_room(struct mafat_mpi *mpi, int n)
{
  if (n <= mpi->n_segments) return MAFAT_OK;
  free(mpi->segments);
  free(mpi->lengths);
  free(mpi->places);
  free(mpi->types);
  mpi->segments = calloc((size_t)n, sizeof *mpi->segments);
  mpi->lengths = calloc((size_t)n, sizeof *mpi->lengths);
  mpi->places = calloc((size_t)n, sizeof *mpi->places);
  mpi->types = calloc((size_t)n, sizeof *mpi->types);
  mpi->n_segments = n;
  return mpi->segments && mpi->lengths && mpi->places && mpi->types ? MAFAT_OK : MAFAT_ENOMEM;
}

static bool same_runs(const struct mafat_executor_segment *a,
                      const struct mafat_executor_segment *b)
{
  return a->n == b->n && a->bytes == b->bytes && a->stride == b->stride;
}

/* Creates the MPI type of a step's elements in the arena, and counts their bytes. Consecutive
 * segments of equal form become one vector type. */
static int make_type(struct mafat_mpi *mpi, const struct mafat_executor *e,
                     const struct mafat_step *step, MPI_Datatype *type, uint64_t *bytes)
{
  int n = mafat_executor_segments(e, step, NULL, 0);
  const struct mafat_executor_segment *run = NULL;
  MPI_Datatype runs = MPI_DATATYPE_NULL;
  if (make_room(mpi, n)) return MAFAT_ENOMEM;
  mafat_executor_segments(e, step, mpi->segments, n);
  *bytes = 0;
  for (int i = 0; i < n; i++) {
    const struct mafat_executor_segment *p = &mpi->segments[i];
    *bytes += (uint64_t)p->n * p->bytes;
    MPI_Get_address(p->at, &mpi->places[i]);
    mpi->lengths[i] = p->n == 1 ? (int)p->bytes : 1;
    mpi->types[i] = MPI_BYTE;
    if (p->n == 1) continue;
    if (!run || !same_runs(run, p)) {
      if (run) return MAFAT_EUNSUPPORTED;
      MPI_Type_create_hvector(p->n, (int)p->bytes, (MPI_Aint)p->stride, MPI_BYTE, &runs);
      run = p;
    }
    mpi->types[i] = runs;
  }
  MPI_Type_create_struct(n, mpi->lengths, mpi->places, mpi->types, type);
  MPI_Type_commit(type);
  if (run) MPI_Type_free(&runs);
  return MAFAT_OK;
}

static MPI_Request *request_of(struct mafat_mpi *mpi, int message)
{
  if (message >= mpi->n_requests) {
    int n = 2 * message + 64;
    MPI_Request *grown = realloc(mpi->requests, (size_t)n * sizeof *grown);
    if (!grown) return NULL;
    for (int i = mpi->n_requests; i < n; i++) grown[i] = MPI_REQUEST_NULL;
    mpi->requests = grown;
    mpi->n_requests = n;
  }
  return &mpi->requests[message];
}

/* Returns the buffer of the picture's next result. All pictures have the same number of results,
 * which is counted during the first one. */
static struct staged *next_staged(struct mafat_mpi *mpi)
{
  long long picture = mpi->running ? mpi->n_begun - 1 : mpi->n_finished;
  int i = mpi->receiving++, n_pictures = mpi->ahead + 1;
  if (mpi->n_begun == 1 && i >= mpi->n_staged) { /* first picture: one more result for each */
    struct staged *grown = calloc((size_t)n_pictures * (size_t)(i + 1), sizeof *grown);
    if (!grown) return NULL;
    for (int k = 0; k < i; k++) grown[k] = mpi->staged[k];
    free(mpi->staged);
    mpi->staged = grown;
    mpi->n_staged = i + 1;
  }
  return &mpi->staged[(int)(picture % n_pictures) * mpi->n_staged + i];
}

/* Used on rank 0 with pictures in a pipeline. Receives are posted when a picture's steps on rank 0
 * end; a later call completes them in order and copies to the n segments of mpi->segments. It does
 * not use MPI_Unpack, because MPICH accepts no addresses of MPI_BOTTOM there. */
static int receive_staged(struct mafat_mpi *mpi, const struct mafat_layer_part *part, int n,
                          size_t bytes)
{
  struct staged *s = next_staged(mpi);
  if (!s) return MAFAT_ENOMEM;
  if (bytes > s->capacity) {
    free(s->bytes);
    s->bytes = malloc(bytes);
    s->capacity = s->bytes ? bytes : 0;
    if (!s->bytes) return MAFAT_ENOMEM;
  }
  if (mpi->running) {
    MPI_Irecv(s->bytes, (int)bytes, MPI_BYTE, part->peer, part->message % TAGS, MPI_COMM_WORLD,
              &s->request);
    return MAFAT_OK;
  }
  mafat_mpi_watch_rests(mpi->watch, true);
  MPI_Wait(&s->request, MPI_STATUS_IGNORE);
  mafat_mpi_watch_rests(mpi->watch, false);
  const char *from = s->bytes;
  for (int i = 0; i < n; i++) {
    const struct mafat_executor_segment *p = &mpi->segments[i];
    for (int k = 0; k < p->n; k++, from += p->bytes)
      memcpy(p->at + (size_t)k * p->stride, from, p->bytes);
  }
  if (mpi->receiving == mpi->n_staged) mpi->n_finished++, mpi->receiving = 0;
  return MAFAT_OK;
}

/* Receives the partial sums of another rank and adds them to the n segments of mpi->segments, in
 * order. */
static int receive_sums(struct mafat_mpi *mpi, const struct mafat_layer_part *part, int n,
                        size_t bytes)
{
  if (bytes > mpi->sums_bytes) {
    free(mpi->sums);
    mpi->sums = malloc(bytes);
    mpi->sums_bytes = mpi->sums ? bytes : 0;
    if (!mpi->sums) return MAFAT_ENOMEM;
  }
  mafat_mpi_watch_rests(mpi->watch, true);
  MPI_Recv(mpi->sums, (int)bytes, MPI_BYTE, part->peer, part->message % TAGS, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  mafat_mpi_watch_rests(mpi->watch, false);
  const float *from = mpi->sums;
  for (int i = 0; i < n; i++) {
    const struct mafat_executor_segment *p = &mpi->segments[i];
    for (int k = 0; k < p->n; k++) {
      float *to = (float *)(void *)(p->at + (size_t)k * p->stride);
      for (size_t f = 0; f < p->bytes / sizeof *to; f++) to[f] += *from++;
    }
  }
  return MAFAT_OK;
}

static int exchange(void *context, struct mafat_executor *e, const struct mafat_step *step,
                    struct mafat_diagnostic *d)
{
  struct mafat_mpi *mpi = context;
  const struct mafat_layer_part *part = mafat_executor_part(e, step);
  MPI_Request *request = request_of(mpi, part->message);
  MPI_Datatype type;
  uint64_t bytes;
  int code = request ? MAFAT_OK : MAFAT_ENOMEM, tag = part->message % TAGS;
  if (code == MAFAT_OK && step->kind == MAFAT_STEP_WAIT) {
    mafat_mpi_watch_rests(mpi->watch, true);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    mafat_mpi_watch_rests(mpi->watch, false);
    return MAFAT_OK;
  }
  if (code == MAFAT_OK) code = make_type(mpi, e, step, &type, &bytes);
  if (code == MAFAT_OK && bytes > INT_MAX) { /* MPI counts a message's bytes in an int */
    MPI_Type_free(&type);
    code = MAFAT_EUNSUPPORTED;
  }
  if (code)
    return mafat_fail(d, code, "layer %d: cannot exchange a part: %s", step->layer,
                      mafat_error_name(code));
  if (step->kind == MAFAT_STEP_SEND) {
    MPI_Isend(MPI_BOTTOM, 1, type, part->peer, tag, MPI_COMM_WORLD, request);
    mpi->sent_bytes += bytes;
  } else if (part->adds) {
    code = receive_sums(mpi, part, mafat_executor_segments(e, step, NULL, 0), (size_t)bytes);
  } else if (mpi->ahead) {
    code = receive_staged(mpi, part, mafat_executor_segments(e, step, NULL, 0), (size_t)bytes);
  } else {
    mafat_mpi_watch_rests(mpi->watch, true);
    MPI_Recv(MPI_BOTTOM, 1, type, part->peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    mafat_mpi_watch_rests(mpi->watch, false);
  }
  MPI_Type_free(&type); /* MPI frees it when pending messages no longer use it */
  return code == MAFAT_OK ? code : mafat_fail(d, code, "out of memory");
}

/* ---- all ranks ---- */

/* Sends a command of rank 0 to all other ranks. */
static void report(const struct mafat_mpi *mpi, enum mafat_mpi_word what)
{
  int word = what;
  mafat_mpi_watch_rests(mpi->watch, true);
  MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
  mafat_mpi_watch_rests(mpi->watch, false);
}

static int opening(void *context, const struct mafat_rank_identity *id, struct mafat_diagnostic *d)
{
  struct mafat_mpi *mpi = context;
  const int bytes = (int)sizeof *id;
  if (mpi->rank == 0) report(mpi, MAFAT_MPI_OPEN);
  mafat_mpi_watch_rests(mpi->watch, true);
  MPI_Allgather(id, bytes, MPI_BYTE, mpi->identities, bytes, MPI_BYTE, MPI_COMM_WORLD);
  mafat_mpi_watch_rests(mpi->watch, false);
  return mafat_rank_identity_compare(mpi->identities, mpi->n_ranks, d);
}

/* Copies the message of one rank to the diagnostics of all ranks, after its number and host.
 * Returns code. */
static int share(const struct mafat_mpi *mpi, int rank, int code, struct mafat_diagnostic *d)
{
  char text[sizeof d->text];
  MPI_Bcast(&code, 1, MPI_INT, rank, MPI_COMM_WORLD);
  if (mpi->rank == rank) snprintf(text, sizeof text, "%s", d->text);
  MPI_Bcast(text, (int)sizeof text, MPI_CHAR, rank, MPI_COMM_WORLD);
  return mafat_fail(d, code, "rank %d (%s): %s", rank, mpi->identities[rank].host, text);
}

/* Result of opening the model on a rank. */
struct opened {
  int code;
  uint64_t plan; /* checksum of the plan */
};

static int opened(void *context, int code, uint64_t plan, struct mafat_diagnostic *d)
{
  struct mafat_mpi *mpi = context;
  struct opened mine = {code, plan}, *all = calloc((size_t)mpi->n_ranks, sizeof *all);
  if (!all) {
    mafat_mpi_abort(mpi, "out of memory", EXIT_RUNNING);
    return MAFAT_ENOMEM;
  }
  mafat_mpi_watch_rests(mpi->watch, true);
  MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, all, (int)sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  code = MAFAT_OK;
  for (int rank = 0; rank < mpi->n_ranks && code == MAFAT_OK; rank++)
    if (all[rank].code) code = share(mpi, rank, all[rank].code, d);
  for (int rank = 1; rank < mpi->n_ranks && code == MAFAT_OK; rank++)
    if (all[rank].plan != all[0].plan)
      code = mafat_fail(d, MAFAT_EINVAL, "rank %d (%s): its plan is not that of rank 0 (%s)", rank,
                        mpi->identities[rank].host, mpi->identities[0].host);
  mafat_mpi_watch_rests(mpi->watch, mpi->rank == 0);
  free(all);
  return code;
}

static int begin(void *context, struct mafat_diagnostic *d)
{
  struct mafat_mpi *mpi = context;
  (void)d;
  report(mpi, MAFAT_MPI_RUN);
  mpi->running = true;
  mpi->receiving = 0;
  mpi->n_begun++;
  return MAFAT_OK;
}

/* Called when a run ends. After a failure all ranks end, since others may wait for messages that
 * this rank will not send. */
static void ended(void *context, int code, const struct mafat_diagnostic *d)
{
  struct mafat_mpi *mpi = context;
  mpi->running = false;
  mpi->receiving = 0;
  if (code) mafat_mpi_abort(mpi, d->text, EXIT_RUNNING);
  mafat_mpi_watch_rests(mpi->watch, true);
}

enum mafat_mpi_word mafat_mpi_listen(struct mafat_mpi *mpi)
{
  int word = MAFAT_MPI_END;
  mafat_mpi_watch_rests(mpi->watch, true);
  MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
  mafat_mpi_watch_rests(mpi->watch, false);
  return (enum mafat_mpi_word)word;
}

void mafat_mpi_end(struct mafat_mpi *mpi)
{
  report(mpi, MAFAT_MPI_END);
}

/* Open MPI copies TCP messages of up to 64 KB, and larger ones 128 KB at a time, into buffers
 * that it keeps: with six ranks up to 3 MB. Smaller buffers are as fast. Variables that the user
 * has set stay; other MPIs ignore these. */
static void ask_for_small_buffers(void)
{
  static const char *const settings[][2] = {{"OMPI_MCA_btl_tcp_eager_limit", "4096"},
                                            {"OMPI_MCA_btl_tcp_rndv_eager_limit", "4096"},
                                            {"OMPI_MCA_btl_tcp_max_send_size", "16384"}};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    setenv(settings[i][0], settings[i][1], 0);
}

/* Bytes that MPI allocates after it was opened, for ranks on TCP: in every process, for each rank,
 * and on rank 0, which receives most messages. Measured for YOLOv2: up to 0.45 MB on two ranks,
 * 0.95 MB on six. */
enum {
  LATE_BYTES = 512 << 10,
  LATE_RANK_BYTES = 128 << 10,
  LATE_FIRST_BYTES = 192 << 10
};

int mafat_mpi_open(struct mafat_mpi **out, struct mafat_rank_link *link, double timeout_seconds,
                   struct mafat_diagnostic *d)
{
  int threads = MPI_THREAD_SINGLE;
  struct mafat_mpi *mpi = *out = calloc(1, sizeof *mpi);
  mafat_guard_limit(timeout_seconds, "MPI does not begin");
  ask_for_small_buffers();
  if (!mpi || MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &threads) != MPI_SUCCESS)
    return mafat_fail(d, MAFAT_ENOMEM, "cannot start MPI");
  MPI_Comm_rank(MPI_COMM_WORLD, &mpi->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &mpi->n_ranks);
  if (threads != MPI_THREAD_MULTIPLE)
    return mafat_fail(d, MAFAT_EUNSUPPORTED, "expected an MPI that takes calls of several threads");
  mpi->timeout_seconds = timeout_seconds;
  mpi->identities = calloc((size_t)mpi->n_ranks, sizeof *mpi->identities);
  mpi->watch = mafat_mpi_watch_open(timeout_seconds);
  if (!mpi->watch || !mpi->identities) return mafat_fail(d, MAFAT_ENOMEM, "out of memory");
  mafat_guard_limit(0, "");
  mpi->own_bytes = mafat_process_resident_bytes();
  *link =
      (struct mafat_rank_link){.rank = mpi->rank,
                               .n_ranks = mpi->n_ranks,
                               .opening = opening,
                               .opened = opened,
                               .begin = begin,
                               .ended = ended,
                               .late_bytes = LATE_BYTES + (size_t)mpi->n_ranks * LATE_RANK_BYTES +
                                             (mpi->rank == 0 ? LATE_FIRST_BYTES : 0),
                               .exchanger = {exchange, mpi},
                               .context = mpi};
  return MAFAT_OK;
}

void mafat_mpi_close(struct mafat_mpi **mpi)
{
  if (!*mpi) return;
  mafat_guard_limit((*mpi)->timeout_seconds, "MPI does not end");
  mafat_mpi_watch_close(&(*mpi)->watch);
  MPI_Finalize();
  mafat_guard_limit(0, "");
  for (int i = 0; i < ((*mpi)->ahead + 1) * (*mpi)->n_staged; i++) free((*mpi)->staged[i].bytes);
  free((*mpi)->staged);
  free((*mpi)->identities);
  free((*mpi)->sums);
  free((*mpi)->requests);
  free((*mpi)->segments);
  free((*mpi)->lengths);
  free((*mpi)->places);
  free((*mpi)->types);
  free(*mpi);
  *mpi = NULL;
}

void mafat_mpi_run_ahead(struct mafat_mpi *mpi, struct mafat_rank_link *link)
{
  link->ahead = mpi->n_ranks - 1;
  mpi->ahead = mpi->rank ? 0 : link->ahead;
}

uint64_t mafat_mpi_sent_bytes(const struct mafat_mpi *mpi)
{
  return mpi->sent_bytes;
}

size_t mafat_mpi_own_bytes(const struct mafat_mpi *mpi)
{
  return mpi->own_bytes;
}
