/* Checks that Darknet lacks: one clear line and exit status 2 in place of a crash, of silence or of
 * success. Compiled into the patched Darknet. */
#ifndef MAFAT_GUARD_H
#define MAFAT_GUARD_H

#include "darknet.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether windows can be opened; says once that none will be. */
int guard_display(void);

void guard_error(const char *text) __attribute__((noreturn));
void guard_path(const char *path,
                int capacity); /* room: of Darknet's array, for what it adds, too, and the end */
void guard_unwritten(const char *file);      /* a picture; returns where Darknet trains */
void guard_picture(
    const char *file,
    const char *why); /* cannot be loaded; returns where Darknet trains, which goes on without it */

/* A cfg. */
void guard_section(
    const list *options); /* numbers that Darknet would divide by or multiply into too much */
void guard_source(int index, int layer, const char *type); /* a layer that another one reads */
void guard_head(layer l, int index, int inputs);           /* a head and what it reads */

/* The next networks have at least so many pictures a batch, whatever their cfg says: one, where
 * batch is less than subdivisions. */
void guard_batch(int least);
int guard_least_batch(int batch);

/* A weights file after layer i has been read from it. Those that only begin a training may be
 * short. */
void guard_weights(FILE *from, const char *file, int i);

/* Names and how many there are, so that no class is looked up behind the last. */
char **guard_names(char **names, int n);
void guard_classes(char **names, int classes);
int guard_named(char **names, int index);

#ifdef __cplusplus
}
#endif
#endif
