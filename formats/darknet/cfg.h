/* Reads a .cfg file into sections of key = value pairs with line numbers. Blanks within lines are
 * ignored, and lines that begin with # or ; are comments, as in Darknet. sections.h interprets the
 * sections. Included by formats/darknet and formats/packed; called by api/packing and
 * runner/calibrate. Allocates the parsed file. */
#ifndef MAFAT_FORMATS_DARKNET_CFG_H
#define MAFAT_FORMATS_DARKNET_CFG_H

#include "base/model_source.h"

struct mafat_cfg_option {
  const char *key, *value;
  int line;
  bool joined; /* blanks were deleted between two numbers of the value */
  bool used;   /* a reader looked it up */
};

struct mafat_cfg_section {
  const char *type; /* without brackets: "convolutional" */
  int line;
  struct mafat_cfg_option *options;
  int n_options;
};

struct mafat_cfg {
  char *path; /* for messages */
  char *text; /* the file, stripped; sections point into it */
  struct mafat_cfg_section *sections;
  int n_sections;
  struct mafat_cfg_option *options; /* of all sections, contiguous */
  struct mafat_allowance *allowance; /* memory for reading; NULL: no limit */
};

/* Limits: bytes of a file (the largest known cfg has 40 KB), and keys of a section, which are
 * compared with each other (known sections have at most 27). */
enum { MAFAT_CFG_MAX_BYTES = 4 << 20, MAFAT_CFG_MAX_KEYS = 512 };

/* Reads and parses a file. The caller frees *out with mafat_cfg_close. */
int mafat_cfg_read(struct mafat_cfg **out, const char *path,
                   struct mafat_diagnostic *d);
/* Like mafat_cfg_read, for an open file, pipe or memory. */
int mafat_cfg_read_source(struct mafat_cfg **out, const struct mafat_model_source *source,
                          struct mafat_diagnostic *d);
/* Parses text in memory; messages use `name` as the path. */
int mafat_cfg_parse(struct mafat_cfg **out, const char *name, const char *text,
                    size_t text_bytes, struct mafat_diagnostic *d);
void mafat_cfg_close(struct mafat_cfg **cfg);

/* Returns the first option with this key (the first wins, as in Darknet) and marks it used. NULL:
 * absent. */
const struct mafat_cfg_option *mafat_cfg_find(struct mafat_cfg_section *s,
                                              const char *key);

/* Typed look-ups. If the key is absent, *value keeps the caller's default. MAFAT_EFORMAT: not a
 * number, or outside [least, most]. */
int mafat_cfg_int(const struct mafat_cfg *cfg, struct mafat_cfg_section *s,
                  const char *key, int least, int most, int *value,
                  struct mafat_diagnostic *d);
int mafat_cfg_float(const struct mafat_cfg *cfg, struct mafat_cfg_section *s,
                    const char *key, float *value, struct mafat_diagnostic *d);
/* Reads a comma-separated list; the caller frees *values. If the key is absent, *n is 0 and *values
 * is NULL. */
int mafat_cfg_ints(const struct mafat_cfg *cfg, struct mafat_cfg_section *s,
                   const char *key, int **values, int *n,
                   struct mafat_diagnostic *d);
int mafat_cfg_floats(const struct mafat_cfg *cfg, struct mafat_cfg_section *s,
                     const char *key, float **values, int *n,
                     struct mafat_diagnostic *d);

#endif
