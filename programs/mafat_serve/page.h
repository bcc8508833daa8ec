/* The page for browsers: the bytes of page.html. Included by connection.c. */
#ifndef MAFAT_PROGRAM_SERVE_PAGE_H
#define MAFAT_PROGRAM_SERVE_PAGE_H

#include <stddef.h>

extern const char mafat_page[];
size_t mafat_page_bytes(void);

/* Value of the header Content-Type, and after it the header Content-Security-Policy, by which the
 * page connects to this server only. */
extern const char mafat_page_type[];

#endif
