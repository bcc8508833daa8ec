/* Writes SVG pictures, element by element, to a writer. Needs no library, and viewers need no style
 * sheets. Lengths are pixels; colours are written like "#56b4e9".
 *
 * Foreign text may contain any bytes: it is escaped, and invalid characters are replaced. Widths of
 * text are those of monospaced fonts, which the pictures request. Allocates nothing. Included by
 * map_draw.c. */
#ifndef MAFAT_PROGRAM_SVG_H
#define MAFAT_PROGRAM_SVG_H

#include "programs/shared/writer.h"

struct mafat_svg_box {
  double x, y, w, h;
};

/* Begins a picture. name: a description for screen readers. Elements follow in the order in which
 * they are painted. */
void mafat_svg_begin(struct mafat_writer *w, int width, int height, const char *name);
void mafat_svg_end(struct mafat_writer *w);

/* Fills a box with a colour; opacity: 0 to 1. */
void mafat_svg_fill(struct mafat_writer *w, struct mafat_svg_box box, const char *colour,
                    double opacity);
void mafat_svg_frame(struct mafat_writer *w, struct mafat_svg_box box, const char *colour);
void mafat_svg_line(struct mafat_writer *w, double x1, double y1, double x2, double y2,
                    const char *colour, bool dashed);

/* Parts of an element: the caller opens it, adds attributes, and writes its end. */
void mafat_svg_open(struct mafat_writer *w, const char *element); /* "<rect" */
void mafat_svg_number(struct mafat_writer *w, const char *attribute, double value);
void mafat_svg_word(struct mafat_writer *w, const char *attribute,
                    const char *value); /* value is not escaped */
void mafat_svg_place(struct mafat_writer *w, struct mafat_svg_box box);
/* Writes a number, rounded to a hundredth, without trailing zeros. */
void mafat_svg_put_number(struct mafat_writer *w, double value);

/* ---- text ---- */

enum mafat_svg_anchor { MAFAT_SVG_START, MAFAT_SVG_MIDDLE, MAFAT_SVG_END };

/* Position and font of a text; x, y: its anchor on the base line. */
struct mafat_svg_text {
  double x, y;
  int size;
  const char *colour;
  enum mafat_svg_anchor anchor;
  bool bold, turned; /* turned: read from bottom to top */
};

/* Width in pixels of a text of `characters` characters. */
double mafat_svg_width(int size, int characters);
/* Number of characters that fit into `pixels` pixels. */
int mafat_svg_room(int size, double pixels);
/* Width of a text in characters; wide ones, such as those of East Asia, count twice. */
int mafat_svg_characters(const char *text);

/* Writes a text. If it is wider than `most` characters, its middle is left out and the whole text
 * is its title. */
void mafat_svg_put_text(struct mafat_writer *w, const struct mafat_svg_text *t, const char *text,
                        int most);
/* Writes text between tags, escaped. */
void mafat_svg_put(struct mafat_writer *w, const char *text);

#endif
