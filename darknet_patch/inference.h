/* Saves memory in commands that only infer: training buffers, weights that a file replaces, outputs
 * after their last reader. Compiled into the patched Darknet; the patches call the functions below
 * the line. Results keep their bits. */
#ifndef MAFAT_INFERENCE_H
#define MAFAT_INFERENCE_H

#include "darknet.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Modes, each with all of the one before. */
enum {
  INFERENCE_OFF = 0,  /* as Debian's Darknet */
  INFERENCE_ONLY = 1, /* networks have no training buffers, convolutions a small workspace, and it
                         is given back after each layer */
  INFERENCE_LEAN = 2  /* outputs, too, once their last reader has run: then only those of heads and
                         of the last layer can be read */
};

/* For networks that are made and run after the call; the library begins with INFERENCE_OFF, the
 * program with INFERENCE_LEAN where its command only infers. Who trains a network made so, or
 * asks for its gradients, reads through null pointers. Not to be called by two threads at a
 * time. */
void inference_only(int mode);
int inference_mode(void);

/* Chooses the mode for a command line of the program, and how malloc keeps what is freed. */
void inference_command(int argc, char **argv);

/* Whether the layer that is being made is trained: its buffers are wanted. */
int inference_trains(void);
void inference_layer(LAYER_TYPE type); /* this type is made next */

/* Whether weights need no first values, since all of them come from a file. */
int inference_loads(void);
void inference_weights(const char *file); /* a network is made next that this file fills; NULL or
                                             "": was made, or none does */
void inference_options(list *options);    /* of a section of its cfg */

/* After layer i of a forward pass. */
void inference_done(const network *net, int i);

/* The matrix products of one group of a convolution, some rows of its output map at a time: the
 * workspace holds their input columns alone. Each output is the same sum in the same order.
 * False: not done, the map is small or columns are not needed. */
int inference_convolves(layer l, const float *input, float *weights, float *output,
                        float *workspace);
size_t inference_workspace(layer l); /* bytes of the workspace that it uses */

/* A picture's floats while the network runs: gone, and loaded again from the file if they are to
 * be drawn on; black if that was changed meanwhile. */
void inference_drop_picture(image *im, const char *file);
void inference_reload_picture(image *im, char *file);

image inference_character(image **alphabet, int size,
                          int character); /* loads it when it is first asked for */
char *inference_line(char *line); /* no longer than its text, and without the \r of other systems */
void inference_free_layer(layer l);                                   /* what free_layer forgets */
void inference_free_network(network *net);

/* One line on stderr, and exit. */
void inference_fail(int status, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

#ifdef __cplusplus
}
#endif
#endif
