/* Implements the rank link, by which the ranks of a model exchange data (api/rank_link.h), with MPI
 * messages. Only mpi_link.c and mpi_watch.c call MPI. Opening allocates and starts the watch thread
 * (mpi_watch.h); mafat_mpi_close ends both. Included by mafat_ranks.c. */
#ifndef MAFAT_PROGRAM_MPI_LINK_H
#define MAFAT_PROGRAM_MPI_LINK_H

#include "api/rank_link.h"

struct mafat_mpi;

/* Joins the ranks that mpirun started, and fills *link for this rank. timeout_seconds limits this
 * and every later wait for a rank; 0: no limit. MAFAT_ENOMEM, MAFAT_EUNSUPPORTED: failed, and
 * nothing needs to be closed. */
int mafat_mpi_open(struct mafat_mpi **mpi, struct mafat_rank_link *link, double timeout_seconds,
                   struct mafat_diagnostic *d);
/* Called by all ranks, after the last run. */
void mafat_mpi_close(struct mafat_mpi **mpi);

/* Lets rank 0 begin as many pictures as there are other ranks before it waits for the first
 * result. */
void mafat_mpi_run_ahead(struct mafat_mpi *mpi, struct mafat_rank_link *link);

/* Commands of rank 0 to all ranks. */
enum mafat_mpi_word { MAFAT_MPI_END, MAFAT_MPI_OPEN, MAFAT_MPI_RUN };

/* Waits for the next command of rank 0. Called by the other ranks. */
enum mafat_mpi_word mafat_mpi_listen(struct mafat_mpi *mpi);
/* Sends the command MAFAT_MPI_END. Called by rank 0. */
void mafat_mpi_end(struct mafat_mpi *mpi);

/* Prints one line on standard error, with this rank's number and host. */
void mafat_mpi_say(const struct mafat_mpi *mpi, const char *text);
/* Prints the text and ends the processes of all ranks with this exit status. */
void mafat_mpi_abort(const struct mafat_mpi *mpi, const char *text, int status);

/* Returns the bytes that this rank has sent in runs; commands do not count. */
uint64_t mafat_mpi_sent_bytes(const struct mafat_mpi *mpi);
/* Memory of MPI itself: bytes that were resident after joining, before any other work. */
size_t mafat_mpi_own_bytes(const struct mafat_mpi *mpi);

#endif
