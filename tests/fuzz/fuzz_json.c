/* libFuzzer target: reads lines of JSON as annotate does, and draws some of them on a small
 * picture. Build with clang -fsanitize=fuzzer,address,undefined. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "include/mafat.h"
#include "programs/annotate/draw.h"
#include "programs/annotate/json.h"
#include "tests/fuzz/bounded.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/networks.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Drawing takes far longer than reading, so only one in DRAWN_OF inputs is drawn, with at most
 * MOST_DRAWN boxes. */
enum { MOST_DRAWN = 40, DRAWN_OF = 16 };

/* fontconfig allocates 288 bytes once and never frees them. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
  return "leak:libfontconfig\n";
}

static void check_report(const struct mafat_annotate_report *r, bool needs_image)
{
  require(r->root && r->image && (r->error || !needs_image || *r->image));
  for (size_t i = 0; !r->error && i < r->n_detections; i++) {
    const struct mafat_annotate_detection *d = &r->detections[i];
    require(d->class_id >= 0 && isfinite(d->confidence) && d->confidence >= 0 && isfinite(d->x) &&
            isfinite(d->y));
    require(isfinite(d->width) && isfinite(d->height) && d->width >= 0 && d->height >= 0);
    require(d->n_points >= 0 && d->n_points <= MAFAT_ANNOTATE_POINTS);
    for (int k = 0; k < d->n_points; k++)
      require(isfinite(d->points[k][0]) && isfinite(d->points[k][1]));
  }
}

static void draw(const struct mafat_annotate_report *r)
{
  size_t n;
  gdImagePtr picture = gdImageCreateTrueColor(40, 30);
  require(picture != NULL);
  int code = mafat_annotate_draw(picture, r, .01, &n);
  require(code == MAFAT_OK ? n <= r->n_detections : code == MAFAT_ENOMEM);
  gdImageDestroy(picture);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  static struct memory_file file;
  const char *path = memory_file_write(&file, bytes, n);
  for (int needs_image = 0; needs_image < 2; needs_image++) {
    struct mafat_annotate_json *json;
    struct mafat_annotate_mistake mistake;
    bounded_begin();
    int code = mafat_annotate_json_read(&json, path, needs_image, &mistake);
    bounded_end(TEST_READER_JSON, n);
    require((code == MAFAT_OK) == (json != NULL) && (json || mistake.text[0]));
    for (size_t i = 0; json && i < json->n; i++) {
      check_report(&json->reports[i], needs_image);
      if (n % DRAWN_OF == 0 && !json->reports[i].error &&
          json->reports[i].n_detections <= MOST_DRAWN)
        draw(&json->reports[i]);
    }
    mafat_annotate_json_close(&json);
  }
  return 0;
}
