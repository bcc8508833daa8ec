/* Why getopt_long refuses a word of the command line, told alike by all programs. */
#ifndef MAFAT_PROGRAM_REFUSED_OPTION_H
#define MAFAT_PROGRAM_REFUSED_OPTION_H

#include <getopt.h>
#include <stddef.h>

enum { MAFAT_REFUSED_ROOM = 160 };

/* Behind an answer of '?', or of ':', as it is where the short options begin with one: opterr is 0, so that getopt says nothing itself.
 * The values of long options are the letters of short ones, or above 255: only then is --force=3 known from -f. */
void mafat_refused_option(char text[MAFAT_REFUSED_ROOM], int answer, const struct option *table, char *const *argv);

#endif
