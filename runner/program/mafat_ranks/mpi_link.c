#include "runner/program/mafat_ranks/mpi_link.h"

#include "predictor/parts/bricks.h"
#include "runner/memory/process.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAGS = 1 << 15 /* that any MPI has */ };

struct mafat_mpi {
  int rank, n_ranks;
  char host[MPI_MAX_PROCESSOR_NAME + 1];
  size_t own_bytes;
  uint64_t sent_bytes;
  MPI_Request *requests; /* [message]: that are under way */
  int n_requests;
  struct mafat_executor_piece *pieces; /* (n_pieces) of a step */
  int *lengths;
  MPI_Aint *places;
  MPI_Datatype *types;
  int n_pieces;
  pthread_t carrier;
  bool carries;
  atomic_bool done;
};

void mafat_mpi_say(const struct mafat_mpi *mpi, const char *text)
{
  fprintf(stderr, "mafat_ranks: rank %d (%s): %s\n", mpi->rank, mpi->host, text);
}

void mafat_mpi_abort(const struct mafat_mpi *mpi, const char *text, int status)
{
  mafat_mpi_say(mpi, text);
  MPI_Abort(MPI_COMM_WORLD, status);
}

/* ---- a message ---- */

static int make_room(struct mafat_mpi *mpi, int n)
{
  if (n <= mpi->n_pieces) return MAFAT_OK;
  free(mpi->pieces);
  free(mpi->lengths);
  free(mpi->places);
  free(mpi->types);
  mpi->pieces = calloc((size_t)n, sizeof *mpi->pieces);
  mpi->lengths = calloc((size_t)n, sizeof *mpi->lengths);
  mpi->places = calloc((size_t)n, sizeof *mpi->places);
  mpi->types = calloc((size_t)n, sizeof *mpi->types);
  mpi->n_pieces = n;
  return mpi->pieces && mpi->lengths && mpi->places && mpi->types ? MAFAT_OK : MAFAT_ENOMEM;
}

static bool same_runs(const struct mafat_executor_piece *a, const struct mafat_executor_piece *b)
{
  return a->n == b->n && a->bytes == b->bytes && a->stride == b->stride;
}

/* Where the elements lie in the arena, and how many bytes they are. Pieces in runs are of few forms: of the last block's. */
static int make_type(struct mafat_mpi *mpi, const struct mafat_executor *e, const struct mafat_step *step, MPI_Datatype *type,
                     uint64_t *bytes)
{
  int n = mafat_executor_pieces(e, step, NULL, 0);
  const struct mafat_executor_piece *run = NULL;
  MPI_Datatype runs = MPI_DATATYPE_NULL;
  if (make_room(mpi, n)) return MAFAT_ENOMEM;
  mafat_executor_pieces(e, step, mpi->pieces, n);
  *bytes = 0;
  for (int i = 0; i < n; i++) {
    const struct mafat_executor_piece *p = &mpi->pieces[i];
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

static int exchange(void *context, struct mafat_executor *e, const struct mafat_step *step, struct mafat_diagnostic *d)
{
  struct mafat_mpi *mpi = context;
  const struct mafat_layer_part *part = mafat_executor_part(e, step);
  MPI_Request *request = request_of(mpi, part->message);
  MPI_Datatype type;
  uint64_t bytes;
  int code = request ? MAFAT_OK : MAFAT_ENOMEM, tag = part->message % TAGS;
  if (code == MAFAT_OK && step->kind == MAFAT_STEP_WAIT) {
    MPI_Wait(request, MPI_STATUS_IGNORE);
    return MAFAT_OK;
  }
  if (code == MAFAT_OK) code = make_type(mpi, e, step, &type, &bytes);
  if (code) return mafat_fail(d, code, "layer %d: cannot exchange a part: %s", step->layer, mafat_error_name(code));
  if (step->kind == MAFAT_STEP_SEND) {
    MPI_Isend(MPI_BOTTOM, 1, type, part->peer, tag, MPI_COMM_WORLD, request);
    mpi->sent_bytes += bytes;
  } else {
    MPI_Recv(MPI_BOTTOM, 1, type, part->peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Type_free(&type); /* once what uses it is done */
  return MAFAT_OK;
}

/* What has been begun goes on only while somebody is inside MPI: a thread is, now and then, while the others compute. */
static void *carry(void *context)
{
  struct mafat_mpi *mpi = context;
  const struct timespec pause = {0, 100000};
  while (!atomic_load(&mpi->done)) {
    int there;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    nanosleep(&pause, NULL);
  }
  return NULL;
}

/* ---- all ranks ---- */

static void tell(enum mafat_mpi_word what)
{
  int word = what;
  MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static void opening(void *context)
{
  const struct mafat_mpi *mpi = context;
  if (mpi->rank == 0) tell(MAFAT_MPI_OPEN);
}

static int opened(void *context, int code, struct mafat_diagnostic *d)
{
  struct mafat_mpi *mpi = context;
  int mine = code ? mpi->rank : mpi->n_ranks, first, pair[2];
  if (code && mpi->rank) mafat_mpi_say(mpi, d->text);
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first == mpi->n_ranks) return MAFAT_OK;
  pair[0] = code;
  MPI_Bcast(pair, 1, MPI_INT, first, MPI_COMM_WORLD);
  return code ? code : mafat_fail(d, pair[0], "rank %d could not open its files, or its plan does not fit", first);
}

static int begin(void *context, struct mafat_diagnostic *d)
{
  const struct mafat_mpi *mpi = context;
  (void)d;
  if (mpi->rank == 0) tell(MAFAT_MPI_RUN);
  return MAFAT_OK;
}

/* Others may wait for what does not come. */
static void ended(void *context, int code, const struct mafat_diagnostic *d)
{
  if (code) mafat_mpi_abort(context, d->text, 1);
}

enum mafat_mpi_word mafat_mpi_listen(void)
{
  int word = MAFAT_MPI_END;
  MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return (enum mafat_mpi_word)word;
}

void mafat_mpi_end(void)
{
  tell(MAFAT_MPI_END);
}

int mafat_mpi_open(struct mafat_mpi **out, struct mafat_rank_link *link, int *argc, char ***argv)
{
  int length = 0, threads = MPI_THREAD_SINGLE;
  struct mafat_mpi *mpi = *out = calloc(1, sizeof *mpi);
  if (!mpi || MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &threads) != MPI_SUCCESS) return MAFAT_ENOMEM;
  MPI_Comm_rank(MPI_COMM_WORLD, &mpi->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &mpi->n_ranks);
  MPI_Get_processor_name(mpi->host, &length);
  mpi->carries = threads == MPI_THREAD_MULTIPLE && mpi->n_ranks > 1 && pthread_create(&mpi->carrier, NULL, carry, mpi) == 0;
  mpi->own_bytes = mafat_process_resident_bytes();
  *link = (struct mafat_rank_link){.rank = mpi->rank, .n_ranks = mpi->n_ranks, .opening = opening, .opened = opened, .begin = begin, .ended = ended,
                              .exchanger = {exchange, mpi}, .context = mpi};
  return MAFAT_OK;
}

void mafat_mpi_close(struct mafat_mpi **mpi)
{
  if (!*mpi) return;
  atomic_store(&(*mpi)->done, true);
  if ((*mpi)->carries) pthread_join((*mpi)->carrier, NULL);
  MPI_Finalize();
  free((*mpi)->requests);
  free((*mpi)->pieces);
  free((*mpi)->lengths);
  free((*mpi)->places);
  free((*mpi)->types);
  free(*mpi);
  *mpi = NULL;
}

uint64_t mafat_mpi_sent_bytes(const struct mafat_mpi *mpi)
{
  return mpi->sent_bytes;
}

size_t mafat_mpi_own_bytes(const struct mafat_mpi *mpi)
{
  return mpi->own_bytes;
}
