/* Predicts the memory of a run, by category, from the plan's layout and the process footprint.
 * Called by api/, search/common and runner/calibrate. Touches only its arguments. */
#ifndef MAFAT_PREDICTOR_COST_PREDICT_H
#define MAFAT_PREDICTOR_COST_PREDICT_H

#include "base/winograd.h"
#include "predictor/layout/layout.h"

/* Bits of mafat_footprint.decoders. MAFAT_DECODER_RULE: conversion of pixels by a rule other than
 * Darknet's. MAFAT_DECODER_VIDEO: conversion of frames. */
enum {
  MAFAT_DECODER_JPEG = 1,
  MAFAT_DECODER_PNG = 2,
  MAFAT_DECODER_RULE = 4,
  MAFAT_DECODER_VIDEO = 8
};

/* Process footprint: bytes that do not depend on the plan. api/footprint.c measures it. */
struct mafat_footprint {
  size_t process_bytes; /* resident before weights and arena exist */
  size_t late_bytes;    /* added after that, besides weights and arena: records of plan and layout;
                           code that becomes resident later */
  size_t stack_bytes;   /* stack that each thread but the first touches beyond MAFAT_THREAD_PAGES */
  size_t arena_bytes;   /* arena shared with other models, which may be larger than the plan's; 0:
                           none */
  size_t winograd_bytes[MAFAT_N_WINOGRADS]; /* code that only plans with this Winograd size enter,
                                               not in process_bytes */
  unsigned decoders;    /* MAFAT_DECODER_*: decoders whose code is resident */
  size_t decoder_bytes; /* part of the decoder loaded after process_bytes was measured */
  size_t opening_bytes; /* resident while a plan is chosen, with code used only then */
  size_t reading_bytes; /* bytes beyond opening_bytes while the model was read */
  size_t heap_bytes;    /* bytes beyond opening_bytes while plans are searched; 0 until the search
                           has ended */
  size_t program_bytes; /* size of the program's file, which the kernel may read whole at start */
  size_t image_bytes;   /* decoder state, without the network's input */
  const char *image_whole; /* format of a picture that is decoded whole before its first row, for
                              messages; NULL: it is decoded row by row */
  size_t floats_bytes;  /* readers of float files; resident between runs too, unless the plan reads
                           inputs row by row */
  size_t turned_bytes;  /* converted picture, if the plan reads it row by row but it cannot be
                           decoded row by row */
  size_t file_bytes;    /* page cache used by the picture's file */
  size_t frames_bytes;  /* video: conversion of frames to rows, and what the caller keeps outside
                           the arena between frames */
  size_t reserve_bytes; /* reserve for memory of the cgroup that no process can predict */
};

/* Largest buffer that is alive when the arena has its peak. */
struct mafat_peak {
  enum mafat_tag tag;
  bool kept;    /* the peak is not a buffer, but all kept weights together; layer is -1 */
  int layer;    /* tensor or layer that owns the buffer; -1 for I/O */
  size_t bytes;
};

const char *mafat_tag_name(enum mafat_tag tag);

struct mafat_prediction {
  /* Bytes of each category of base/tags.def, at the arena's peak. `process` is the process
   * footprint with the plan's Winograd code and records. `kernel` and `image` are charged but not
   * resident. */
#define MEMORY(name, before, label) size_t name;
#include "base/tags.def"
  size_t reserve;
  struct mafat_peak peak;
  size_t resident_bytes; /* comparable with Rss after the layers, with the arena fully touched */
  size_t charge_bytes;   /* comparable with a cgroup's peak and with budgets: the maximum over
                            choosing the plan, decoding the picture and running layers */
};

enum {
  MAFAT_PAGE = 4096,
  /* For each thread but the first. PAGES: bytes touched of its stack and descriptor. CHARGE: bytes
   * of the kernel's stack and record for it. */
  MAFAT_THREAD_PAGES = 12 << 10,
  MAFAT_THREAD_CHARGE = 24 << 10,
  /* Kernel memory of a process: stack and record of its thread, mappings, open files, inodes,
   * io_uring, upper page tables. Measured: memory.kmem.usage_in_bytes was 115 to 145 KB, with 20 to
   * 40 KB of page tables. A process can read it only in a cgroup of its own. */
  MAFAT_KERNEL_BYTES = 96 << 10,
  MAFAT_PAGE_TABLE = 512,         /* bytes mapped by each byte of lowest-level page tables */
  MAFAT_PAGE_TABLES = 8 * MAFAT_PAGE, /* lowest-level page tables in partial use: code, heap,
                                         stack, arena */
  /* The kernel charges 64 pages to the cgroup at a time for each processor, and returns unused ones
   * late. This is counted in addition to the reserve. With 384 KB for the reserve and this
   * together, and a waiting shell in the cgroup, 2 of 802 runs at the predicted charge swapped
   * pages. */
  MAFAT_CHARGE_AHEAD = 64 * MAFAT_PAGE
  /* MAFAT_DEFAULT_RESERVE_BYTES (mafat.h): after drop_caches, ext4's records of opened files used
   * 0.16 to 0.25 MiB of page cache and kernel memory; pages of a static launcher used 0.1 to 0.3
   * MiB. The kernel reclaims unused parts of these. */
};

/* Bytes by which a prediction may exceed the measurement, in addition to 2 % of it. */
enum { MAFAT_PREDICT_SLACK = 256 << 10 };
/* True if the prediction is not below the measurement and not too far above it. */
bool mafat_predict_holds(size_t predicted_bytes, size_t measured_bytes);

void mafat_predict(struct mafat_prediction *p, const struct mafat_layout *layout,
                   const struct mafat_footprint *footprint);

/* Returns the largest charge while a plan is chosen: a lower bound for every plan's charge. */
size_t mafat_predict_opening(const struct mafat_footprint *footprint);

/* Returns the charge that mafat_predict would give if the process were larger by more_bytes.
 * charge_bytes and resident_bytes are those of its prediction without more_bytes. */
size_t mafat_predict_charge_with(size_t charge_bytes, size_t resident_bytes, size_t more_bytes);

#endif
