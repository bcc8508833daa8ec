/* The page for browsers: the bytes of page.html. Included by connection.c. */
#ifndef MAFAT_PROGRAM_SERVE_PAGE_H
#define MAFAT_PROGRAM_SERVE_PAGE_H

#include <stddef.h>

extern const char mafat_page[];
size_t mafat_page_bytes(void);

/* Content type, and a security policy by which the page connects to this server only. */
extern const char mafat_page_type[];

#endif
