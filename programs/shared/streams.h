/* Standard input, output and error of a program. Opens files; allocates and frees messages.
 * Included by all folders of programs but swap_cost. */
#ifndef MAFAT_PROGRAMS_SHARED_STREAMS_H
#define MAFAT_PROGRAMS_SHARED_STREAMS_H

/* Opens /dev/null for each of the descriptors 0, 1 and 2 that is closed when the program starts;
 * reads and writes on these fail. Otherwise the first opened file would get such a number, and
 * messages would be written into it. Called first in main(). */
void mafat_streams_hold(void);

/* Opens a file for writing, created or truncated, closed on exec; -1: see errno. /dev/stdout and
 * the like give the stream itself: opening it by name would truncate what was already written. */
int mafat_streams_open(const char *path);

/* Returns the name at the start of messages: `name`, or "mafat run" if the command mafat started
 * the program and passed that as argv[0] (`called`). */
const char *mafat_streams_program(const char *called, const char *name);

/* Like mafat_streams_program, for a program that is also installed under another name, such as
 * "mafat-pack": returns that name if argv[0] ends in it. */
const char *mafat_streams_installed(const char *called, const char *installed, const char *name);

/* Flushes standard output; -1: see errno. A full disk or a closed pipe shows only now. */
int mafat_streams_finish(void);

/* Writes a text to standard output after everything printed before; -1: failed, with a message
 * on standard error. */
int mafat_streams_say(const char *program, const char *text);

/* Prints a text in which % stands for the program's name. */
void mafat_streams_put_named(const char *text, const char *name);

/* Writes "PROGRAM VERSION" as mafat_streams_say does. */
int mafat_streams_say_version(const char *program);

/* Prints one line on standard error, after the program's name. Control characters and line ends in
 * foreign text become '?'. */
__attribute__((format(printf, 2, 3))) void mafat_streams_complain(const char *program,
                                                                  const char *format, ...);

#endif
