/* Parses option values: sizes, and lists with one value for each of several devices and for links
 * between them. Pure. Included by programs/mafat_serve/route.c and option.c. */
#ifndef MAFAT_PROGRAM_WORDS_H
#define MAFAT_PROGRAM_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum { MAFAT_WORDS_RANKS = 64 };

#define MAFAT_SPEEDS_EXPECTED "how fast each device is beside this one, such as 1,0.5,0.5"

/* "64M", "16384K", "1G", "4096": bytes; false if it is none of these. */
bool mafat_words_size(const char *text, size_t *bytes);
/* "64M,16M": a list of at most `most` sizes (mafat_words_size). False: it is none. */
bool mafat_words_sizes(const char *text, size_t *sizes, int most, int *n);
/* "1,0.5": up to MAFAT_WORDS_RANKS speeds, from 0.001 to 1000. */
bool mafat_words_speeds(const char *text, double *speeds, int *n);
/* "100M:0.2ms", "1G": bits a second, and seconds for each message. */
bool mafat_words_link(const char *text, double *bits, double *seconds);

#endif
