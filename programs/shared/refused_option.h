/* Prints the message for a word of the command line that getopt_long rejects; the same in all
 * programs. Included by programs/mafat/doctor.c, programs/memory_limit/options.c, option.c and
 * programs/swap_cost/swap_cost.c. */
#ifndef MAFAT_PROGRAM_REFUSED_OPTION_H
#define MAFAT_PROGRAM_REFUSED_OPTION_H

#include <getopt.h>
#include <stddef.h>

enum { MAFAT_REFUSED_ROOM = 200 };

/* After getopt_long returned `answer`: '?', or ':' where the short options begin with a colon. The
 * caller sets opterr to 0, so that getopt prints nothing. Values of long options are the letters of
 * short ones or above 255; only then can --force=3 be told from -f. */
void mafat_refused_option(char text[MAFAT_REFUSED_ROOM], int answer, const struct option *table,
                          char *const *argv);

/* "unknown option --memroy: did you mean --memory?", or that --help lists them. */
void mafat_refused_unknown(char text[MAFAT_REFUSED_ROOM], const char *word,
                           const struct option *table);

#endif
