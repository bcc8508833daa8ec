/* Checks the paths of a packing, so that no input file is overwritten, and writes a temporary file
 * that gets the final name only when it is complete. Included by api/packing/pack.c. Creates,
 * locks, links and removes files. */
#ifndef MAFAT_API_PACKING_PATHS_H
#define MAFAT_API_PACKING_PATHS_H

#include "include/mafat_pack.h"
#include "network/network.h"

struct mafat_pack_paths {
  const char *cfg, *weights, *out; /* cfg: NULL if the weights are a model of another format */
  char *path;                      /* name of the temporary file; pack.c allocates and frees it */
  bool given;                      /* the weights are an open file or in memory; their path is only
                                      a name */
  bool replace;                    /* an existing file may be replaced */
  const char *replace_name;        /* name of the option that sets `replace`, for messages */
};

/* Fails if a source or the target is a directory or device. */
int mafat_pack_paths_check(const struct mafat_pack_paths *p, struct mafat_diagnostic *d);
/* Checks that the model's other files with constants exist and are not overwritten. */
int mafat_pack_paths_check_network(const struct mafat_pack_paths *p, const struct mafat_network *n,
                                   struct mafat_diagnostic *d);
/* Checks that pictures and the files of "NAME=FILE" constants are not overwritten. */
int mafat_pack_paths_check_read(const struct mafat_pack_paths *p,
                                const struct mafat_pack_options *o, struct mafat_diagnostic *d);
/* Creates the temporary file, empty and open for writing. */
int mafat_pack_paths_create(const struct mafat_pack_paths *p, int *fd, struct mafat_diagnostic *d);
/* Renames the temporary file to its final name. */
int mafat_pack_paths_finish(const struct mafat_pack_paths *p, struct mafat_diagnostic *d);

#endif
