/* Writes the message about a word of the command line that getopt_long rejects, so that all
 * programs word it alike. Included by programs/mafat/doctor.c, programs/memory_limit/options.c,
 * option.c and programs/swap_cost/swap_cost.c. */
#ifndef MAFAT_PROGRAM_REFUSED_OPTION_H
#define MAFAT_PROGRAM_REFUSED_OPTION_H

#include <getopt.h>
#include <stddef.h>

enum { MAFAT_REFUSED_ROOM = 200 };

/* Call it after getopt_long returned '?', or ':' if the string of short options begins with a
 * colon: `answer` is what it returned. The caller must set opterr to 0, so that getopt prints
 * nothing. The values of long options must be above 255, unless they are the letter of a short
 * option; otherwise --force=3 and -f look the same. */
void mafat_refused_option(char text[MAFAT_REFUSED_ROOM], int answer, const struct option *table,
                          char *const *argv);

/* Writes "unknown option --memroy: did you mean --memory?", or, if none is near, "see --help". */
void mafat_refused_unknown(char text[MAFAT_REFUSED_ROOM], const char *word,
                           const struct option *table);

#endif
