/* Makes small networks, weights and pictures in a temporary folder for the suites in
 * tests/unit/api, which call it. Sets the global variables that api.h declares. */
#include "tests/support/api.h"

#include "tests/support/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char api_folder[64], api_weights[96], api_picture[96], api_raw[96];

const char api_detector[] =
    "[net]\nwidth=32\nheight=24\nchannels=3\n"
    "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=leaky\n"
    "[maxpool]\nsize=2\nstride=2\n"
    "[convolutional]\nfilters=14\nsize=1\nactivation=linear\n"
    "[yolo]\nmask=0,1\nanchors=8,8,16,12\nnum=2\nclasses=2\n";
const char api_classifier[] =
    "[net]\nwidth=32\nheight=24\nchannels=3\n"
    "[convolutional]\nfilters=6\nsize=3\npad=1\nactivation=leaky\n[avgpool]\n[softmax]\n";
const char api_five_channels[] =
    "[net]\nwidth=32\nheight=24\nchannels=5\n"
    "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=leaky\n";

const char *api_cfg(const char *text)
{
  static char path[96];
  snprintf(path, sizeof path, "%s/net.cfg", api_folder);
  test_write_file(path, text, strlen(text));
  return path;
}

float api_input[API_INPUTS];

static void make_files(void)
{
  enum { FLOATS = 4096 };
  static struct {
    int header[5];
    float values[FLOATS];
  } weights = {{0, 2, 0, 0, 0}, {0}};
  static char picture[13 + 60 * 40 * 3] = "P6\n60 40\n255\n";
  strcpy(api_folder, "/tmp/mafat-api-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(api_folder));
  snprintf(api_weights, sizeof api_weights, "%s/net.weights", api_folder);
  snprintf(api_picture, sizeof api_picture, "%s/picture.ppm", api_folder);
  snprintf(api_raw, sizeof api_raw, "%s/raw", api_folder);
  for (int i = 0; i < FLOATS; i++) weights.values[i] = (float)((i * 37) % 101) / 101.0f - .45f;
  for (size_t i = 13; i < sizeof picture; i++) picture[i] = (char)(i * 31 % 251);
  for (int i = 0; i < API_INPUTS; i++) api_input[i] = (float)(i % 97) / 97;
  test_write_file(api_weights, &weights, sizeof weights);
  test_write_file(api_picture, picture, sizeof picture);
  test_write_file(api_raw, api_input, sizeof api_input);
}

void api_cut_weights(int floats)
{
  ck_assert_int_eq(truncate(api_weights, 5 * (off_t)sizeof(int) + floats * (off_t)sizeof(float)),
                   0);
}

static void remove_files(void)
{
  char command[96];
  snprintf(command, sizeof command, "rm -r %s", api_folder);
  ck_assert_int_eq(system(command), 0);
}

TCase *api_case(Suite *suite, const char *name, double seconds)
{
  TCase *c = tcase_create(name);
  tcase_add_checked_fixture(c, make_files, remove_files);
  tcase_set_timeout(c, seconds);
  suite_add_tcase(suite, c);
  return c;
}

struct mafat_model *api_open_model(const char *cfg, const char *plan)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_diagnostic d;
  struct mafat_model *m;
  options.plan = plan;
  options.memory_bytes = API_MEMORY_BYTES;
  api_cut_weights(cfg == api_detector ? 8 + 8 * 27 + 14 + 14 * 8 : 6 + 6 * 27);
  int code = mafat_model_open(&m, api_cfg(cfg), api_weights, &options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  return m;
}

struct mafat_dry_run *api_open_dry_run(const char *cfg, const struct mafat_model_options *options)
{
  struct mafat_diagnostic d;
  struct mafat_dry_run *q;
  int code = mafat_dry_run_open(&q, api_cfg(cfg), NULL, options, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  return q;
}

void api_check_sum(const struct mafat_memory_facts *m)
{
  size_t sum = m->rest;
#define MEMORY(name, before, label) sum += before ? 0 : m->name;
#include "base/tags.def"
  ck_assert_uint_eq(sum, m->charge_bytes);
  ck_assert_uint_lt(m->resident_bytes, m->charge_bytes);
}
