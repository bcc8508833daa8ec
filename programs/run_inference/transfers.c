/* Prints the units and bytes of --fast-memory. Called by output.c, report.c, plan_report_json.c and
 * plan_report_text.c. */
#include "programs/run_inference/transfers.h"

#include <stdio.h>

static void add_unit(struct mafat_unit_facts *sum, const struct mafat_unit_facts *u)
{
  sum->input_bytes += u->input_bytes;
  sum->again_bytes += u->again_bytes;
  sum->output_bytes += u->output_bytes;
  sum->weights_bytes += u->weights_bytes;
  if (u->capacity_bytes > sum->capacity_bytes) sum->capacity_bytes = u->capacity_bytes;
}

static void put_line(struct mafat_writer *w, const char *layers, const char *how, const char *tiles,
                     const struct mafat_unit_facts *u, const char *note)
{
  char line[512];
  snprintf(line, sizeof line, "%-10s%-16s%9s %11llu %11llu %11llu %11llu %11llu%s\n", layers, how,
           tiles, (unsigned long long)u->input_bytes, (unsigned long long)u->again_bytes,
           (unsigned long long)u->output_bytes, (unsigned long long)u->weights_bytes,
           (unsigned long long)u->capacity_bytes, note);
  mafat_writer_put(w, line);
}

void mafat_transfer_report_write_text(const struct mafat_transfer_report *m, size_t fast_bytes,
                                      const char *objective, struct mafat_writer *w)
{
  struct mafat_unit_facts u = {.size = sizeof u}, sum = {0};
  char text[160], tiles[32];
  snprintf(text, sizeof text, "\nbytes between %zu bytes of fast memory and the rest, %s%s\n",
           fast_bytes, objective ? "chosen by " : "by the plan", objective ? objective : "");
  mafat_writer_put(w, text);
  mafat_writer_put(w, "layers    together            tiles          in       again         out     "
                      "weights        room\n");
  for (int i = 0; mafat_transfer_report_unit(m, i, &u) == MAFAT_OK; i++) {
    snprintf(text, sizeof text, u.n_layers > 1 ? "%d-%d" : "%d", u.first, u.last);
    snprintf(tiles, sizeof tiles, "%dx%d", u.row_tiles, u.channel_tiles);
    put_line(w, text, u.how, tiles, &u,
             !u.fits  ? "  no tile has room"
             : u.runs ? ""
                      : "  not by this plan");
    add_unit(&sum, &u);
  }
  put_line(w, "all", "", "", &sum, "");
}

static void put_count(struct mafat_writer *w, const char *key, uint64_t value)
{
  mafat_json_count(w, key, value > INT64_MAX ? -1 : (int64_t)value);
}

static void put_bool(struct mafat_writer *w, const char *key, bool value)
{
  mafat_json_key(w, key);
  mafat_writer_put(w, value ? "true" : "false");
}

static void put_bytes(struct mafat_writer *w, const struct mafat_unit_facts *u)
{
  put_count(w, "input_bytes", u->input_bytes);
  put_count(w, "again_bytes", u->again_bytes);
  put_count(w, "output_bytes", u->output_bytes);
  put_count(w, "weights_bytes", u->weights_bytes);
  put_count(w, "room_bytes", u->capacity_bytes);
}

void mafat_transfer_report_write_json(const struct mafat_transfer_report *m, size_t fast_bytes,
                                      const char *objective, struct mafat_writer *w)
{
  struct mafat_unit_facts u = {.size = sizeof u}, sum = {0};
  mafat_json_key(w, "fast_memory");
  mafat_json_begin(w, "{");
  put_count(w, "bytes", fast_bytes);
  mafat_json_string(w, "objective", objective);
  mafat_json_key(w, "units");
  mafat_json_begin(w, "[");
  for (int i = 0; mafat_transfer_report_unit(m, i, &u) == MAFAT_OK; i++) {
    mafat_json_separate(w);
    mafat_json_begin(w, "{");
    mafat_json_count(w, "first", u.first);
    mafat_json_count(w, "last", u.last);
    mafat_json_string(w, "together", u.how);
    put_bool(w, "fits", u.fits);
    put_bool(w, "by_plan", u.runs);
    mafat_json_count(w, "extent", u.extent);
    mafat_json_count(w, "row_tiles", u.row_tiles);
    mafat_json_count(w, "channel_tiles", u.channel_tiles);
    put_bytes(w, &u);
    mafat_json_end(w, "}");
    add_unit(&sum, &u);
  }
  mafat_json_end(w, "]");
  put_bytes(w, &sum);
  mafat_json_end(w, "}");
}
