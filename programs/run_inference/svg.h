/* Writes SVG pictures, element by element through a writer, without a library. Any viewer shows
 * them, with or without style sheets. Lengths are pixels; colours are written like "#56b4e9".
 *
 * Foreign text may contain anything: it is escaped, and an invalid character is replaced by one
 * that shows this. Widths are those of monospaced fonts, which the pictures request. Allocates
 * nothing. Included by map_draw.c. */
#ifndef MAFAT_PROGRAM_SVG_H
#define MAFAT_PROGRAM_SVG_H

#include "programs/shared/writer.h"

struct mafat_svg_box {
  double x, y, w, h;
};

/* The picture's name is what readers say who do not see it. Behind it come elements, in the order
 * they are painted. */
void mafat_svg_begin(struct mafat_writer *w, int width, int height, const char *name);
void mafat_svg_end(struct mafat_writer *w);

/* A box of one colour; opacity: 0 to 1. */
void mafat_svg_fill(struct mafat_writer *w, struct mafat_svg_box box, const char *colour,
                    double opacity);
void mafat_svg_frame(struct mafat_writer *w, struct mafat_svg_box box, const char *colour);
void mafat_svg_line(struct mafat_writer *w, double x1, double y1, double x2, double y2,
                    const char *colour, bool dashed);

/* Parts of an element that is not closed at once. */
void mafat_svg_open(struct mafat_writer *w, const char *element); /* "<rect" */
void mafat_svg_number(struct mafat_writer *w, const char *attribute, double value);
void mafat_svg_word(struct mafat_writer *w, const char *attribute,
                    const char *value); /* our own: not escaped */
void mafat_svg_place(struct mafat_writer *w, struct mafat_svg_box box);
/* To a hundredth of a pixel, as short as that is. */
void mafat_svg_put_number(struct mafat_writer *w, double value);

/* ---- text ---- */

enum mafat_svg_anchor { MAFAT_SVG_START, MAFAT_SVG_MIDDLE, MAFAT_SVG_END };

/* The font is part of it; x, y: of its anchor on the base line. */
struct mafat_svg_text {
  double x, y;
  int size;
  const char *colour;
  enum mafat_svg_anchor anchor;
  bool bold, turned; /* turned: read from bottom to top */
};

/* The pixels that so many characters are wide. */
double mafat_svg_width(int size, int characters);
/* How many of them there is room for. */
int mafat_svg_room(int size, double pixels);
/* How many a text takes: some are twice as wide as others. */
int mafat_svg_characters(const char *text);

/* A text of more than `most` characters loses its middle, and has all of itself as its title. */
void mafat_svg_put_text(struct mafat_writer *w, const struct mafat_svg_text *t, const char *text,
                        int most);
/* Escaped, for what lies between tags. */
void mafat_svg_put(struct mafat_writer *w, const char *text);

#endif
