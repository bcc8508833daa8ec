/* Standard input, output and error of a program. */
#ifndef MAFAT_PROGRAMS_SHARED_STREAMS_H
#define MAFAT_PROGRAMS_SHARED_STREAMS_H

/* To begin with: where a caller has closed one of them, its number is taken, and reading from it or
 * writing to it fails. The first file that is opened would have it else: messages would go into
 * results, and a list be read from weights. */
void mafat_streams_hold(void);

/* A file to be written, emptied or made where it is none, closed on exec; -1: errno. /dev/stdout
 * and the like are the stream itself: opened by its name, a file would lose what has been written
 * there. */
int mafat_streams_open(const char *path);

/* The name that messages begin with: the program's own, or "mafat run" where the command mafat
 * started it, which passes that as argv[0]. */
const char *mafat_streams_program(const char *called, const char *name);

/* The same for a program that is also installed by another name, such as "mafat-pack": that name,
 * where argv[0] ends in it. */
const char *mafat_streams_installed(const char *called, const char *installed, const char *name);

/* All that was printed is on standard output; -1: it is not, errno. Only now does a full disk or a
 * closed pipe show. */
int mafat_streams_finish(void);

/* Writes a text to standard output after everything printed before; -1: failed, with a message
 * on standard error. */
int mafat_streams_say(const char *program, const char *text);

/* One line on standard error, behind the program's name. What a terminal may obey of text from
 * outside, and its ends of lines, become '?'. */
__attribute__((format(printf, 2, 3))) void mafat_streams_complain(const char *program,
                                                                  const char *format, ...);

#endif
