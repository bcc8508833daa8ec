/* Writes text and JSON through a small buffer to a file descriptor. Allocates nothing, so that
 * output needs no memory of the budget.
 *
 * Foreign text (paths, labels) may contain any bytes: JSON escapes control characters, text has '?'
 * for them, and both have U+FFFD for invalid UTF-8. Numbers have a decimal point in every locale;
 * NaN and infinity are never written. Included by programs/mafat/doctor.c, programs/memory_limit
 * and programs/run_inference; called by programs/mafat_serve. */
#ifndef MAFAT_PROGRAM_WRITER_H
#define MAFAT_PROGRAM_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/mafat.h"

struct mafat_writer {
  int fd;     /* descriptor to write to, owned by the caller */
  int error;  /* errno of the first failure; nothing is written after it */
  bool comma; /* JSON: the open object or array has a member, so the next one needs a comma */
  size_t capacity; /* bytes that may still be written to fd; more fail with EFBIG. Initially
                      unlimited */
  size_t used;
  char buffer[4096];
};

void mafat_writer_open(struct mafat_writer *w, int fd);
/* Writes the buffer to the descriptor. Returns MAFAT_OK, or MAFAT_EIO with the reason of the first
 * failure. */
int mafat_writer_flush(struct mafat_writer *w, struct mafat_diagnostic *d);

/* ---- text ---- */

enum { MAFAT_NUMBER_ROOM = 352 }; /* %.1f of DBL_MAX has 311 characters */

/* Format a number into the array `capacity` and return the array; "-" for NaN and infinity. */
const char *mafat_format_fixed(char capacity[MAFAT_NUMBER_ROOM], double value, int decimals);
const char *mafat_format_integer(char capacity[MAFAT_NUMBER_ROOM], int64_t value);

void mafat_writer_put(struct mafat_writer *w, const char *text); /* our own text, as it is */
void mafat_writer_put_plain(struct mafat_writer *w, const char *text); /* from outside */
void mafat_writer_put_spaces(struct mafat_writer *w, int n);
void mafat_writer_put_right(struct mafat_writer *w, const char *text, int width);
void mafat_writer_put_fixed(struct mafat_writer *w, double value, int decimals);
void mafat_writer_put_integer(struct mafat_writer *w, int64_t value);

/* ---- JSON ---- */

/* Writes the comma before a key or an element of an array, unless it is the first. */
void mafat_json_separate(struct mafat_writer *w);
void mafat_json_key(struct mafat_writer *w, const char *key);
/* Begin and end an object or array. bracket: "{" or "[" to begin, "}" or "]" to end. */
void mafat_json_begin(struct mafat_writer *w, const char *bracket);
void mafat_json_end(struct mafat_writer *w, const char *bracket);
/* Text NULL: null. Key NULL: an element of an array. Bytes that are not UTF-8 become U+FFFD; then a
 * member "KEY_bytes" follows with all bytes of the text as hexadecimal digits, since paths may have
 * any bytes. */
void mafat_json_string(struct mafat_writer *w, const char *key, const char *text);
/* An array of strings, which a NULL ends. KEY_bytes is then an array, too. */
void mafat_json_strings(struct mafat_writer *w, const char *key, const char *const *list);
void mafat_json_count(struct mafat_writer *w, const char *key, int64_t value); /* negative: null */
void mafat_json_number(struct mafat_writer *w, const char *key,
                       double value); /* not finite: null */
void mafat_json_put_number(struct mafat_writer *w, double value);
/* Ends the object and the line, and flushes. Returns MAFAT_OK, or MAFAT_EIO if a write failed, now
 * or earlier. */
int mafat_json_finish_line(struct mafat_writer *w);

#endif
