/* mafat doctor: what this machine has of what runs within a memory budget go by, and what to do
 * about what it has not. */
#ifndef MAFAT_PROGRAM_DOCTOR_H
#define MAFAT_PROGRAM_DOCTOR_H

#include "include/mafat.h"

/* The command's own words, argv[0] aside; bin: the folder of the other programs. Returns the exit
 * status; what the machine lacks is no failure. */
int doctor(int argc, char **argv, const char *bin);

#endif
