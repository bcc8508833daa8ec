/* `mafat doctor`: checks what this machine offers for runs within a memory budget, and advises on
 * what is missing. Reads /proc and /sys, maps memory and forks. Included by mafat.c. */
#ifndef MAFAT_PROGRAM_DOCTOR_H
#define MAFAT_PROGRAM_DOCTOR_H

#include "include/mafat.h"

/* The command's own words, argv[0] aside; bin: the folder of the other programs. Returns the exit
 * status; what the machine lacks is no failure. */
int doctor(int argc, char **argv, const char *bin);

#endif
