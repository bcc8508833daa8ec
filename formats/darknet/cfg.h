/* A .cfg file as sections of key = value pairs with their line numbers, the way
 * Darknet reads it: blanks inside lines mean nothing, lines that begin with #
 * or ; are comments. What the sections mean is network.h's business. */
#ifndef MAFAT_FORMATS_DARKNET_CFG_H
#define MAFAT_FORMATS_DARKNET_CFG_H

#include "base/model_source.h"

struct mafat_cfg_option {
  const char *key, *value;
  int line;
  bool used; /* somebody asked for it */
};

struct mafat_cfg_section {
  const char *type; /* without the brackets: "convolutional" */
  int line;
  struct mafat_cfg_option *options;
  int n_options;
};

struct mafat_cfg {
  char *path; /* for messages */
  char *text; /* stripped copy of the file; types, keys and values point into it */
  struct mafat_cfg_section *sections;
  int n_sections;
  struct mafat_cfg_option *options; /* of all sections, contiguous */
};

/* Largest file accepted, bytes: the largest cfg in use has 40 KB; most keys in a section, which are
 * compared with each other: those in use have 27 at most. */
enum { MAFAT_CFG_MAX_BYTES = 4 << 20, MAFAT_CFG_MAX_KEYS = 512 };

int mafat_cfg_read(struct mafat_cfg **out, const char *path,
                   struct mafat_diagnostic *d);
/* The same from a source. */
int mafat_cfg_read_source(struct mafat_cfg **out, const struct mafat_model_source *source, struct mafat_diagnostic *d);
/* The same from memory; `name` stands in for the path in messages. */
int mafat_cfg_parse(struct mafat_cfg **out, const char *name, const char *text,
                    size_t text_bytes, struct mafat_diagnostic *d);
void mafat_cfg_close(struct mafat_cfg **cfg);

/* The first value of a key in the section (as in Darknet, the first one wins);
 * returns NULL where the section does not have it. Marks it used. */
const struct mafat_cfg_option *mafat_cfg_find(struct mafat_cfg_section *s,
                                              const char *key);

/* Typed look-ups: *value stays as it is (the caller's default) when the key is
 * absent; a value that is no number or outside [least, most] is MAFAT_EFORMAT. */
int mafat_cfg_int(const struct mafat_cfg *cfg, struct mafat_cfg_section *s,
                  const char *key, int least, int most, int *value,
                  struct mafat_diagnostic *d);
int mafat_cfg_float(const struct mafat_cfg *cfg, struct mafat_cfg_section *s,
                    const char *key, float *value, struct mafat_diagnostic *d);
/* Comma-separated lists, allocated; *n is 0 and *values NULL where absent. */
int mafat_cfg_ints(const struct mafat_cfg *cfg, struct mafat_cfg_section *s,
                   const char *key, int **values, int *n,
                   struct mafat_diagnostic *d);
int mafat_cfg_floats(const struct mafat_cfg *cfg, struct mafat_cfg_section *s,
                     const char *key, float **values, int *n,
                     struct mafat_diagnostic *d);

#endif
