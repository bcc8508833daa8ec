/* Writes SVG elements through a writer. Called by map_draw.c. Touches only the writer. */
#include "programs/run_inference/svg.h"

#include "base/utf8.h"

#include <string.h>

static const char fonts[] = "DejaVu Sans Mono,Menlo,Consolas,monospace";

/* ---- elements ---- */

void mafat_svg_put_number(struct mafat_writer *w, double value)
{
  char capacity[MAFAT_NUMBER_ROOM];
  const char *text = mafat_format_fixed(capacity, value, 2);
  size_t n = strlen(text);
  if (text == capacity) {
    while (capacity[n - 1] == '0') n--;
    if (capacity[n - 1] == '.') n--;
    capacity[n] = '\0';
  }
  mafat_writer_put(w, text);
}

void mafat_svg_open(struct mafat_writer *w, const char *element)
{
  mafat_writer_put(w, "<");
  mafat_writer_put(w, element);
}

void mafat_svg_word(struct mafat_writer *w, const char *attribute, const char *value)
{
  mafat_writer_put(w, " ");
  mafat_writer_put(w, attribute);
  mafat_writer_put(w, "=\"");
  mafat_writer_put(w, value);
  mafat_writer_put(w, "\"");
}

void mafat_svg_number(struct mafat_writer *w, const char *attribute, double value)
{
  mafat_writer_put(w, " ");
  mafat_writer_put(w, attribute);
  mafat_writer_put(w, "=\"");
  mafat_svg_put_number(w, value);
  mafat_writer_put(w, "\"");
}

void mafat_svg_place(struct mafat_writer *w, struct mafat_svg_box box)
{
  mafat_svg_number(w, "x", box.x);
  mafat_svg_number(w, "y", box.y);
  mafat_svg_number(w, "width", box.w);
  mafat_svg_number(w, "height", box.h);
}

void mafat_svg_begin(struct mafat_writer *w, int width, int height, const char *name)
{
  mafat_writer_put(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
  mafat_svg_open(w, "svg");
  mafat_svg_word(w, "xmlns", "http://www.w3.org/2000/svg");
  mafat_svg_number(w, "width", width);
  mafat_svg_number(w, "height", height);
  mafat_writer_put(w, " viewBox=\"0 0 ");
  mafat_writer_put_integer(w, width);
  mafat_writer_put(w, " ");
  mafat_writer_put_integer(w, height);
  mafat_writer_put(w, "\"");
  mafat_svg_word(w, "font-family", fonts);
  mafat_writer_put(w, ">\n<title>");
  mafat_svg_put(w, name);
  mafat_writer_put(w, "</title>\n");
  mafat_svg_fill(w, (struct mafat_svg_box){0, 0, width, height}, "#ffffff", 1);
}

void mafat_svg_end(struct mafat_writer *w)
{
  mafat_writer_put(w, "</svg>\n");
}

void mafat_svg_fill(struct mafat_writer *w, struct mafat_svg_box box, const char *colour,
                    double opacity)
{
  mafat_svg_open(w, "rect");
  mafat_svg_place(w, box);
  mafat_svg_word(w, "fill", colour);
  if (opacity < 1) mafat_svg_number(w, "fill-opacity", opacity);
  mafat_writer_put(w, "/>\n");
}

void mafat_svg_frame(struct mafat_writer *w, struct mafat_svg_box box, const char *colour)
{
  mafat_svg_open(w, "rect");
  mafat_svg_place(w, box);
  mafat_svg_word(w, "fill", "none");
  mafat_svg_word(w, "stroke", colour);
  mafat_writer_put(w, "/>\n");
}

void mafat_svg_line(struct mafat_writer *w, double x1, double y1, double x2, double y2,
                    const char *colour, bool dashed)
{
  mafat_svg_open(w, "line");
  mafat_svg_number(w, "x1", x1);
  mafat_svg_number(w, "y1", y1);
  mafat_svg_number(w, "x2", x2);
  mafat_svg_number(w, "y2", y2);
  mafat_svg_word(w, "stroke", colour);
  if (dashed) mafat_svg_word(w, "stroke-dasharray", "4 3");
  mafat_writer_put(w, "/>\n");
}

/* ---- text ---- */

enum { LONGEST = 4 }; /* greatest number of bytes of a UTF-8 character */

/* Returns the number of bytes of the UTF-8 character at p; 1 if it is invalid. */
static size_t length_at(const char *p)
{
  size_t n = mafat_utf8_character(p);
  return n ? n : 1;
}

/* True for wide characters: East Asian letters and pictograms. */
static bool is_wide(const char *p)
{
  unsigned char first = (unsigned char)*p;
  return first >= 0xe3 && length_at(p) >= 3;
}

static int cells_at(const char *p)
{
  return is_wide(p) ? 2 : 1;
}

double mafat_svg_width(int size, int characters)
{
  return .602 * size * characters;
}

int mafat_svg_room(int size, double pixels)
{
  return pixels > 0 ? (int)(pixels / (.602 * size)) : 0;
}

int mafat_svg_characters(const char *text)
{
  int n = 0;
  for (; *text; text += length_at(text)) n += cells_at(text);
  return n;
}

/* True for U+FFFE and U+FFFF, which XML forbids. */
static bool is_no_character(const char *p)
{
  return memcmp(p, "\xef\xbf", 2) == 0 && ((unsigned char)p[2] & 0xfe) == 0xbe;
}

static void put_character(struct mafat_writer *w, const char *p)
{
  char one[LONGEST + 1] = "";
  size_t n = length_at(p);
  memcpy(one, p, n);
  switch (*p) {
  case '&': mafat_writer_put(w, "&amp;"); return;
  case '<': mafat_writer_put(w, "&lt;"); return;
  case '>': mafat_writer_put(w, "&gt;"); return;
  case '"': mafat_writer_put(w, "&quot;"); return;
  default: mafat_writer_put_plain(w, n == 3 && is_no_character(one) ? "?" : one);
  }
}

void mafat_svg_put(struct mafat_writer *w, const char *text)
{
  for (; *text; text += length_at(text)) put_character(w, text);
}

/* Shortens a text to `most` columns: writes its beginning, three dots and its end. */
static void put_ends(struct mafat_writer *w, const char *text, int most)
{
  int all = mafat_svg_characters(text), head = (most - 3) / 2, tail = most - 3 - head, at = 0;
  bool between = false;
  for (; *text; at += cells_at(text), text += length_at(text)) {
    if (at + cells_at(text) <= head || at >= all - tail) {
      put_character(w, text);
    } else if (!between) {
      between = true;
      mafat_writer_put(w, "...");
    }
  }
}

static const char *anchor_name(enum mafat_svg_anchor anchor)
{
  return anchor == MAFAT_SVG_END ? "end" : "middle";
}

static void put_turn(struct mafat_writer *w, double x, double y)
{
  mafat_writer_put(w, " transform=\"rotate(-90 ");
  mafat_svg_put_number(w, x);
  mafat_writer_put(w, " ");
  mafat_svg_put_number(w, y);
  mafat_writer_put(w, ")\"");
}

void mafat_svg_put_text(struct mafat_writer *w, const struct mafat_svg_text *t, const char *text,
                        int most)
{
  bool long_one = mafat_svg_characters(text) > most;
  if (most < (long_one ? 4 : 1)) return;
  mafat_svg_open(w, "text");
  mafat_svg_number(w, "x", t->x);
  mafat_svg_number(w, "y", t->y);
  mafat_svg_number(w, "font-size", t->size);
  mafat_svg_word(w, "fill", t->colour);
  if (t->anchor != MAFAT_SVG_START) mafat_svg_word(w, "text-anchor", anchor_name(t->anchor));
  if (t->bold) mafat_svg_word(w, "font-weight", "bold");
  if (t->turned) put_turn(w, t->x, t->y);
  mafat_writer_put(w, ">");
  if (long_one) {
    mafat_writer_put(w, "<title>");
    mafat_svg_put(w, text);
    mafat_writer_put(w, "</title>");
    put_ends(w, text, most);
  } else {
    mafat_svg_put(w, text);
  }
  mafat_writer_put(w, "</text>\n");
}
