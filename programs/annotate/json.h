/* Reads and checks the lines of `run_inference --json`: one report per line and picture. Every
 * field that is used later is checked here, so that nothing is drawn from a damaged file.
 *
 * The reports, and all strings that they point to, belong to the struct mafat_annotate_json, which
 * the reader closes. Opens the file and allocates. Included by annotate.c and draw.h. */
#ifndef MAFAT_PROGRAMS_ANNOTATE_JSON_H
#define MAFAT_PROGRAMS_ANNOTATE_JSON_H

#include <stdbool.h>
#include <stddef.h>

struct json_object;

enum { MAFAT_ANNOTATE_POINTS = 32 }; /* of a detection, at most */

struct mafat_annotate_detection {
  const char *label; /* NULL: "class N" */
  int class_id;
  double confidence;          /* finite, from 0; above 1 from linear heads, as YOLOv1's */
  double x, y, width, height; /* pixels of the upright picture; may lie outside it */
  double (*points)[2];        /* (n_points) x and y of its keypoints, the same; NULL: it has none */
  int n_points;
};

/* One line of JSON. */
struct mafat_annotate_report {
  struct json_object *root; /* owns every string below */
  const char *image;        /* never NULL, but "" where it is missing and may be */
  const char *error;        /* not NULL: run_inference failed on this picture */
  struct mafat_annotate_detection *detections;
  size_t n_detections;
};

struct mafat_annotate_json {
  struct mafat_annotate_report *reports;
  size_t n, capacity;
};

/* An error and its position. */
struct mafat_annotate_mistake {
  const char *file; /* the path that was given, or "standard input" */
  size_t line;      /* from 1; 0: the file as a whole */
  char text[256];   /* may hold control characters of the file */
};

/* Reads all lines of the file, "-" being standard input; blank lines are skipped.
 * needs_image: a report without the path of its picture is a mistake.
 * MAFAT_EIO; MAFAT_EFORMAT, also for a file without an object; MAFAT_ELIMIT: a
 * line of more than 256 MiB; MAFAT_ENOMEM. *out is NULL after a failure. */
int mafat_annotate_json_read(struct mafat_annotate_json **out, const char *path, bool needs_image,
                             struct mafat_annotate_mistake *mistake);
void mafat_annotate_json_close(struct mafat_annotate_json **json);

#endif
