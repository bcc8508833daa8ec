/* Reads and checks the output of `run_inference --json`: a line of JSON, the report, per picture.
 * Every field that is used later is checked here, so that nothing is drawn from a damaged file.
 * Opens the file and allocates; struct mafat_annotate_json owns the reports and all their strings.
 * Included by annotate.c and draw.h. */
#ifndef MAFAT_PROGRAMS_ANNOTATE_JSON_H
#define MAFAT_PROGRAMS_ANNOTATE_JSON_H

#include <stdbool.h>
#include <stddef.h>

struct json_object;

enum { MAFAT_ANNOTATE_POINTS = 32 }; /* limit of keypoints of a detection */

struct mafat_annotate_detection {
  const char *label; /* NULL: "class N" */
  int class_id;
  double confidence;          /* finite, from 0; linear heads, such as YOLOv1's, give more than 1 */
  double x, y, width, height; /* pixels of the upright picture; may be outside it */
  double (*points)[2];        /* (n_points) x and y of keypoints, in the same pixels; NULL: none */
  int n_points;
};

/* One line of JSON. */
struct mafat_annotate_report {
  struct json_object *root; /* owns every string below */
  const char *image;        /* path of the picture; "" if it is missing and not needed */
  char *path;               /* owns a path that is not UTF-8; NULL: none */
  const char *error;        /* not NULL: run_inference failed on this picture */
  struct mafat_annotate_detection *detections;
  size_t n_detections;
};

struct mafat_annotate_json {
  struct mafat_annotate_report *reports;
  size_t n, capacity;
};

/* An error in a file and its position. */
struct mafat_annotate_mistake {
  const char *file; /* the path that was given, or "standard input" */
  size_t line;      /* from 1; 0: the file as a whole */
  char text[256];   /* message; may contain control characters of the file */
};

/* Reads all lines of the file; "-" is standard input. Skips blank lines. needs_image: a report
 * without the path of its picture is an error. The caller closes *out; it is NULL after a failure.
 * Returns MAFAT_OK, MAFAT_EIO, MAFAT_ENOMEM, MAFAT_EFORMAT (also if the file has no object) or
 * MAFAT_ELIMIT (a line is longer than 256 MiB). */
int mafat_annotate_json_read(struct mafat_annotate_json **out, const char *path, bool needs_image,
                             struct mafat_annotate_mistake *mistake);
void mafat_annotate_json_close(struct mafat_annotate_json **json);

#endif
