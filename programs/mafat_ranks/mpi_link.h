/* Ranks by MPI: what a link (api/rank_link.h) asks of the others, as messages. The one file that
 * knows MPI. */
#ifndef MAFAT_PROGRAM_MPI_LINK_H
#define MAFAT_PROGRAM_MPI_LINK_H

#include "api/rank_link.h"

struct mafat_mpi;

/* Joins the ranks that mpirun started; *link is of this one. Within so many seconds, as all that
 * ranks wait for has to come; 0: at any time. MAFAT_ENOMEM, MAFAT_EUNSUPPORTED: it cannot, and
 * nothing is to be closed. */
int mafat_mpi_open(struct mafat_mpi **mpi, struct mafat_rank_link *link, double timeout_seconds,
                   struct mafat_diagnostic *d);
/* All ranks: nobody runs any more. */
void mafat_mpi_close(struct mafat_mpi **mpi);

/* Rank 0 begins as many pictures as there are others before it waits for what came of the first. */
void mafat_mpi_run_ahead(struct mafat_mpi *mpi, struct mafat_rank_link *link);

/* Commands of rank 0 to all ranks. */
enum mafat_mpi_word { MAFAT_MPI_END, MAFAT_MPI_OPEN, MAFAT_MPI_RUN };

/* For the others: waits for the next. */
enum mafat_mpi_word mafat_mpi_listen(struct mafat_mpi *mpi);
/* For rank 0, when it is done. */
void mafat_mpi_end(struct mafat_mpi *mpi);

/* One line of this rank's, with its number and host. */
void mafat_mpi_say(const struct mafat_mpi *mpi, const char *text);
/* All ranks end, at once. */
void mafat_mpi_abort(const struct mafat_mpi *mpi, const char *text, int status);

/* Bytes that this rank has sent so far, by messages of plans; and resident before any work, MPI's
 * own. */
uint64_t mafat_mpi_sent_bytes(const struct mafat_mpi *mpi);
size_t mafat_mpi_own_bytes(const struct mafat_mpi *mpi);

#endif
