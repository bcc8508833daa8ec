/* A rank is two processes: the one that mpirun started, which waits, and its child, which works.
 * Whatever ends the child, killed or out of memory too, the other is there to say so, with rank and
 * host, on the machine where it happened; and the child says so, and ends, where the other is gone.
 */
#ifndef MAFAT_PROGRAM_GUARD_H
#define MAFAT_PROGRAM_GUARD_H

/* Before MPI begins. Returns in the child alone, or where there can be none. */
void mafat_guard_begin(void);

/* This rank's number in mpirun's environment variables, before MPI is initialized. */
int mafat_guard_rank(void);
const char *mafat_guard_host(void);

/* Limits a phase that cannot be watched from inside: after so many seconds, the process prints
 * "rank 1 (host): TEXT" and ends. 0 seconds: no limit, which also ends an earlier one. */
void mafat_guard_limit(double seconds, const char *text);

/* The other process has nothing to wait for but this one's end: should somebody have stopped it, it
 * goes on. */
void mafat_guard_end(void);

#endif
