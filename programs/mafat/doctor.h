/* `mafat doctor`: checks what this machine offers for runs within a memory budget, and advises on
 * what is missing. Prints the result. Reads /proc and /sys, maps memory and forks. Included by
 * mafat.c. */
#ifndef MAFAT_PROGRAM_DOCTOR_H
#define MAFAT_PROGRAM_DOCTOR_H

#include "include/mafat.h"

/* Runs the command. argv[1] and the following are its arguments. bin: folder of the other programs.
 * Returns the exit status; a feature that the machine lacks is no failure. */
int doctor(int argc, char **argv, const char *bin);

#endif
