/* Draws a map: head, boxes, live bytes, steps, and a table of the peak. Called by map.c and
 * programs/mafat_serve/work.c. Texts never overlap: a text that does not fit becomes a title,
 * shown under the pointer. Writes to the given writer; allocates and frees a list of buffers. */
#include "programs/run_inference/map.h"
#include "programs/run_inference/output.h"
#include "programs/run_inference/svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Positions and sizes in pixels. Names without a comment: y of the upper edge (GROUPS, TOP, ALIVE,
 * NAMES), and height or size of a part of the picture. */
enum {
  LEFT = 84,       /* left edge of the boxes; the scale of bytes is here */
  TABLE = 368,     /* the width of the table at the right */
  GAP = 28,        /* between the boxes and the table */
  MARGIN = 16,
  NARROWEST = 840, WIDEST = 1440, /* limits of the width of all boxes */
  GROUPS = 128, GROUPS_HEIGHT = 16,
  TOP = 148, BOXES_HEIGHT = 440,
  ALIVE = TOP + BOXES_HEIGHT + 10, ALIVE_HEIGHT = 110,
  NUMBERS = ALIVE + ALIVE_HEIGHT + 14, /* y of the numbers of steps */
  NAMES = NUMBERS + 8, NAMES_HEIGHT = 128,
  HEIGHT = NAMES + NAMES_HEIGHT + 30,
  SMALL = 10, NORMAL = 11, LARGE = 16, /* font sizes */
  LINE = 16,
  LABEL = 62       /* width of the label before a line of the head */
};

static const char ink[] = "#222222", muted[] = "#666666", faint[] = "#e4e4e4", rule[] = "#8c8c8c",
                  red[] = "#c1121f";
/* Okabe and Ito's colours, distinct also for colour-blind readers. */
static const char colours[MAFAT_MAP_TAGS][8] = {"#56b4e9", "#009e73", "#e69f00", "#cc79a7",
                                                "#8d86c9"};

enum { TEXT = 192 };

struct drawing {
  const struct mafat_map *map;
  struct mafat_writer *w;
  double width; /* width of all boxes, pixels */
};

/* ---- positions and names ---- */

static double x_of(const struct drawing *d, double step)
{
  return LEFT + d->width * step / d->map->n_steps;
}

static double x_at(const struct drawing *d, int time)
{
  return x_of(d, mafat_map_begin(d->map, time));
}

/* Returns the y at which a number of bytes is drawn in a panel. The panel's bottom is 0 bytes, and
 * its top is the arena's size. */
static double y_of(const struct drawing *d, size_t bytes, double top, double height)
{
  return top + height -
         height * ((double)bytes / (double)(d->map->arena.bytes ? d->map->arena.bytes : 1));
}

static void format_bytes(char *text, size_t capacity, size_t bytes)
{
  if (bytes >= 1 << 20) snprintf(text, capacity, "%.1f MiB", (double)bytes / 1048576);
  else if (bytes >= 1 << 10) snprintf(text, capacity, "%.1f KiB", (double)bytes / 1024);
  else snprintf(text, capacity, "%zu B", bytes);
}

/* Formats a number of the axis; all numbers of an axis have the same unit. */
static void format_axis(char *text, size_t capacity, size_t bytes, size_t step)
{
  if (step >= 1 << 20) snprintf(text, capacity, "%.1f MiB", (double)bytes / 1048576);
  else if (step >= 1 << 10) snprintf(text, capacity, "%.1f KiB", (double)bytes / 1024);
  else snprintf(text, capacity, "%zu B", bytes);
}

static double percent(size_t part, size_t all)
{
  return all ? 100 * (double)part / (double)all : 0;
}

/* "12 convolutional" */
static void name_layer(const struct drawing *d, int layer, char *text, size_t capacity)
{
  struct mafat_layer_facts f = {.size = sizeof f};
  bool known = mafat_plan_report_layer(d->map->report, layer, &f) == MAFAT_OK;
  snprintf(text, capacity, "%d %.40s", layer, known ? f.type : "");
}

static void name_step(const struct drawing *d, int step, char *text, size_t capacity)
{
  const struct mafat_map_step *s = &d->map->steps[step];
  name_layer(d, s->layer, text, capacity);
  size_t n = strlen(text);
  if (s->more) snprintf(text + n, capacity - n, " +%d", s->more);
}

/* "12 convolutional", "scratch of 12 convolutional", "input data", "ring of reads" */
static void name_buffer(const struct drawing *d, const struct mafat_buffer_facts *b, char *text,
                        size_t capacity)
{
  struct mafat_port_facts port = {.size = sizeof port};
  size_t n = 0;
  if (strcmp(b->what, "ring") == 0) snprintf(text, capacity, "ring of reads");
  else if (strcmp(b->what, "panel") == 0) snprintf(text, capacity, "panel of weights");
  else if (strcmp(b->what, "affine") == 0) snprintf(text, capacity, "scales and biases");
  else if (strcmp(b->what, "scratch") == 0 && b->last - b->first > 1)
    snprintf(text, capacity, "scratch, shared");
  else if (b->input >= 0 &&
           mafat_dry_run_describe_input(d->map->request->dry_run, b->input, &port) == MAFAT_OK)
    snprintf(text, capacity, "input %.60s", port.name);
  else {
    if (strcmp(b->what, "map") != 0) n = (size_t)snprintf(text, capacity, "%s of ", b->what);
    name_layer(d, b->layer, text + n, capacity - n);
  }
}

static void put(const struct drawing *d, double x, double y, int size, const char *colour,
                enum mafat_svg_anchor anchor, const char *text, int most)
{
  mafat_svg_put_text(
      d->w,
      &(struct mafat_svg_text){.x = x, .y = y, .size = size, .colour = colour, .anchor = anchor},
      text, most);
}

/* Writes the title of a rectangle, and ends the rectangle's element, which the caller began. */
static void put_title(const struct drawing *d, const char *text)
{
  mafat_writer_put(d->w, "><title>");
  mafat_svg_put(d->w, text);
  mafat_writer_put(d->w, "</title></rect>\n");
}

/* ---- head ---- */

/* Width of the picture without its margins. */
static double full_width(const struct drawing *d)
{
  return LEFT + d->width + GAP + TABLE - 2 * MARGIN;
}

static void put_head_line(const struct drawing *d, int line, const char *label, const char *colour,
                          const char *text, int most)
{
  double y = 50 + line * LINE;
  put(d, MARGIN, y, NORMAL, muted, MAFAT_SVG_START, label, 8);
  put(d, MARGIN + LABEL, y, NORMAL, colour, MAFAT_SVG_START, text, most);
}

static void put_name(const struct drawing *d)
{
  const struct mafat_report_request *q = d->map->request;
  struct mafat_svg_text t = {.x = MARGIN, .y = 28, .size = LARGE, .colour = ink, .bold = true};
  char facts[96];
  double width = full_width(d);
  int n = snprintf(facts, sizeof facts, "%d x %d, %d layers in %d step%s", q->facts.input_w,
                   q->facts.input_h, d->map->plan.n_layers, d->map->n_steps,
                   d->map->n_steps == 1 ? "" : "s");
  mafat_svg_put_text(d->w, &t, q->cfg, mafat_svg_room(LARGE, width) - n * NORMAL / LARGE - 3);
  put(d, MARGIN + width, 28, NORMAL, muted, MAFAT_SVG_END, facts, n);
}

static void put_plan(const struct drawing *d)
{
  const struct mafat_plan_facts *p = &d->map->plan;
  char text[TEXT];
  double width = full_width(d);
  int n =
      snprintf(text, sizeof text, "%s, %d thread%s, kernels %s, %.1f ms", p->algorithm, p->threads,
               p->threads == 1 ? "" : "s", d->map->request->facts.cpu, p->latency_ms);
  put_head_line(d, 0, "plan", ink, p->text, mafat_svg_room(NORMAL, width - LABEL) - n - 3);
  put(d, MARGIN + width, 50, NORMAL, muted, MAFAT_SVG_END, text, n);
}

static void put_arena(const struct drawing *d)
{
  const struct mafat_arena_facts *a = &d->map->arena;
  char text[TEXT];
  snprintf(text, sizeof text,
           "%zu bytes: %zu bytes (%.2f %%) above the most that is alive at one time, %zu bytes",
           a->bytes, a->bytes - a->bound_bytes, mafat_output_arena_excess(&d->map->plan),
           a->bound_bytes);
  put_head_line(d, 1, "arena", ink, text, mafat_svg_room(NORMAL, full_width(d) - LABEL));
}

/* Draws the charge of the process, which exceeds the arena. */
static void put_charge(const struct drawing *d)
{
  const struct mafat_memory_facts *m = &d->map->plan.memory;
  const struct mafat_dry_run_facts *q = &d->map->request->facts;
  size_t kept = m->weights - d->map->alive[d->map->arena.peak_time][MAFAT_MAP_WEIGHTS];
  char text[TEXT], charge[32], budget[32], outside[32];
  format_bytes(charge, sizeof charge, m->charge_bytes);
  format_bytes(budget, sizeof budget, q->budget_bytes);
  format_bytes(outside, sizeof outside, kept);
  int n = snprintf(text, sizeof text, "%s", charge);
  if (q->budget_bytes != SIZE_MAX)
    n += snprintf(text + n, sizeof text - (size_t)n, ", %s the budget of %s (%.40s)",
                  d->map->plan.fits ? "within" : "more than", budget, q->budget_source);
  if (kept)
    snprintf(text + n, sizeof text - (size_t)n, "; weights that are kept, outside of the arena: %s",
             outside);
  put_head_line(d, 2, "process", d->map->plan.fits ? ink : red, text,
                mafat_svg_room(NORMAL, full_width(d) - LABEL));
}

static void put_head(const struct drawing *d)
{
  put_name(d);
  put_plan(d);
  put_arena(d);
  put_charge(d);
}

/* ---- axes ---- */

/* Successor of `step` in 1, 2, 5, 10, 20, 50 ... */
static size_t rounder(size_t step)
{
  size_t ten = 1;
  while (ten * 10 <= step) ten *= 10;
  return step < 2 * ten ? 2 * ten : step < 5 * ten ? 5 * ten : 10 * ten;
}

/* Distance of the numbers on the axis of bytes: a round number of bytes, KB or MB, for about ten
 * numbers. */
static size_t byte_step(size_t bytes)
{
  size_t unit = bytes >= 4 << 20 ? 1 << 20 : bytes >= 4 << 10 ? 1 << 10 : 1, step = 1;
  while (bytes / (step * unit) > 11) step = rounder(step);
  return step * unit;
}

static void put_byte_axis(const struct drawing *d)
{
  const struct mafat_arena_facts *a = &d->map->arena;
  size_t step = byte_step(a->bytes);
  double bound = y_of(d, a->bound_bytes, TOP, BOXES_HEIGHT);
  bool bound_reported = bound - TOP > 14;
  char text[32];
  for (size_t at = 0; at <= a->bytes; at += step) {
    double y = y_of(d, at, TOP, BOXES_HEIGHT), from_bound = y > bound ? y - bound : bound - y;
    mafat_svg_line(d->w, LEFT, y, LEFT + d->width, y, faint, false);
    if (y - TOP < 14 || (bound_reported && from_bound < 14)) continue;
    snprintf(text, sizeof text,
             at == 0           ? "0"
             : step >= 1 << 20 ? "%zu MiB"
             : step >= 1 << 10 ? "%zu KiB"
                               : "%zu B",
             step >= 1 << 20   ? at >> 20
             : step >= 1 << 10 ? at >> 10
                               : at);
    put(d, LEFT - 6, y + 4, SMALL, muted, MAFAT_SVG_END, text, 12);
  }
  format_axis(text, sizeof text, a->bytes, step);
  put(d, LEFT - 6, TOP + 4, SMALL, ink, MAFAT_SVG_END, text, 12);
  if (!bound_reported) return;
  format_axis(text, sizeof text, a->bound_bytes, step);
  put(d, LEFT - 6, bound + 4, SMALL, red, MAFAT_SVG_END, text, 12);
}

static void put_turned(const struct drawing *d, double x, double y, enum mafat_svg_anchor anchor,
                       const char *colour, const char *text, int most)
{
  mafat_svg_put_text(
      d->w,
      &(struct mafat_svg_text){
          .x = x, .y = y, .size = SMALL, .colour = colour, .anchor = anchor, .turned = true},
      text, most);
}

/* Number of steps from one label to the next, if a label needs `pixels` on the axis. */
static int stride_for(const struct drawing *d, double pixels)
{
  size_t stride = 1;
  while ((double)stride * d->width / d->map->n_steps < pixels) stride = rounder(stride);
  return (int)stride;
}

static void put_step_axis(const struct drawing *d)
{
  char text[TEXT];
  int numbers = stride_for(d, 34), names = stride_for(d, 12);
  for (int step = 0; step < d->map->n_steps; step++) {
    double x = x_of(d, step + .5);
    if ((step + 1) % numbers == 0 || step == 0) {
      snprintf(text, sizeof text, "%d", step + 1);
      if (step || numbers < 5 || x_of(d, numbers - .5) - x > 34)
        put(d, x, NUMBERS, SMALL, muted, MAFAT_SVG_MIDDLE, text, 6);
    }
    if (names > 1 && (step + 1) % names != 0) continue;
    name_step(d, step, text, sizeof text);
    put_turned(d, x + 3.5, NAMES, MAFAT_SVG_END, ink, text, mafat_svg_room(SMALL, NAMES_HEIGHT));
  }
  put(d, LEFT + d->width / 2, NAMES + NAMES_HEIGHT + 18, NORMAL, muted, MAFAT_SVG_MIDDLE,
      "steps in the order they run, and their layers", 60);
  put(d, LEFT - 6, NUMBERS, SMALL, muted, MAFAT_SVG_END, "step", 4);
  put_turned(d, 18, TOP + BOXES_HEIGHT / 2, MAFAT_SVG_MIDDLE, muted, "place in the arena", 30);
  put_turned(d, 18, ALIVE + ALIVE_HEIGHT / 2, MAFAT_SVG_MIDDLE, muted, "bytes alive", 30);
}

/* ---- groups ---- */

/* Finds a group's steps [*begin, *end). False: it has none. */
static bool find_group(const struct mafat_map *m, int number, int *begin, int *end)
{
  *begin = m->n_steps;
  *end = 0;
  for (int step = 0; step < m->n_steps; step++) {
    if (m->steps[step].group != number) continue;
    if (step < *begin) *begin = step;
    *end = step + 1;
  }
  return *end > *begin;
}

static void put_group(const struct drawing *d, const struct mafat_group_facts *group, int number,
                      int begin, int end)
{
  double x = x_of(d, begin), width = x_of(d, end) - x;
  char text[TEXT], peak[32];
  bool kept = strcmp(group->weights, "kept") == 0;
  mafat_svg_open(d->w, "rect");
  mafat_svg_place(d->w, (struct mafat_svg_box){x, GROUPS, width, GROUPS_HEIGHT});
  mafat_svg_word(d->w, "fill", number % 2 ? "#e9e4d8" : "#d9e2ea");
  format_bytes(peak, sizeof peak, group->peak_bytes);
  snprintf(text, sizeof text, "layers %d to %d: %.60s, weights %s; at most %s alive", group->first,
           group->last, group->cut, group->weights, peak);
  put_title(d, text);
  if (begin > 0 && width > 4)
    mafat_svg_line(d->w, x, GROUPS, x, ALIVE + ALIVE_HEIGHT, "#c9c9c9", false);
  snprintf(text, sizeof text, "%.60s%s%s", group->cut, kept ? "" : ":", kept ? "" : group->weights);
  int capacity = mafat_svg_room(SMALL, width - 6), n = mafat_svg_characters(text);
  if (n > capacity) n = (int)strcspn(text, ":");
  if (n <= capacity) {
    text[n] = '\0';
    put(d, x + width / 2, GROUPS + 12, SMALL, ink, MAFAT_SVG_MIDDLE, text, capacity);
  }
}

static void put_groups(const struct drawing *d)
{
  struct mafat_group_facts group = {.size = sizeof group};
  int begin, end;
  for (int g = 0; mafat_plan_report_group(d->map->report, g, &group) == MAFAT_OK; g++)
    if (find_group(d->map, g, &begin, &end)) put_group(d, &group, g, begin, end);
}

/* ---- boxes ---- */

static void describe_buffer(const struct drawing *d, const struct mafat_buffer_facts *b, char *text,
                            size_t capacity)
{
  struct mafat_layer_facts layer = {.size = sizeof layer};
  int first = mafat_map_step_at(d->map, b->first) + 1,
      last = mafat_map_step_at(d->map, b->last) + 1;
  name_buffer(d, b, text, capacity);
  size_t n = strlen(text);
  n += (size_t)snprintf(text + n, capacity - n, ", %s: %zu bytes at %zu", b->tag, b->bytes,
                        b->offset);
  if (first == last) n += (size_t)snprintf(text + n, capacity - n, ", in step %d", first);
  else n += (size_t)snprintf(text + n, capacity - n, ", in steps %d to %d", first, last);
  if (b->rows && b->layer >= 0 &&
      mafat_plan_report_layer(d->map->report, b->layer, &layer) == MAFAT_OK &&
      b->rows < layer.out_h)
    snprintf(text + n, capacity - n, "; %d of %d rows", b->rows, layer.out_h);
}

static struct mafat_svg_box place_buffer(const struct drawing *d,
                                         const struct mafat_buffer_facts *b)
{
  double x = x_at(d, b->first), top = y_of(d, b->offset + b->bytes, TOP, BOXES_HEIGHT);
  return (struct mafat_svg_box){x, top, x_at(d, b->last + 1) - x,
                                y_of(d, b->offset, TOP, BOXES_HEIGHT) - top};
}

/* Writes a text along the box, or upwards in it. False: it does not fit. */
static bool put_label(const struct drawing *d, struct mafat_svg_box box, const char *text)
{
  double width = mafat_svg_width(SMALL, mafat_svg_characters(text)) + 6, x = box.x + box.w / 2,
         y = box.y + box.h / 2;
  if (width <= box.w && box.h >= 12) put(d, x, y + 3.5, SMALL, ink, MAFAT_SVG_MIDDLE, text, 100);
  else if (width <= box.h && box.w >= 12)
    put_turned(d, x + 3.5, y, MAFAT_SVG_MIDDLE, ink, text, 100);
  else return false;
  return true;
}

/* Writes as much of a buffer's name and size as fits. */
static void label_buffer(const struct drawing *d, const struct mafat_buffer_facts *b)
{
  struct mafat_svg_box box = place_buffer(d, b);
  char text[TEXT], bytes[32], number[16];
  name_buffer(d, b, text, sizeof text);
  size_t n = strlen(text);
  format_bytes(bytes, sizeof bytes, b->bytes);
  snprintf(text + n, sizeof text - n, ", %s", bytes);
  if (put_label(d, box, text)) return;
  text[n] = '\0';
  if (put_label(d, box, text)) return;
  snprintf(number, sizeof number, "%d", b->layer);
  if (b->layer >= 0) put_label(d, box, number);
}

static void put_buffer(const struct drawing *d, const struct mafat_buffer_facts *b)
{
  char text[TEXT];
  struct mafat_svg_box box = place_buffer(d, b);
  mafat_svg_open(d->w, "rect");
  mafat_svg_place(d->w, box);
  if (!mafat_map_is_at_peak(d->map, b)) mafat_svg_number(d->w, "fill-opacity", .5);
  if (box.w < 3 || box.h < 3) mafat_svg_word(d->w, "stroke", "none");
  describe_buffer(d, b, text, sizeof text);
  put_title(d, text);
}

static void put_buffers(const struct drawing *d)
{
  const struct mafat_map *m = d->map;
  for (int tag = 0; tag < MAFAT_MAP_TAGS; tag++) {
    mafat_svg_open(d->w, "g");
    mafat_svg_word(d->w, "class", "buffers");
    mafat_svg_word(d->w, "fill", colours[tag]);
    mafat_svg_word(d->w, "stroke", "#ffffff");
    mafat_svg_number(d->w, "stroke-width", .75);
    mafat_writer_put(d->w, ">\n");
    for (int i = 0; i < m->arena.n_buffers; i++)
      if (mafat_map_tag_of(&m->buffers[i]) == tag) put_buffer(d, &m->buffers[i]);
    mafat_writer_put(d->w, "</g>\n");
  }
  for (int i = 0; i < m->arena.n_buffers; i++) label_buffer(d, &m->buffers[i]);
}

/* ---- live bytes ---- */

static size_t alive_up_to(const struct drawing *d, int time, int tag)
{
  size_t sum = 0;
  for (int t = 0; t <= tag; t++) sum += d->map->alive[time][t];
  return sum;
}

/* Draws the outline of the sum of tags 0 to `tag` over time. Higher tags are drawn first, so that
 * lower ones cover them. */
static void put_profile(const struct drawing *d, int tag)
{
  double last = -1;
  mafat_svg_open(d->w, "path");
  mafat_svg_word(d->w, "fill", colours[tag]);
  mafat_writer_put(d->w, " d=\"M");
  mafat_svg_put_number(d->w, LEFT);
  mafat_writer_put(d->w, " ");
  mafat_svg_put_number(d->w, ALIVE + ALIVE_HEIGHT);
  for (int time = 0; time < d->map->arena.n_times; time++) {
    double y = y_of(d, alive_up_to(d, time, tag), ALIVE, ALIVE_HEIGHT);
    if (y == last || x_at(d, time) == x_at(d, time + 1)) continue;
    mafat_writer_put(d->w, "H");
    mafat_svg_put_number(d->w, x_at(d, time));
    mafat_writer_put(d->w, "V");
    mafat_svg_put_number(d->w, last = y);
  }
  mafat_writer_put(d->w, "H");
  mafat_svg_put_number(d->w, LEFT + d->width);
  mafat_writer_put(d->w, "V");
  mafat_svg_put_number(d->w, ALIVE + ALIVE_HEIGHT);
  mafat_writer_put(d->w, "Z\"/>\n");
}

/* Returns the time of a step that has more live bytes. A step has two times (mafat_map_begin). */
static int fuller_time(const struct drawing *d, int step)
{
  int time = 2 * d->map->steps[step].position;
  return mafat_map_alive(d->map, time) > mafat_map_alive(d->map, time + 1) ? time : time + 1;
}

/* Draws an invisible rectangle over each step, which carries its title. */
static void put_step_titles(const struct drawing *d)
{
  char text[TEXT];
  mafat_writer_put(d->w, "<g class=\"steps\" fill=\"#ffffff\" fill-opacity=\"0\">\n");
  for (int step = 0; step < d->map->n_steps; step++) {
    int time = fuller_time(d, step);
    size_t n = (size_t)snprintf(text, sizeof text, "step %d of %d: ", step + 1, d->map->n_steps);
    name_step(d, step, text + n, sizeof text - n);
    n = strlen(text);
    n += (size_t)snprintf(text + n, sizeof text - n, ", %zu bytes alive",
                          mafat_map_alive(d->map, time));
    for (int tag = 0; tag < MAFAT_MAP_TAGS; tag++)
      if (d->map->alive[time][tag])
        n += (size_t)snprintf(text + n, sizeof text - n, "; %s %zu", mafat_map_tag_name(tag),
                              d->map->alive[time][tag]);
    mafat_svg_open(d->w, "rect");
    mafat_svg_place(d->w, (struct mafat_svg_box){x_of(d, step), ALIVE, d->width / d->map->n_steps,
                                                 ALIVE_HEIGHT});
    put_title(d, text);
  }
  mafat_writer_put(d->w, "</g>\n");
}

static void put_alive(const struct drawing *d)
{
  char text[32];
  size_t arena = d->map->arena.bytes;
  for (int tag = MAFAT_MAP_TAGS - 1; tag >= 0; tag--) put_profile(d, tag);
  mafat_svg_frame(d->w, (struct mafat_svg_box){LEFT, ALIVE, d->width, ALIVE_HEIGHT}, rule);
  format_axis(text, sizeof text, arena, byte_step(arena));
  put(d, LEFT - 6, ALIVE + 8, SMALL, muted, MAFAT_SVG_END, text, 12);
  put(d, LEFT - 6, ALIVE + ALIVE_HEIGHT, SMALL, muted, MAFAT_SVG_END, "0", 1);
}

/* ---- the peak ---- */

/* Marks the time of the peak from top to bottom. Drawn before the boxes, so that no line crosses
 * their names. */
static void put_peak_column(const struct drawing *d, double top, double bottom)
{
  double x = x_at(d, d->map->peak_begin), width = x_at(d, d->map->peak_end) - x;
  mafat_svg_fill(d->w, (struct mafat_svg_box){x, top, width, bottom - top}, red, .1);
  mafat_svg_line(d->w, x, top, x, bottom, red, false);
  if (width >= 3) mafat_svg_line(d->w, x + width, top, x + width, bottom, red, false);
}

static void put_bound(const struct drawing *d)
{
  double bound = y_of(d, d->map->arena.bound_bytes, TOP, BOXES_HEIGHT);
  if (bound - TOP > 1) mafat_svg_line(d->w, LEFT, bound, LEFT + d->width, bound, red, true);
}

static void put_peak_name(const struct drawing *d)
{
  const struct mafat_map *m = d->map;
  int first = mafat_map_step_at(m, m->peak_begin), last = mafat_map_step_at(m, m->peak_end - 1), n;
  double x = (x_at(d, m->peak_begin) + x_at(d, m->peak_end)) / 2;
  char text[TEXT], name[64];
  name_step(d, first, name, sizeof name);
  if (last > first)
    n = snprintf(text, sizeof text, "peak: steps %d to %d, %zu bytes", first + 1, last + 1,
                 m->arena.bound_bytes);
  else
    n = snprintf(text, sizeof text, "peak: step %d, layer %s, %zu bytes", first + 1, name,
                 m->arena.bound_bytes);
  double half = mafat_svg_width(NORMAL, n) / 2, middle = x;
  if (middle < LEFT + half) middle = LEFT + half;
  if (middle > LEFT + d->width - half) middle = LEFT + d->width - half;
  mafat_svg_put_text(d->w,
                     &(struct mafat_svg_text){.x = middle,
                                              .y = GROUPS - 10,
                                              .size = NORMAL,
                                              .colour = red,
                                              .anchor = MAFAT_SVG_MIDDLE,
                                              .bold = true},
                     text, n);
  mafat_svg_line(d->w, x, GROUPS - 6, x, TOP, red, false);
}

static int larger_first(const void *a, const void *b)
{
  const struct mafat_buffer_facts *x = *(const struct mafat_buffer_facts *const *)a,
                                  *y = *(const struct mafat_buffer_facts *const *)b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return (x > y) - (x < y);
}

/* The *n buffers that are live at the peak, the largest first; the caller frees the list. NULL: out
 * of memory. */
static const struct mafat_buffer_facts **find_peak(const struct mafat_map *m, int *n)
{
  const struct mafat_buffer_facts **list = calloc((size_t)m->arena.n_buffers + 1, sizeof *list);
  *n = 0;
  for (int i = 0; list && i < m->arena.n_buffers; i++)
    if (mafat_map_is_at_peak(m, &m->buffers[i])) list[(*n)++] = &m->buffers[i];
  if (list) qsort(list, (size_t)*n, sizeof *list, larger_first);
  return list;
}

static void put_row(const struct drawing *d, double y, int tag, const char *name, size_t bytes)
{
  double x = LEFT + d->width + GAP, end = x + TABLE - MARGIN;
  char text[32];
  if (tag >= 0) mafat_svg_fill(d->w, (struct mafat_svg_box){x, y - 9, 10, 10}, colours[tag], 1);
  put(d, x + 16, y, NORMAL, ink, MAFAT_SVG_START, name, 29);
  format_bytes(text, sizeof text, bytes);
  put(d, end - 54, y, NORMAL, ink, MAFAT_SVG_END, text, 12);
  snprintf(text, sizeof text, "%.1f %%", percent(bytes, d->map->arena.bound_bytes));
  put(d, end, y, NORMAL, muted, MAFAT_SVG_END, text, 8);
}

static bool has_tag(const struct mafat_map *m, int tag)
{
  for (int i = 0; i < m->arena.n_buffers; i++)
    if (mafat_map_tag_of(&m->buffers[i]) == tag) return true;
  return false;
}

static double put_heading(const struct drawing *d, double y, const char *text)
{
  mafat_svg_put_text(
      d->w,
      &(struct mafat_svg_text){
          .x = LEFT + d->width + GAP, .y = y, .size = NORMAL, .colour = ink, .bold = true},
      text, 48);
  return y + LINE + 4;
}

/* Draws the legend, with the bytes of each tag, from y on. Returns the y below it. */
static double put_legend(const struct drawing *d, double y)
{
  const struct mafat_map *m = d->map;
  y = put_heading(d, y, "alive at the peak");
  for (int tag = 0; tag < MAFAT_MAP_TAGS; tag++) {
    if (!has_tag(m, tag)) continue;
    put_row(d, y, tag, mafat_map_tag_name(tag), m->alive[m->arena.peak_time][tag]);
    y += LINE;
  }
  put_row(d, y, -1, "together", m->arena.bound_bytes);
  return y + LINE;
}

static void put_table(const struct drawing *d)
{
  int n, shown = 0;
  const struct mafat_buffer_facts **list = find_peak(d->map, &n);
  double y = put_legend(d, GROUPS + 12), end = NAMES + NAMES_HEIGHT;
  size_t rest = 0;
  char text[TEXT];
  y = put_heading(d, y + LINE, "the largest of them");
  int capacity = (int)((end - y) / LINE);
  for (; list && shown < (n <= capacity ? n : capacity - 1); shown++, y += LINE) {
    name_buffer(d, list[shown], text, sizeof text);
    put_row(d, y, mafat_map_tag_of(list[shown]), text, list[shown]->bytes);
  }
  for (int i = shown; list && i < n; i++) rest += list[i]->bytes;
  snprintf(text, sizeof text, "%d more", n - shown);
  if (shown < n) put_row(d, y, -1, text, rest);
  free(list);
}

/* ---- the picture ---- */

void mafat_map_draw(const struct mafat_map *m, struct mafat_writer *w)
{
  double wanted = 1.6 * m->n_steps;
  struct drawing d = {m, w, wanted < NARROWEST ? NARROWEST : wanted > WIDEST ? WIDEST : wanted};
  char name[TEXT];
  snprintf(name, sizeof name, "The arena of a plan: %zu bytes, of which %zu are alive at the peak",
           m->arena.bytes, m->arena.bound_bytes);
  mafat_svg_begin(w, (int)(LEFT + d.width + GAP + TABLE), HEIGHT, name);
  mafat_writer_put(w, "<style>.buffers rect:hover{stroke:#000000;stroke-width:2}.steps "
                      "rect:hover{fill-opacity:.35}</style>\n");
  put_head(&d);
  mafat_svg_fill(w, (struct mafat_svg_box){LEFT, TOP, d.width, BOXES_HEIGHT}, "#f8f8f8", 1);
  put_byte_axis(&d);
  put_groups(&d);
  put_peak_column(&d, TOP, ALIVE);
  put_bound(&d);
  put_buffers(&d);
  mafat_svg_frame(w, (struct mafat_svg_box){LEFT, TOP, d.width, BOXES_HEIGHT}, rule);
  put_alive(&d);
  put_peak_column(&d, ALIVE, ALIVE + ALIVE_HEIGHT);
  put_step_titles(&d);
  put_peak_name(&d);
  put_step_axis(&d);
  put_table(&d);
  mafat_svg_end(w);
}
