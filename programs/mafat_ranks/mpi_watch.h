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

/* Called by all ranks. `seconds` is the timeout; 0: none. The calling thread's progress is
 * watched. NULL: failed. */
struct mafat_mpi_watch *mafat_mpi_watch_open(double seconds);
/* Called by all ranks; waits for the others. */
void mafat_mpi_watch_close(struct mafat_mpi_watch **watch);

/* True: the caller waits for other ranks, which must show signs of life. False, as at opening: it
 * computes. */
void mafat_mpi_watch_rests(struct mafat_mpi_watch *watch, bool rests);

#endif
