/* Prints how pictures are converted to the network's input. Called by output.c,
 * plan_report_json.c and plan_report_text.c. */
#include "programs/run_inference/picture_facts.h"

static int count_channels(const struct mafat_picture_facts *f)
{
  return f->channels[0] == 'g' ? 1 : 3; /* gray */
}

static void put_numbers(struct mafat_writer *w, const char *key, const float *numbers, int n)
{
  mafat_json_key(w, key);
  mafat_json_begin(w, "[");
  for (int i = 0; i < n; i++) {
    mafat_json_separate(w);
    mafat_json_put_number(w, (double)numbers[i]);
  }
  mafat_json_end(w, "]");
}

void mafat_picture_json(const struct mafat_picture_facts *f, struct mafat_writer *w)
{
  if (!f || !f->channels) {
    mafat_json_string(w, "picture", NULL);
    return;
  }
  mafat_json_key(w, "picture");
  mafat_json_begin(w, "{");
  mafat_json_string(w, "channels", f->channels);
  put_numbers(w, "mean", f->mean, count_channels(f));
  put_numbers(w, "scale", f->scale, count_channels(f));
  mafat_json_string(w, "source", f->source);
  mafat_json_string(w, "resize", f->resize);
  mafat_json_number(w, "pad", (double)f->pad);
  mafat_json_end(w, "}");
}

static void text_numbers(struct mafat_writer *w, const float *numbers, int n)
{
  for (int i = 0; i < n; i++) {
    mafat_writer_put(w, i ? " " : "");
    mafat_json_put_number(w, (double)numbers[i]);
  }
}

void mafat_picture_text(const struct mafat_picture_facts *f, struct mafat_writer *w)
{
  mafat_writer_put(w, f->channels);
  mafat_writer_put(w, ", (byte - ");
  text_numbers(w, f->mean, count_channels(f));
  mafat_writer_put(w, ") * ");
  text_numbers(w, f->scale, count_channels(f));
  mafat_writer_put(w, " (");
  mafat_writer_put(w, f->source);
  mafat_writer_put(w, "), ");
  mafat_writer_put(w, f->resize);
  mafat_writer_put(w, ", pad ");
  mafat_json_put_number(w, (double)f->pad);
  mafat_writer_put(w, "\n");
}
