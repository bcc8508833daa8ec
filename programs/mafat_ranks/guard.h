/* Two processes of a rank: the parent, which mpirun started, waits; the child works. If a signal
 * ends the child, such as a kill for lack of memory, the parent reports it with rank and host. If
 * the parent is gone, the child reports that and ends. Forks, and sets signal handlers. Included by
 * mafat_ranks.c, mpi_link.c and mpi_watch.c. */
#ifndef MAFAT_PROGRAM_GUARD_H
#define MAFAT_PROGRAM_GUARD_H

/* Forks; called before MPI is initialized. Returns in the child only, or if fork fails. */
void mafat_guard_begin(void);

/* Returns this rank's number, also before MPI is initialized: it is read from environment variables
 * that mpirun sets. */
int mafat_guard_rank(void);
/* Returns the name of this host, "unknown" on failure. */
const char *mafat_guard_host(void);

/* Limits the time of a phase, such as starting MPI: after `seconds`, the process prints
 * "mafat_ranks: rank 1 (host): TEXT" and ends. 0: removes the limit. */
void mafat_guard_limit(double seconds, const char *text);

/* Sends the parent SIGCONT, in case it is stopped, so that it can wait for this process to end. */
void mafat_guard_end(void);

#endif
