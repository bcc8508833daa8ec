/* Numbers as text with a decimal point, in any locale that the calling program has set. Included
 * by formats/darknet/cfg.c and runner/calibrate/calibrate_file.c. Allocates nothing and leaves the
 * locale alone. */
#ifndef MAFAT_BASE_NUMBER_H
#define MAFAT_BASE_NUMBER_H

/* Like strtof in the C locale. A comma or a semicolon ends the number. */
float mafat_number_read(const char *text, const char **end);
/* Replaces the locale's decimal point in printf's output by '.'. */
void mafat_number_point(char *text);

#endif
