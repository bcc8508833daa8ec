/* Embedded graph: the byte ranges of a model's files that describe its layers. With them the model
 * can be read again without the files; they contain no weights. They are recorded while a model is
 * read, and stored in a packed file (base/model_file.h, formats/packed/graph.h). Included by
 * base/model_file.h and formats/packed/model.h; called by base/model_file.c, formats/packed/graph.c
 * and packed.c, and api/packing/pack.c. Allocates; opens no file. */
#ifndef MAFAT_BASE_EMBEDDED_GRAPH_H
#define MAFAT_BASE_EMBEDDED_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAFAT_EMBEDDED_GRAPH_MAX_FILES = 4096 };

/* Bytes [at, at + bytes) of a file, stored from byte `offset` of the embedded graph. */
struct mafat_embedded_range {
  uint64_t at, bytes, offset;
};

struct mafat_embedded_graph_file {
  char *name;     /* path below the model's folder; "" for the model itself */
  /* name of the model input whose constant value the user gave in this file; else NULL */
  char *given;
  uint64_t bytes; /* file length */
  struct mafat_embedded_range *ranges; /* after settling: ascending and disjoint */
  size_t n, capacity; /* ranges: present, allocated */
  /* files[i].by_name is the index of the i-th file in the order of names */
  int by_name;
};

struct mafat_embedded_graph {
  struct mafat_embedded_graph_file *files;
  int n_files;
  uint64_t bytes; /* sum over all ranges, once settled */
  bool failed;    /* out of memory: ranges are missing */
};

/* Creates an empty graph without files. NULL: out of memory. */
struct mafat_embedded_graph *mafat_embedded_graph_make(void);
void mafat_embedded_graph_close(struct mafat_embedded_graph **embedded_graph);

/* Returns the index of the file with that name, or -1. */
int mafat_embedded_graph_find_file(const struct mafat_embedded_graph *e, const char *name);
/* Returns the index of the file with that name, and adds it if it is absent. -1: too many files, or
 * out of memory. */
int mafat_embedded_graph_add_file(struct mafat_embedded_graph *e, const char *name, uint64_t bytes);
/* Records that the user gave the file as the constant value of `input`, whose name is copied. Sets
 * e->failed if out of memory. */
void mafat_embedded_graph_give(struct mafat_embedded_graph *e, int file, const char *input);
/* Records n bytes of the file from offset `at`. Sets e->failed if out of memory. */
void mafat_embedded_graph_add(struct mafat_embedded_graph *e, int file, uint64_t at, uint64_t n);
/* Sorts the ranges, merges close ones, and assigns their offsets in the embedded graph. */
void mafat_embedded_graph_settle(struct mafat_embedded_graph *e);

/* Finds the offset of the file's bytes [at, at + n) in the embedded graph. False if not all of them
 * are in it. */
bool mafat_embedded_graph_locate(const struct mafat_embedded_graph_file *f, uint64_t at, uint64_t n,
                                 uint64_t *offset);

#endif
