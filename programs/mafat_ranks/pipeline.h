/* Implements --pipeline: rank 0 begins a picture while other ranks still compute earlier ones.
 * Runs the model and prints results. Included by mafat_ranks.c. */
#ifndef MAFAT_PROGRAM_PIPELINE_H
#define MAFAT_PROGRAM_PIPELINE_H

struct mafat_session;

/* Runs all pictures of the command line. Prints the results in the order of the pictures, then the
 * number of pictures and the time. Returns an exit status. */
int mafat_pipeline_run(struct mafat_session *s);

/* Returns a message that names an option that cannot be combined with --pipeline; NULL: none. */
const char *mafat_pipeline_refuses(const struct mafat_session *s);

#endif
