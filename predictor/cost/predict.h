/* Predicts the bytes of a plan, by tag, before it runs. Called by api/, search/common and
 * runner/calibrate. */
#ifndef MAFAT_PREDICTOR_COST_PREDICT_H
#define MAFAT_PREDICTOR_COST_PREDICT_H

#include "base/winograd.h"
#include "predictor/layout/layout.h"

/* MAFAT_DECODER_RULE: pixels converted by a rule other than Darknet's. MAFAT_DECODER_VIDEO:
 * frames. */
enum {
  MAFAT_DECODER_JPEG = 1,
  MAFAT_DECODER_PNG = 2,
  MAFAT_DECODER_RULE = 4,
  MAFAT_DECODER_VIDEO = 8
};

/* Process footprint: bytes that do not depend on the plan. */
struct mafat_footprint {
  size_t process_bytes; /* resident before weights and arena exist */
  size_t late_bytes;    /* added later beside weights and arena: records of plan and layout; code
                           that could not be made resident before */
  size_t stack_bytes;   /* stack that each thread but the first touches beyond MAFAT_THREAD_PAGES */
  size_t arena_bytes;   /* existing shared arena, which the plan uses and which may be in use before
                           and after; 0: none */
  size_t winograd_bytes[MAFAT_N_WINOGRADS]; /* code that only plans with this Winograd size enter,
                                               not in process_bytes */
  unsigned decoders;    /* MAFAT_DECODER_*: decoders whose code is resident */
  size_t decoder_bytes; /* part of the decoder loaded after process_bytes was measured */
  size_t opening_bytes; /* resident while a plan is chosen, with code used only then, and the
                           search's heap once known */
  size_t program_bytes; /* size of the program's file, which the kernel may read whole at start */
  size_t image_bytes;   /* decoder state, without the network's input */
  size_t floats_bytes;  /* reader of float files; kept between runs if a plan needs whole inputs */
  size_t turned_bytes;  /* additional, if a plan reads by rows and the picture cannot be decoded by
                           rows */
  size_t file_bytes;    /* page cache used by the picture's file */
  size_t frames_bytes;  /* video: conversion of frames to rows, and memory outside the arena kept
                           between frames */
  size_t reserve_bytes; /* reserve for memory of the cgroup that no process can predict */
};

/* Largest buffer at the peak. */
struct mafat_peak {
  enum mafat_tag tag;
  bool kept;    /* all kept weights: no layer */
  int layer;    /* its tensor or layer; -1 for I/O */
  size_t bytes;
};

const char *mafat_tag_name(enum mafat_tag tag);

struct mafat_prediction {
  /* Bytes at the peak of the arena; process is the part that no plan decides. kernel and picture
   * are charged but not resident. */
#define MEMORY(name, before) size_t name;
#include "base/tags.def"
  size_t reserve;
  struct mafat_peak peak;
  size_t resident_bytes; /* comparable with Rss after the layers, with the arena fully touched */
  size_t charge_bytes;   /* comparable with a cgroup's peak and with budgets: the largest of
                            choosing the plan, decoding the picture and running layers */
};

enum {
  MAFAT_PAGE = 4096,
  /* For each thread but the first: touched stack and descriptor; the kernel's stack and record. */
  MAFAT_THREAD_PAGES = 12 << 10,
  MAFAT_THREAD_CHARGE = 24 << 10,
  /* Kernel memory of a process: stack and record of its thread, mappings, open files, inodes,
   * io_uring, upper page tables. Measured: memory.kmem.usage_in_bytes was 115 to 145 KB, with 20 to
   * 40 KB of page tables. A process can read it only in a cgroup of its own. */
  MAFAT_KERNEL_BYTES = 96 << 10,
  MAFAT_PAGE_TABLE = 512,         /* bytes mapped for each byte of lowest-level tables */
  MAFAT_PAGE_TABLES = 8 * MAFAT_PAGE, /* lowest-level tables in partial use: code, heap, stack,
                                         arena */
  /* A processor charges 64 pages to the cgroup at a time, and returns unused ones late. Counted in
   * addition to the reserve. With 384 KB for both and a waiting shell in the cgroup, 2 of 802 runs
   * at the predicted charge swapped pages. */
  MAFAT_CHARGE_AHEAD = 64 * MAFAT_PAGE
  /* MAFAT_DEFAULT_RESERVE_BYTES (mafat.h): after drop_caches, ext4's records of opened files used
   * 0.16 to 0.25 MiB of page cache and kernel memory; a static launcher's pages 0.1 to 0.3. Unused
   * parts are reclaimed. */
};

/* A prediction may exceed the measurement by 2 % plus this; it must never be below. */
enum { MAFAT_PREDICT_SLACK = 256 << 10 };
bool mafat_predict_holds(size_t predicted_bytes, size_t measured_bytes);

void mafat_predict(struct mafat_prediction *p, const struct mafat_layout *layout,
                   const struct mafat_footprint *footprint);

/* Largest charge while a plan is chosen; a lower bound for every plan's charge. */
size_t mafat_predict_opening(const struct mafat_footprint *footprint);

/* Charge of the same prediction if the process were larger by more_bytes; equals mafat_predict to
 * the byte. */
size_t mafat_predict_charge_with(size_t charge_bytes, size_t resident_bytes, size_t more_bytes);

#endif
