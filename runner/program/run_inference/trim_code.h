/* A program's own code under a memory limit: not the library's affair, which is a
 * guest in its process. */
#ifndef MAFAT_PROGRAM_TRIM_CODE_H
#define MAFAT_PROGRAM_TRIM_CODE_H

/* Gives back what was read ahead of this program's file, and from here on a page of
 * its code that is missing is read alone: under a tight limit what the kernel would
 * read ahead (128 KB to megabytes a time) drives out other pages in use. */
void mafat_trim_code(void);

#endif
