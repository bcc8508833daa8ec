/* Options of the patched Darknet that report on a run, and the hooks that carry them out. Compiled
 * into the patched Darknet; 0002-instrument.patch inserts the calls. Options and trace figures are
 * static variables. */
#ifndef MAFAT_INSTRUMENT_H
#define MAFAT_INSTRUMENT_H

#include "darknet.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Removes the options of instrument.c, with one dash or two, from a command line and remembers
 * them. Returns how many arguments are left. A missing or unexpected value prints one line and ends
 * with status 2. */
int instrument_options(int argc, char **argv);

/* The value of an option, "" for one without values; NULL: not given. */
const char *instrument_given(const char *name);

/* Call after inference_command(): fails if options of instrument.c are given to a command that
 * trains, and for unknown options with two dashes in commands that only infer. */
void instrument_check(int argc, char **argv);

/* --layers N: keeps only the first N layers. Call when the cfg's layers are counted but not yet
 * made. */
void instrument_layers(network *net);
/* Returns the layer that has the detections' number of classes: `last` if it has classes, else the
 * last head. */
layer instrument_head(network *net, layer last);

/* Called before and after each layer of a forward pass: --memory-trace, --dump. */
void instrument_before(const network *net, int i);
void instrument_after(const network *net, int i);

/* --input: the file's floats, or `input` if the option is not given. The floats stay allocated. */
float *instrument_input(const network *net, float *input);

/* The picture that the command line names, else the file of --input. */
char *instrument_picture(char *file);

/* True if `file` is that of --input, which is no picture. */
int instrument_is_input(const char *file);

/* A black picture of the network's size, to draw on if the input is no picture. The caller frees
 * it. */
image instrument_canvas(void);

/* --boxes: prints a line for each class of each detection above the threshold. */
void instrument_boxes(image im, const detection *detections, int n, float threshold, char **names,
                      int classes);

#ifdef __cplusplus
}
#endif
#endif
