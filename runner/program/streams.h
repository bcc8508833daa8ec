/* Standard input, output and error of a program. */
#ifndef MAFAT_RUNNER_PROGRAM_STREAMS_H
#define MAFAT_RUNNER_PROGRAM_STREAMS_H

/* To begin with: where a caller has closed one of them, its number is taken, and reading from it or writing to it
 * fails. The first file that is opened would have it else: messages would go into results, and a list be read from weights. */
void mafat_streams_hold(void);

#endif
