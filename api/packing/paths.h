/* Checks the paths of a packing: no input file may be overwritten, and only a complete file gets
 * the final name. Included by api/packing/pack.c. Locks, links and removes files. */
#ifndef MAFAT_API_PACKING_PATHS_H
#define MAFAT_API_PACKING_PATHS_H

#include "include/mafat_pack.h"
#include "network/network.h"

struct mafat_pack_paths {
  const char *cfg, *weights, *out; /* cfg: NULL if the weights are a model of another format */
  char *path;                      /* temporary file; owned */
  bool given;                      /* the weights are an open file or in memory; their path is only
                                      a name */
  bool replace;
  const char *replace_name;        /* option's name in messages */
};

/* Fails if a source or the target is a directory or device. */
int mafat_pack_paths_check(const struct mafat_pack_paths *p, struct mafat_diagnostic *d);
/* Checks files with constants of the model: they exist and are not overwritten. */
int mafat_pack_paths_check_network(const struct mafat_pack_paths *p, const struct mafat_network *n,
                                   struct mafat_diagnostic *d);
/* Checks pictures and "NAME=FILE" files, which are read while packing. */
int mafat_pack_paths_check_read(const struct mafat_pack_paths *p,
                                const struct mafat_pack_options *o, struct mafat_diagnostic *d);
/* Creates the temporary file, empty and open for writing. */
int mafat_pack_paths_create(const struct mafat_pack_paths *p, int *fd, struct mafat_diagnostic *d);
/* Renames the temporary file to its final name. */
int mafat_pack_paths_finish(const struct mafat_pack_paths *p, struct mafat_diagnostic *d);

#endif
