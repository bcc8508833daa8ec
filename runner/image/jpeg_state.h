/* State of the conversion of JPEG scans, shared by the files that find, decode and encode them.
 * Coefficients are in zigzag order. mafat_jpeg_scans_close frees all that these files allocate.
 * Included by jpeg_markers.c, jpeg_rows.c and jpeg_baseline.c of runner/image. */
#ifndef MAFAT_RUNNER_IMAGE_JPEG_STATE_H
#define MAFAT_RUNNER_IMAGE_JPEG_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "runner/image/jpeg_scans.h"

enum {
  COMPONENTS = MAFAT_JPEG_COMPONENTS,
  COEFS = 64,      /* in a block */
  MOST_BLOCKS = 10 /* in an MCU of a scan */
};

/* markers */
enum {
  TEM = 0x01,
  SOF1 = 0xc1,
  DHT = 0xc4,
  DAC = 0xcc,
  RST0 = 0xd0,
  RST7 = 0xd7,
  SOI = 0xd8,
  EOI = 0xd9,
  SOS = 0xda,
  DQT = 0xdb,
  DRI = 0xdd,
  APP0 = 0xe0,
  APP15 = 0xef,
  COM = 0xfe
};

/* A Huffman table. Code of n bits: its symbol is symbols[code + offset[n]] if code <= most[n]. */
struct mafat_jpeg_huffman {
  struct mafat_jpeg_huffman *next;
  int most[17], offset[17];
  uint16_t ahead[256]; /* [next 8 bits]: length << 8 | symbol; 0: the code is longer */
  uint8_t symbols[256];
};

/* A scan, and the position in the file up to which its data is decoded. */
struct mafat_jpeg_scan {
  struct mafat_jpeg_scan *next;
  off_t at; /* file offset of the first byte after the buffer */
  uint8_t *buffer;
  const uint8_t *from, *end; /* bytes not yet consumed */
  uint64_t bits;             /* the last n_bits are not yet consumed */
  int n_bits;
  bool after_ff, missing, bad_code; /* missing: data ended too early */
  uint8_t marker;                   /* marker at which the data ends; 0: not reached */
  uint8_t restart;                  /* number of the next restart marker */
  uint8_t first, last, high, low;   /* Ss, Se, Ah, Al */
  uint8_t n, components[COMPONENTS];
  unsigned interval, left; /* MCUs between restart markers, 0: none; MCUs before the next one */
  unsigned run;            /* next blocks without new coefficients (EOBRUN) */
  int dc[COMPONENTS];      /* predictors */
  const struct mafat_jpeg_huffman *tables[2][COMPONENTS]; /* [1: AC]; NULL: not used */
};

struct mafat_jpeg_component {
  int across, down; /* width and height, in blocks, of scans that have only this component */
  int stride;       /* blocks in a row of MCUs */
  int16_t *blocks;  /* (v, stride, COEFS), in `row` */
  bool seen;
  uint16_t quantization[COEFS];
  int8_t low[COEFS]; /* low bits that are missing; -1: all bits */
  int dc;            /* predictor of the encoder */
};

struct mafat_jpeg_scans {
  struct mafat_image_source *source;
  const char *name;
  struct mafat_jpeg_frame frame;
  struct mafat_jpeg_component of[COMPONENTS];
  struct mafat_jpeg_scan *scans, **end;
  struct mafat_jpeg_huffman *tables;
  size_t n_scans, n_tables;
  bool endless, too_large; /* too_large: a coefficient has more than 15 bits */
  int error;               /* errno of a failed read */
  long long file_bytes;    /* only if endless */
  int mcus_across, mcus_down;
  size_t row_blocks;
  int16_t *row;      /* coefficients of a row of MCUs */
  uint8_t *buffers;  /* of all scans */
  int mcu, mcu_row;  /* next MCU to encode; the row in `row`, -1: none */
  uint64_t bits;     /* the last n_bits are encoded, but not yet written */
  int n_bits;
};

/* True if four coefficients are 0. */
static inline bool mafat_jpeg_no_four(const int16_t *x)
{
  uint64_t bits;
  memcpy(&bits, x, sizeof bits);
  return bits == 0;
}

/* Allocates the buffers and the row. Called once, before the first row. */
int mafat_jpeg_rows_begin(struct mafat_jpeg_scans *s, struct mafat_diagnostic *d);
/* Decodes row mcu_row of MCUs, which must be the one after the last call's, to `row`. */
int mafat_jpeg_rows_next(struct mafat_jpeg_scans *s, struct mafat_diagnostic *d);

/* Returns the bytes of each scan's buffer. */
size_t mafat_jpeg_scans_chunk(const struct mafat_jpeg_scans *s);
/* Returns MAFAT_EFORMAT, with a message that the file is truncated. */
int mafat_jpeg_scans_refuse_end(const struct mafat_jpeg_scans *s, struct mafat_diagnostic *d);

#endif
