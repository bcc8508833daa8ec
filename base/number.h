/* Numbers as text, with a point whatever locale the program that uses the library has set. */
#ifndef MAFAT_BASE_NUMBER_H
#define MAFAT_BASE_NUMBER_H

/* As strtof in the C locale, of text that a comma or a semicolon ends. */
float mafat_number_read(const char *text, const char **end);
/* Makes a point of the locale's, in what printf wrote. */
void mafat_number_point(char *text);

#endif
