/* Watch thread of a rank: keeps MPI messages moving while the rank computes, and detects lost
 * ranks.
 *
 * The ranks form a ring: each repeatedly tells the next one that it is alive. If a rank does not
 * hear from the previous one for the timeout (it was stopped, or its machine or link failed), it
 * reports this and ends all ranks. A rank whose own main thread makes no progress for the timeout,
 * for example because it hangs in reading a file, reports itself. Starts a thread. Included by
 * mpi_link.c. */
#ifndef MAFAT_PROGRAM_MPI_WATCH_H
#define MAFAT_PROGRAM_MPI_WATCH_H

#include <stdbool.h>

struct mafat_mpi_watch;

/* Starts the watch; called by all ranks. seconds: timeout; 0: none. Watches the progress of the
 * calling thread. Returns NULL on failure. */
struct mafat_mpi_watch *mafat_mpi_watch_open(double seconds);
/* Ends the watch; called by all ranks. Waits until all have called it. */
void mafat_mpi_watch_close(struct mafat_mpi_watch **watch);

/* Called by the watched thread when its state changes. rests true: it waits for other ranks, so its
 * lack of progress is no fault; false, the state after opening: it computes. */
void mafat_mpi_watch_rests(struct mafat_mpi_watch *watch, bool rests);

#endif
