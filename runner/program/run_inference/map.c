#include "runner/program/run_inference/map.h"

#include "runner/program/run_inference/svg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_TAGS = 5, WIDTH = 1240, HEIGHT = 700, LEFT = 90, TOP = 112, RIGHT = 260, BOTTOM = 64, SMALL = 11, USUAL = 13, MOST_LISTED = 22 };

static const char *const tags[N_TAGS] = {"activations", "input", "scratch", "weights", "io"};
/* Okabe and Ito's, which those see, too, who see few colours. */
static const char *const colours[N_TAGS] = {"#56b4e9", "#009e73", "#e69f00", "#cc79a7", "#f0e442"};
static const char ink[] = "#202020", pale[] = "#808080", edge[] = "#33658a", peak_colour[] = "#d55e00";

struct map {
  const struct mafat_answer *answer;
  struct mafat_plan_facts plan;
  struct mafat_arena_facts arena;
  struct mafat_writer *w;
  double x_scale, y_scale; /* pixels of a time, and of a byte */
};

static const char *colour_of(const struct mafat_buffer_facts *b)
{
  for (int i = 0; i < N_TAGS; i++)
    if (strcmp(b->tag, tags[i]) == 0) return colours[i];
  return pale;
}

/* ---- words ---- */

/* "1.25 MB", "12.3 KB" */
static void format_bytes(char *text, size_t room, size_t bytes)
{
  bool large = bytes >= 1 << 20;
  char number[MAFAT_NUMBER_ROOM];
  mafat_format_fixed(number, (double)bytes / (large ? 1 << 20 : 1 << 10), large ? 2 : 1);
  snprintf(text, room, "%.20s %s", number, large ? "MB" : "KB");
}

/* "layer 12 convolutional", "input 0", "ring" */
static void format_owner(const struct map *m, const struct mafat_buffer_facts *b, char *text, size_t room)
{
  struct mafat_layer_facts l;
  const char *what = strcmp(b->what, "map") == 0 ? "" : b->what;
  if (b->input >= 0) snprintf(text, room, "input %d", b->input);
  else if (b->layer >= 0 && mafat_answer_layer(m->answer, b->layer, &l) == MAFAT_OK)
    snprintf(text, room, "%d %.40s%s%s", b->layer, l.type, *what ? ", " : "", what);
  else snprintf(text, room, "%s", b->what);
}

static void put(const struct map *m, double x, double y, const char *text, int most, enum mafat_svg_anchor anchor, const char *colour)
{
  const struct mafat_svg_text t = {.x = x, .y = y, .size = SMALL, .colour = colour, .anchor = anchor};
  mafat_svg_put_text(m->w, &t, text, most);
}

/* ---- the picture ---- */

static double x_of(const struct map *m, int time)
{
  return LEFT + time * m->x_scale;
}

static double y_of(const struct map *m, size_t offset)
{
  return HEIGHT - BOTTOM - (double)offset * m->y_scale;
}

static void draw_head(const struct map *m, const char *model)
{
  char line[256], arena[32], bound[32], percent[MAFAT_NUMBER_ROOM];
  struct mafat_svg_text t = {.x = LEFT, .y = 26, .size = USUAL + 3, .colour = ink, .bold = true};
  int most = mafat_svg_room(SMALL, WIDTH - LEFT - 20);
  mafat_svg_put_text(m->w, &t, model, mafat_svg_room(USUAL + 3, WIDTH - LEFT - 20));
  snprintf(line, sizeof line, "plan %.200s", m->plan.text);
  put(m, LEFT, 46, line, most, MAFAT_SVG_START, ink);
  size_t over = m->arena.bytes - m->arena.bound_bytes;
  format_bytes(arena, sizeof arena, m->arena.bytes);
  format_bytes(bound, sizeof bound, m->arena.bound_bytes);
  mafat_format_fixed(percent, m->arena.bound_bytes ? 100.0 * (double)over / (double)m->arena.bound_bytes : 0, 1);
  snprintf(line, sizeof line, "arena %s; at least %s live at the peak, %zu bytes (%.20s %%) less", arena, bound, over, percent);
  put(m, LEFT, 62, line, most, MAFAT_SVG_START, ink);
  double x = LEFT;
  for (int i = 0; i < N_TAGS; i++) {
    mafat_svg_fill(m->w, (struct mafat_svg_box){x, 72, 11, 11}, colours[i], 1);
    put(m, x + 16, 82, tags[i], 20, MAFAT_SVG_START, ink);
    x += 16 + mafat_svg_width(SMALL, (int)strlen(tags[i])) + 18;
  }
}

static void draw_axes(const struct map *m)
{
  enum { TICKS = 5, MOST_STEPS = 16 };
  int n_steps = m->arena.n_times / 2, apart = (n_steps + MOST_STEPS - 1) / MOST_STEPS;
  char text[32];
  for (int i = 0; i <= TICKS; i++) {
    size_t bytes = m->arena.bytes / TICKS * (size_t)i;
    format_bytes(text, sizeof text, bytes);
    mafat_svg_line(m->w, LEFT, y_of(m, bytes), WIDTH - RIGHT, y_of(m, bytes), "#e4e4e4", false);
    put(m, LEFT - 6, y_of(m, bytes) + 4, text, 20, MAFAT_SVG_END, ink);
  }
  for (int step = 0; step < n_steps; step += apart > 0 ? apart : 1) {
    snprintf(text, sizeof text, "%d", step);
    put(m, x_of(m, 2 * step), HEIGHT - BOTTOM + 16, text, 10, MAFAT_SVG_START, ink);
  }
  put(m, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - BOTTOM + 36, "steps, in the order of the run", 60, MAFAT_SVG_MIDDLE, ink);
}

/* Thin boxes have no edges, which would be all that is seen of them. */
static void draw_buffer(const struct map *m, const struct mafat_buffer_facts *b)
{
  char owner[80], bytes[32], text[256];
  const struct mafat_svg_box box = {x_of(m, b->first), y_of(m, b->offset + b->bytes), (b->last + 1 - b->first) * m->x_scale,
                                    (double)b->bytes * m->y_scale};
  format_owner(m, b, owner, sizeof owner);
  format_bytes(bytes, sizeof bytes, b->bytes);
  mafat_svg_open(m->w, "rect");
  mafat_svg_place(m->w, box);
  mafat_svg_word(m->w, "class", "buffer");
  mafat_svg_word(m->w, "fill", colour_of(b));
  if (box.w >= 3 && box.h >= 3) mafat_svg_word(m->w, "stroke", edge), mafat_svg_number(m->w, "stroke-width", .5);
  mafat_writer_put(m->w, "><title>");
  snprintf(text, sizeof text, "%s: %s (%s), %zu bytes at %zu, steps %d to %d", b->tag, owner, bytes, b->bytes, b->offset, b->first / 2,
           b->last / 2);
  mafat_svg_put(m->w, text);
  mafat_writer_put(m->w, "</title></rect>\n");
  int room = mafat_svg_room(SMALL, box.w - 6);
  if ((int)strlen(owner) > room) *strchrnul(owner, ' ') = '\0'; /* the layer's number alone */
  if (box.h >= 14 && room >= (int)strlen(owner))
    put(m, box.x + 3, box.y + box.h / 2 + (box.h >= 28 ? -2 : 4), owner, room, MAFAT_SVG_START, ink);
  if (box.h >= 28 && room >= (int)strlen(bytes)) put(m, box.x + 3, box.y + box.h / 2 + 12, bytes, room, MAFAT_SVG_START, ink);
}

static void draw_buffers(const struct map *m)
{
  struct mafat_buffer_facts b;
  for (int i = 0; i < m->arena.n_buffers; i++)
    if (mafat_answer_buffer(m->answer, i, &b) == MAFAT_OK && b.first <= b.last) draw_buffer(m, &b);
}

/* The largest of those that live then, below `below`, and of equal ones from number `from` on; false: none. */
static bool next_at_peak(const struct map *m, size_t *below, int *from, struct mafat_buffer_facts *found)
{
  struct mafat_buffer_facts b;
  int best = -1;
  for (int i = 0; i < m->arena.n_buffers; i++) {
    if (mafat_answer_buffer(m->answer, i, &b) || b.first > m->arena.peak_time || b.last < m->arena.peak_time) continue;
    if (b.bytes > *below || (b.bytes == *below && i < *from) || (best >= 0 && b.bytes <= found->bytes)) continue;
    best = i;
    *found = b;
  }
  if (best < 0) return false;
  *below = found->bytes;
  *from = best + 1;
  return true;
}

static void draw_peak(const struct map *m)
{
  double x = x_of(m, m->arena.peak_time) + m->x_scale / 2, y = TOP + 4;
  struct mafat_buffer_facts b;
  size_t below = SIZE_MAX;
  char text[160], owner[80], bytes[32];
  int from = 0;
  mafat_svg_line(m->w, x, TOP - 6, x, HEIGHT - BOTTOM, peak_colour, true);
  put(m, x, TOP - 8, "peak", 8, MAFAT_SVG_MIDDLE, peak_colour);
  snprintf(text, sizeof text, "at the peak, step %d:", m->arena.peak_time / 2);
  put(m, WIDTH - RIGHT + 14, y, text, 40, MAFAT_SVG_START, peak_colour);
  for (int i = 0; i < MOST_LISTED && next_at_peak(m, &below, &from, &b); i++) {
    y += 20;
    format_owner(m, &b, owner, sizeof owner);
    format_bytes(bytes, sizeof bytes, b.bytes);
    mafat_svg_fill(m->w, (struct mafat_svg_box){WIDTH - RIGHT + 14, y - 9, 10, 10}, colour_of(&b), 1);
    put(m, WIDTH - RIGHT + 30, y, owner, mafat_svg_room(SMALL, RIGHT - 110), MAFAT_SVG_START, ink);
    put(m, WIDTH - 12, y, bytes, 20, MAFAT_SVG_END, ink);
  }
}

static void draw(const struct mafat_question *q, const struct mafat_answer *a, struct mafat_writer *w)
{
  struct map m = {.answer = a, .w = w};
  mafat_answer_describe(a, &m.plan);
  mafat_answer_arena(a, &m.arena);
  m.x_scale = (double)(WIDTH - RIGHT - LEFT) / (m.arena.n_times > 0 ? m.arena.n_times : 1);
  m.y_scale = (double)(HEIGHT - BOTTOM - TOP) / (m.arena.bytes > 0 ? (double)m.arena.bytes : 1);
  mafat_svg_begin(w, WIDTH, HEIGHT, "arena of a plan");
  draw_head(&m, q->cfg);
  draw_axes(&m);
  draw_buffers(&m);
  draw_peak(&m);
  mafat_svg_end(w);
}

/* ---- the file ---- */

static int refuse(struct mafat_diagnostic *d, const char *path, const char *what)
{
  return mafat_fail(d, MAFAT_EIO, "%s: cannot %s: %s", path, what, strerror(errno));
}

/* What is no file, a pipe or /dev/stdout, is not replaced by one. */
static bool is_replaced(const char *path)
{
  struct stat st;
  return stat(path, &st) != 0 || S_ISREG(st.st_mode);
}

int mafat_map_write(const char *path, const struct mafat_question *q, const struct mafat_answer *a, struct mafat_diagnostic *d)
{
  size_t n = strlen(path) + sizeof ".new";
  char *fresh = malloc(n);
  bool replaced = is_replaced(path);
  if (!fresh) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
  snprintf(fresh, n, "%s%s", path, replaced ? ".new" : "");
  struct mafat_writer *w = malloc(sizeof *w);
  int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
  int code = !w ? mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path) : fd < 0 ? refuse(d, path, "create") : MAFAT_OK;
  if (code == MAFAT_OK) {
    struct mafat_diagnostic why;
    mafat_writer_open(w, fd);
    draw(q, a, w);
    if (mafat_writer_flush(w, &why)) errno = w->error, code = refuse(d, path, "write");
  }
  if (fd >= 0 && close(fd) && code == MAFAT_OK) code = refuse(d, path, "write");
  if (code == MAFAT_OK && replaced && rename(fresh, path)) code = refuse(d, path, "create");
  if (code && fd >= 0 && replaced) unlink(fresh);
  free(w);
  free(fresh);
  return code;
}
