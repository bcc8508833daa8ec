/* Parses option values: sizes, lists with one value for each device, and the speeds of links
 * between devices. Touches only its arguments. Included by programs/mafat_serve/route.c and
 * option.c. */
#ifndef MAFAT_PROGRAM_WORDS_H
#define MAFAT_PROGRAM_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum { MAFAT_WORDS_RANKS = 64 };

#define MAFAT_SPEEDS_EXPECTED "how fast each device is beside this one, such as 1,0.5,0.5"

/* Parses a size in bytes: "64M", "16384K", "1G", "4096". Returns false if the text is not a size
 * above 0. */
bool mafat_words_size(const char *text, size_t *bytes);
/* Parses a list of at most `most` such sizes: "64M,16M". Returns false if the text is no such
 * list. */
bool mafat_words_sizes(const char *text, size_t *sizes, int most, int *n);
/* Parses up to MAFAT_WORDS_RANKS relative speeds, each from 0.001 to 1000: "1,0.5". Returns false
 * if the text is no such list. */
bool mafat_words_speeds(const char *text, double *speeds, int *n);
/* Parses a link, "100M:0.2ms" or "1G": bits per second, and seconds for each message. Returns
 * false if the text is no link. */
bool mafat_words_link(const char *text, double *bits, double *seconds);

#endif
