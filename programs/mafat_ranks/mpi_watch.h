/* A thread of each rank that sees to it that messages go on while the others compute, and that no
 * rank is waited for in vain.
 *
 * Ranks stand in a ring: each lets the next one know, again and again, that it is there. Whose rank
 * before has not been heard of for too long, a rank that is stopped, or whose machine or link is
 * gone, says so and ends them all. Of those that are lost, one follows one that is not, so somebody
 * says it. And a rank whose own work neither computes nor waits for a message for as long, one that
 * hangs in reading a file, says that of itself. */
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
