/* Converts a JPEG of several scans (progressive, or with a scan for each component) to a baseline
 * JPEG of one scan, without keeping the picture's coefficients: one row of MCUs is decoded from all
 * scans, then the next row. Reads the file; allocates, and closing frees. Included by
 * runner/image/jpeg.c. */
#ifndef MAFAT_RUNNER_IMAGE_JPEG_SCANS_H
#define MAFAT_RUNNER_IMAGE_JPEG_SCANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct mafat_image_source;

enum { MAFAT_JPEG_COMPONENTS = 4, MAFAT_JPEG_SCANS = 500 };

/* The frame header (SOF). */
struct mafat_jpeg_frame {
  int width, height, n_components;
  bool progressive, arithmetic;
  struct {
    int id, h, v, quantization; /* h, v: sampling factors; quantization: number of the table */
  } of[MAFAT_JPEG_COMPONENTS];
};

struct mafat_jpeg_scans;

/* Returns the most blocks that all scans together may have if the picture has `blocks` blocks: 32
 * times `blocks`, plus 2^20 (about a tenth of a second). Encoders write about ten scans,
 * most of them of one component. */
static inline uint64_t mafat_jpeg_most_work(uint64_t blocks)
{
  return 32 * blocks + (1 << 20);
}
/* Returns MAFAT_EUNSUPPORTED, with a message that names the limits. */
int mafat_jpeg_refuse_work(const char *name, int width, int height, struct mafat_diagnostic *d);

/* Reads the whole file from the start and finds its scans. Sets *whole to true if the file cannot
 * be converted, so that libjpeg must decode it and keep all coefficients. Reasons: arithmetic
 * coding; MCUs of more than 10 blocks; more than 64 Huffman tables; scans that repeat data or lack
 * data that later scans need; low frequencies of which bits are missing in all scans (libjpeg
 * smooths them). MAFAT_EFORMAT: there is no end marker, and coefficients are missing: the file is
 * truncated. MAFAT_EUNSUPPORTED: more than MAFAT_JPEG_SCANS scans, or too much work. MAFAT_EIO,
 * MAFAT_ENOMEM. *out is NULL after a failure. `name` and `source` must stay valid until
 * mafat_jpeg_scans_close. */
int mafat_jpeg_scans_open(struct mafat_jpeg_scans **out, bool *whole,
                          struct mafat_image_source *source, const struct mafat_jpeg_frame *frame,
                          const char *name, struct mafat_diagnostic *d);

/* Returns the number of scans. */
int mafat_jpeg_scans_count(const struct mafat_jpeg_scans *s);
/* True if the file has no end marker. */
bool mafat_jpeg_scans_endless(const struct mafat_jpeg_scans *s);
/* Returns the bytes of heap in use from the first mafat_jpeg_scans_read on; less than 2^32. */
size_t mafat_jpeg_scans_bytes(const struct mafat_jpeg_scans *s);

/* Returns the most bytes of the file that are in the page cache at once. */
size_t mafat_jpeg_scans_file_bytes(const struct mafat_jpeg_scans *s);

/* Writes the next bytes of the baseline JPEG, at most MAFAT_JPEG_SCANS_CAPACITY, to `out` and their
 * number to *n. MAFAT_EFORMAT: damaged. MAFAT_EUNSUPPORTED: a coefficient has more than 15 bits.
 * MAFAT_EIO, MAFAT_ENOMEM. */
enum { MAFAT_JPEG_SCANS_CAPACITY = 16384 };
int mafat_jpeg_scans_read(struct mafat_jpeg_scans *s, uint8_t *out, size_t *n,
                          struct mafat_diagnostic *d);

void mafat_jpeg_scans_close(struct mafat_jpeg_scans **s);

#endif
