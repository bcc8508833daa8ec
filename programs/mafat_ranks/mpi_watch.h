/* Watch thread of a rank: keeps messages going while others compute, and detects lost ranks.
 *
 * Ranks form a ring. Each repeatedly signals the next that it is alive. If the previous rank has
 * been silent for too long (it was stopped, or its machine or link is gone), a rank reports this
 * and ends all ranks. Some lost rank is followed by one that is not, so somebody reports it. A rank
 * that neither computes nor waits for a message for as long, such as one that hangs in reading a
 * file, reports itself. Starts a thread. Included by mpi_link.c. */
#ifndef MAFAT_PROGRAM_MPI_WATCH_H
#define MAFAT_PROGRAM_MPI_WATCH_H

#include <stdbool.h>

struct mafat_mpi_watch;

/* All ranks. seconds: what is too long; 0: nothing is. Of the calling thread it is looked at
 * whether it gets on. NULL: it cannot be. */
struct mafat_mpi_watch *mafat_mpi_watch_open(double seconds);
/* All ranks; waits for the others to come here. */
void mafat_mpi_watch_close(struct mafat_mpi_watch **watch);

/* The caller waits for others, who are to be heard of; or it has work to do again, which is what it
 * begins with. */
void mafat_mpi_watch_rests(struct mafat_mpi_watch *watch, bool rests);

#endif
