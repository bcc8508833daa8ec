/* Options of the patched Darknet that report on a run, and their hooks. Compiled into it. */
#ifndef MAFAT_INSTRUMENT_H
#define MAFAT_INSTRUMENT_H

#include "darknet.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the options that are ours out of a command line, with one dash or two; returns how many
 * arguments are left. A value that is missing or none: one line, exit status 2. */
int instrument_options(int argc, char **argv);
const char *instrument_given(
    const char *name); /* an option's value, "" where it has none; NULL: not given */
void instrument_check(int argc, char **argv); /* they are for commands that only infer; what else
                                                 begins with two dashes there is not known */

/* --layers: a network of so many layers, whatever follows. After its cfg has been counted,
 * before a layer is made. */
void instrument_layers(network *net);
/* The layer that tells how many classes detections have: the last one, or the last head where
 * the network ends without one. */
layer instrument_head(network *net, layer last);

/* Around each layer of a forward pass: --memory-trace, --dump. */
void instrument_before(const network *net, int i);
void instrument_after(const network *net, int i);

/* --input: its floats in place of a picture's. */
float *instrument_input(const network *net, float *input);
char *instrument_picture(
    char *file); /* the picture that a command line names, else the input's name */
int instrument_is_input(const char *file);    /* whether that is no picture, */
image instrument_canvas(void); /* and what is drawn on then: black, of the network's size */

/* --boxes: a line for every label of every detection. */
void instrument_boxes(image im, const detection *detections, int n, float threshold, char **names,
                      int classes);

#ifdef __cplusplus
}
#endif
#endif
