/* Groups the code of a static program into parts by when it is needed. Code of the part "opening",
 * for example, is dropped from memory before the first run (runner/os/parts.def). MAFAT_PART(name)
 * before a function's definition puts it into that part; without it, the function's file decides.
 * It has no effect on other programs or libmafat.so. Included by api/, base/, formats/, network/,
 * predictor/, programs/ and runner/. Declares macros only. */
#ifndef MAFAT_BASE_PART_H
#define MAFAT_BASE_PART_H

/* A section per line, so that the linker can drop each unused function. The two dots keep the name
 * apart from those of -ffunction-sections. */
#define MAFAT_PART(name) MAFAT_PART_ON_LINE(#name, __LINE__)
#define MAFAT_PART_ON_LINE(name, line) MAFAT_PART_SECTION(name, line)
#define MAFAT_PART_SECTION(name, line) __attribute__((section(".text.." name "." #line)))

#endif
