/* Draws boxes and labels with gd on the caller's picture. Called by annotate.c. Allocates and frees
 * lists of boxes and labels; gd opens the font and caches it for the process. */
#include "programs/annotate/draw.h"

#include "include/mafat.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gdfontg.h>

enum {
  MAX_NAME_BYTES = 96, /* bytes of a class name that a label shows; the rest is cut off */
  MAX_LABEL_BYTES = MAX_NAME_BYTES + 16,
};

/* Half-open: [x0, x1) x [y0, y1). */
struct draw_rect {
  int x0, y0, x1, y1;
};

/* ---- Colours and text ---- */

/* Returns the color of a class. Hues step by the golden ratio, so that neighboring classes differ
 * most and no hue repeats; saturation and value also change from class to class, to keep 80 classes
 * apart. No color is dark, because lines must show on a photograph. */
static int class_color(int class_id)
{
  static const double saturation[] = {0.85, 0.60, 1.00}, value[] = {1.00, 0.95, 0.82};
  double hue = 6 * fmod(0.58 + class_id * 0.6180339887498949, 1.0);
  double s = saturation[class_id % 3], v = value[class_id % 3];
  int channel[3];
  for (int i = 0; i < 3; i++) {
    double k = fmod(5 - 2 * i + hue, 6);
    channel[i] = (int)lround(255 * (v - v * s * fmax(0, fmin(fmin(k, 4 - k), 1))));
  }
  return gdTrueColor(channel[0], channel[1], channel[2]);
}

/* Returns black or white, whichever stands out more from the background (relative luminance of WCAG
 * 2.1; at 0.179 both contrast alike). */
static int text_color(int background)
{
  const double weight[3] = {0.2126, 0.7152, 0.0722};
  const int channel[3] = {gdTrueColorGetRed(background), gdTrueColorGetGreen(background),
                          gdTrueColorGetBlue(background)};
  double luminance = 0;
  for (int i = 0; i < 3; i++) {
    double c = channel[i] / 255.0;
    luminance += weight[i] * (c <= 0.03928 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
  }
  return luminance > 0.179 ? gdTrueColor(0, 0, 0) : gdTrueColor(255, 255, 255);
}

/* How text is written on one picture; all lengths in pixels. */
struct pen {
  bool truetype;
  double points;       /* TrueType only */
  int scale;           /* built-in font only: picture pixels per font pixel */
  int ascent, descent; /* height of the text above and below its base line */
  int line;            /* width of a box's line */
};

/* Font families in order of preference. They are narrow, so that labels cover little. */
static char fontconfig_pattern[] =
    "Open Sans,Noto Sans,Liberation Sans,DejaVu Sans Condensed,sans-serif:bold";

/* gd's TrueType call reads HTML entities, so '&' is escaped. im NULL: only measure. False: no
 * usable font. */
static bool truetype_text(gdImagePtr im, double points, int x, int y, int color, const char *text,
                          int brect[8])
{
  char escaped[5 * MAX_LABEL_BYTES + 1];
  size_t used = 0;
  for (; *text && used + 6 < sizeof escaped; text++) {
    escaped[used++] = *text;
    if (*text == '&') {
      memcpy(escaped + used, "amp;", 4);
      used += 4;
    }
  }
  escaped[used] = '\0';
  return gdImageStringFT(im, brect, color, fontconfig_pattern, points, 0, x, y, escaped) == NULL;
}

static struct pen choose_pen(int width, int height)
{
  double size = sqrt((double)width * height);
  double text_px = fmax(13, size / 32);
  struct pen pen = {.line = (int)fmax(2, lround(size / 220))};
  int brect[8];
  pen.points = text_px * 0.75; /* gd assumes 96 pixels per inch */
  pen.truetype = truetype_text(NULL, pen.points, 0, 0, 0, "Alg", brect);
  if (pen.truetype) {
    pen.ascent = -brect[7];
    pen.descent = brect[1];
  } else {
    gdFontPtr font = gdFontGetGiant();
    pen.scale = (int)fmax(1, lround(text_px / font->h));
    pen.ascent = pen.scale * 11; /* of 15 rows, 4 are below the base line */
    pen.descent = pen.scale * (font->h - 11);
  }
  return pen;
}

static int text_width(const struct pen *pen, const char *text)
{
  int brect[8];
  if (pen->truetype)
    return truetype_text(NULL, pen->points, 0, 0, 0, text, brect) ? brect[2] - brect[0] : INT_MAX;
  int n = 0;
  for (; *text; text++) n += (*text & 0xc0) != 0x80;
  return n * pen->scale * gdFontGetGiant()->w;
}

/* Draws text in the built-in font, enlarged by `scale`. Characters other than ASCII become '?'. */
static void bitmap_text(gdImagePtr im, int scale, int x, int top, int color, const char *text)
{
  gdFontPtr font = gdFontGetGiant();
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if ((c & 0xc0) == 0x80) continue;
    const char *glyph = font->data + ((c < 0x80 ? c : '?') - font->offset) * font->w * font->h;
    for (int i = 0; i < font->w * font->h; i++) {
      int px = x + i % font->w * scale, py = top + i / font->w * scale;
      if (glyph[i]) gdImageFilledRectangle(im, px, py, px + scale - 1, py + scale - 1, color);
    }
    x += font->w * scale;
  }
}

/* Draws text; (x, y) is the left end of its base line. */
static void draw_text(gdImagePtr im, const struct pen *pen, int x, int y, int color,
                      const char *text)
{
  int brect[8];
  if (!pen->truetype)
    bitmap_text(im, pen->scale, x, y - pen->ascent, color, text);
  else if (truetype_text(NULL, pen->points, 0, 0, 0, text, brect))
    truetype_text(im, pen->points, x - brect[0], y, color, text, brect);
}

/* ---- Drawing ---- */

/* A detection that is to be drawn. */
struct mark {
  const struct mafat_annotate_detection *detection;
  struct draw_rect box; /* clipped, not empty */
};

/* Rounds the box to integer pixels and clips it. False: it is outside the picture. Computes in
 * doubles, because boxes may be huge. */
static bool clip_box(const struct mafat_annotate_detection *d, int width, int height,
                     struct draw_rect *out)
{
  double x0 = fmax(0, round(d->x)), x1 = fmin(width, round(d->x + d->width));
  double y0 = fmax(0, round(d->y)), y1 = fmin(height, round(d->y + d->height));
  if (x0 >= width || y0 >= height || x1 < 0 || y1 < 0 || x1 < x0 || y1 < y0) return false;
  *out = (struct draw_rect){
      .x0 = (int)x0, .y0 = (int)y0, .x1 = (int)fmax(x1, x0 + 1), .y1 = (int)fmax(y1, y0 + 1)};
  return true;
}

static int by_confidence_falling(const void *a, const void *b)
{
  const struct mark *p = a, *q = b;
  if (p->detection->confidence != q->detection->confidence)
    return p->detection->confidence < q->detection->confidence ? 1 : -1;
  return p->detection < q->detection ? -1 : p->detection > q->detection;
}

static void fill(gdImagePtr im, struct draw_rect r, int color)
{
  if (r.x0 < r.x1 && r.y0 < r.y1)
    gdImageFilledRectangle(im, r.x0, r.y0, r.x1 - 1, r.y1 - 1,
                           color); /* gd clips, and counts the last pixel in */
}

/* Draws a frame just inside the box; its lines are `line` pixels wide. */
static void draw_frame(gdImagePtr im, struct draw_rect box, int line, int color)
{
  int inner_y0 = box.y0 + line < box.y1 ? box.y0 + line : box.y1;
  int inner_y1 = box.y1 - line > inner_y0 ? box.y1 - line : inner_y0;
  int inner_x0 = box.x0 + line < box.x1 ? box.x0 + line : box.x1;
  int inner_x1 = box.x1 - line > inner_x0 ? box.x1 - line : inner_x0;
  fill(im, (struct draw_rect){box.x0, box.y0, box.x1, inner_y0}, color);
  fill(im, (struct draw_rect){box.x0, inner_y1, box.x1, box.y1}, color);
  fill(im, (struct draw_rect){box.x0, inner_y0, inner_x0, inner_y1}, color);
  fill(im, (struct draw_rect){inner_x1, inner_y0, box.x1, inner_y1}, color);
}

static double overlap(struct draw_rect a, struct draw_rect b)
{
  int w = (a.x1 < b.x1 ? a.x1 : b.x1) - (a.x0 > b.x0 ? a.x0 : b.x0);
  int h = (a.y1 < b.y1 ? a.y1 : b.y1) - (a.y0 > b.y0 ? a.y0 : b.y0);
  return w > 0 && h > 0 ? (double)w * h : 0;
}

static int clamp(int value, int low, int high)
{
  return value < low ? low : value > high ? high : value;
}

/* Places a label of w x h pixels. Tries above the box, inside its top, below it and inside its
 * bottom: first at the box's left edge, then at its right edge. Returns the first place that covers
 * no earlier label, or the place that covers least. It is inside the picture, which is at least w x
 * h. */
static struct draw_rect place_label(gdImagePtr im, struct draw_rect box, int line, int w, int h,
                               const struct draw_rect *placed, size_t n_placed)
{
  const int y[] = {box.y0 - h, box.y0 + line, box.y1, box.y1 - line - h},
            n_y = sizeof y / sizeof *y;
  const int x[] = {box.x0, box.x1 - w};
  struct draw_rect best = {0};
  double best_cost = HUGE_VAL;
  for (int i = 0; i < 2 * n_y && best_cost > 0; i++) {
    int left = clamp(x[i / n_y], 0, gdImageSX(im) - w),
        top = clamp(y[i % n_y], 0, gdImageSY(im) - h);
    struct draw_rect r = {left, top, left + w, top + h};
    /* Moving a label off the picture's edge costs less than covering another label. */
    double cost = top == y[i % n_y] ? 0 : 1;
    for (size_t k = 0; k < n_placed; k++) cost += overlap(r, placed[k]);
    if (cost < best_cost) {
      best = r;
      best_cost = cost;
    }
  }
  return best;
}

/* Formats "dog 94 %". The class name is cut until the text fits; 100 % is the most that is shown.
 * False: nothing fits. */
static bool label_text(const struct pen *pen, const struct mafat_annotate_detection *d,
                       int max_width, char text[MAX_LABEL_BYTES], int *width)
{
  char name[MAX_NAME_BYTES + 1];
  double percent = 100 * fmin(d->confidence, 1);
  if (d->label && *d->label)
    snprintf(name, sizeof name, "%s", d->label);
  else
    snprintf(name, sizeof name, "class %d", d->class_id);
  for (char *c = name; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 0x7f) *c = ' ';
  bool cut = d->label && strlen(d->label) > MAX_NAME_BYTES;
  for (size_t length = strlen(name);; cut = true) {
    snprintf(text, MAX_LABEL_BYTES, "%s%s%s%.0f %%", name, cut && length ? "..." : "",
             length ? " " : "", percent);
    *width = text_width(pen, text);
    if (*width <= max_width && !(cut && length && (name[length - 1] & 0x80))) return true;
    if (length == 0) return false;
    while (length > 0 && (name[--length] & 0xc0) == 0x80) continue;
    name[length] = '\0';
  }
}

/* Draws keypoints as dots with a dark edge. Points outside the picture are not drawn. */
static void draw_points(gdImagePtr im, const struct mafat_annotate_detection *d, int line,
                        int shadow)
{
  for (int i = 0; i < d->n_points; i++) {
    double x = d->points[i][0], y = d->points[i][1];
    if (!(x >= 0 && y >= 0 && x < gdImageSX(im) && y < gdImageSY(im))) continue;
    gdImageFilledEllipse(im, (int)x, (int)y, 2 * line + 3, 2 * line + 3, shadow);
    gdImageFilledEllipse(im, (int)x, (int)y, 2 * line + 1, 2 * line + 1, class_color(i + 1));
  }
}

static void draw_marks(gdImagePtr im, const struct mark *marks, size_t n, struct draw_rect *placed)
{
  struct pen pen = choose_pen(gdImageSX(im), gdImageSY(im));
  int shadow = gdTrueColorAlpha(0, 0, 0, gdAlphaMax / 2);
  gdImageAlphaBlending(im, 1);
  for (size_t i = n; i-- > 0;) { /* the most confident on top */
    struct draw_rect b = marks[i].box;
    draw_frame(im, (struct draw_rect){b.x0 - 1, b.y0 - 1, b.x1 + 1, b.y1 + 1}, pen.line + 2,
               shadow);
    draw_frame(im, b, pen.line, class_color(marks[i].detection->class_id));
    draw_points(im, marks[i].detection, pen.line, shadow);
  }
  /* Less space below, where few letters reach down. */
  int em = pen.ascent + pen.descent, pad_x = (em + 3) / 4, pad_top = (em + 4) / 6,
      pad_bottom = (em + 8) / 12;
  int h = em + pad_top + pad_bottom;
  size_t n_placed = 0;
  for (size_t i = 0; i < n && h <= gdImageSY(im); i++) {
    char text[MAX_LABEL_BYTES];
    int w;
    if (!label_text(&pen, marks[i].detection, gdImageSX(im) - 2 * pad_x, text, &w)) continue;
    struct draw_rect r =
        place_label(im, marks[i].box, pen.line, w + 2 * pad_x, h, placed, n_placed);
    int color = class_color(marks[i].detection->class_id);
    placed[n_placed++] = r;
    fill(im, r, color);
    draw_text(im, &pen, r.x0 + pad_x, r.y0 + pad_top + pen.ascent, text_color(color), text);
  }
}

int mafat_annotate_draw(gdImagePtr im, const struct mafat_annotate_report *report, double thresh,
                        size_t *n_drawn)
{
  int code = MAFAT_ENOMEM;
  size_t n = 0;
  struct mark *marks = calloc(report->n_detections + 1, sizeof *marks);
  struct draw_rect *placed = calloc(report->n_detections + 1, sizeof *placed);
  if (!marks || !placed) goto fail;
  for (size_t i = 0; i < report->n_detections; i++) {
    const struct mafat_annotate_detection *d = &report->detections[i];
    if (d->confidence >= thresh && clip_box(d, gdImageSX(im), gdImageSY(im), &marks[n].box))
      marks[n++].detection = d;
  }
  qsort(marks, n, sizeof *marks, by_confidence_falling);
  gdFTUseFontConfig(1);
  draw_marks(im, marks, n, placed);
  code = MAFAT_OK;
fail:
  free(placed);
  free(marks);
  *n_drawn = n;
  return code;
}

void mafat_annotate_draw_close(void)
{
  gdFontCacheShutdown();
}
