/* Files that are read, and the one that is written: none of those that are read gives way, and a whole file alone gets its name. */
#ifndef MAFAT_API_PACKING_PATHS_H
#define MAFAT_API_PACKING_PATHS_H

#include "include/mafat_pack.h"
#include "network/network.h"

struct mafat_pack_paths {
  const char *cfg, *weights, *out; /* cfg: NULL where the weights are a model of another format */
  char *path;                      /* that is written for the time being; owned */
  bool given;                      /* the weights are open already, or in memory: their path is but a name */
  bool replace;
  const char *replace_name;        /* what messages call it */
};

/* Neither a folder nor a device is a source, or gives way to a file. */
int mafat_pack_paths_check(const struct mafat_pack_paths *p, struct mafat_diagnostic *d);
/* The same of files that the model keeps constants in: they are there, and none of them is written. */
int mafat_pack_paths_check_network(const struct mafat_pack_paths *p, const struct mafat_network *n, struct mafat_diagnostic *d);
/* The same of pictures and of "NAME=FILE", which are read while packing. */
int mafat_pack_paths_check_read(const struct mafat_pack_paths *p, const struct mafat_pack_options *o, struct mafat_diagnostic *d);
/* The file, empty, open for writing. */
int mafat_pack_paths_create(const struct mafat_pack_paths *p, int *fd, struct mafat_diagnostic *d);
/* It gets its name. */
int mafat_pack_paths_finish(const struct mafat_pack_paths *p, struct mafat_diagnostic *d);

#endif
