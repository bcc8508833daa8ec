/* Holds page.html as a byte array, which connection.c sends. Constant data. */
#include "programs/mafat_serve/page.h"

/* The assembler includes the file; the Makefile lists it as a prerequisite of this object. */
__asm__(".section .rodata\n"
        ".global mafat_page\n"
        ".hidden mafat_page\n"
        "mafat_page:\n"
        ".incbin \"programs/mafat_serve/page.html\"\n"
        ".Lmafat_page_end:\n"
        ".balign 4\n"
        ".global mafat_page_length\n"
        ".hidden mafat_page_length\n"
        "mafat_page_length:\n"
        ".long .Lmafat_page_end - mafat_page\n"
        ".previous\n");

extern const unsigned mafat_page_length;

const char mafat_page_type[] =
    "text/html; charset=utf-8\r\nContent-Security-Policy: default-src 'none'; script-src "
    "'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src 'self' blob: data:; connect-src 'self'; media-src blob:";

size_t mafat_page_bytes(void)
{
  return mafat_page_length;
}
