/* MAFAT_PART(name) before a function's definition names the part of a static program that it belongs to (runner/os/parts.def):
 * whatever the function is called, and whatever its file does otherwise. Without it a function goes with its file. Where code is
 * not placed in parts, as in libmafat.so, this changes nothing. */
#ifndef MAFAT_BASE_PART_H
#define MAFAT_BASE_PART_H

/* A section of its own for each line, so that the linker leaves out what nothing calls. No function's own section
 * (-ffunction-sections) begins with two dots. */
#define MAFAT_PART(name) MAFAT_PART_ON_LINE(#name, __LINE__)
#define MAFAT_PART_ON_LINE(name, line) MAFAT_PART_SECTION(name, line)
#define MAFAT_PART_SECTION(name, line) __attribute__((section(".text.." name "." #line)))

#endif
