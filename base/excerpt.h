/* Which bytes of a model's files its reader asks for. They are all that is needed to read it again, and of its weights
 * they hold none: an excerpt of them stands for the files. Noted while a model is read, kept in a packed file
 * (model_file.h, formats/packed/graph.h). */
#ifndef MAFAT_BASE_EXCERPT_H
#define MAFAT_BASE_EXCERPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAFAT_EXCERPT_MAX_FILES = 4096 };

/* Bytes [at, at + bytes) of a file, which begin at byte `lies` of the excerpt. */
struct mafat_excerpt_piece {
  uint64_t at, bytes, lies;
};

struct mafat_excerpt_file {
  char *name;     /* "": the model's own; else below its folder */
  char *given;    /* the input that it is the constant of; NULL: the model itself names the file */
  uint64_t bytes; /* its length */
  struct mafat_excerpt_piece *pieces; /* once settled: ascending, apart from each other */
  size_t n, room;
  int by_name; /* of the i-th file here: which one is the i-th by its name */
};

struct mafat_excerpt {
  struct mafat_excerpt_file *files;
  int n_files;
  uint64_t bytes; /* of all pieces, once settled */
  bool failed;    /* out of memory: something is missing */
};

/* Of no file; NULL: out of memory. */
struct mafat_excerpt *mafat_excerpt_make(void);
void mafat_excerpt_close(struct mafat_excerpt **excerpt);

/* The number of the file of that name, -1: there is none. */
int mafat_excerpt_find_file(const struct mafat_excerpt *e, const char *name);
/* Another file, or the one that has the name; -1: too many, or out of memory. */
int mafat_excerpt_add_file(struct mafat_excerpt *e, const char *name, uint64_t bytes);
/* The file was given as the constant of an input. What is out of memory stays in e->failed. */
void mafat_excerpt_give(struct mafat_excerpt *e, int file, const char *input);
/* Bytes that lie in the file. What is out of memory stays in e->failed. */
void mafat_excerpt_add(struct mafat_excerpt *e, int file, uint64_t at, uint64_t n);
/* Pieces in order, those that lie near each other as one; where each lies in the excerpt. */
void mafat_excerpt_settle(struct mafat_excerpt *e);

/* Where in the excerpt bytes [at, at + n) of a file lie. False: not all of them are in it. */
bool mafat_excerpt_locate(const struct mafat_excerpt_file *f, uint64_t at, uint64_t n, uint64_t *lies);

#endif
