/* MAFAT_PART(name), before the definition of a function, places it in a part of a static program
 * (runner/os/parts.def), whatever its name and its file are. A function without it goes with its
 * file. It changes nothing in programs without parts, as those over libmafat.so. */
#ifndef MAFAT_BASE_PART_H
#define MAFAT_BASE_PART_H

/* One section a line, so that the linker can drop each function that nothing calls. Two dots:
 * -ffunction-sections names no section so. */
#define MAFAT_PART(name) MAFAT_PART_ON_LINE(#name, __LINE__)
#define MAFAT_PART_ON_LINE(name, line) MAFAT_PART_SECTION(name, line)
#define MAFAT_PART_SECTION(name, line) __attribute__((section(".text.." name "." #line)))

#endif
