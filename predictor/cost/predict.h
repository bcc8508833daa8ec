/* What a plan costs in bytes, by tag, before anything runs. */
#ifndef MAFAT_PREDICTOR_COST_PREDICT_H
#define MAFAT_PREDICTOR_COST_PREDICT_H

#include "base/winograd.h"
#include "predictor/layout/layout.h"

/* MAFAT_DECODER_RULE: of other numbers than Darknet makes of pixels. MAFAT_DECODER_VIDEO: of frames. */
enum { MAFAT_DECODER_JPEG = 1, MAFAT_DECODER_PNG = 2, MAFAT_DECODER_RULE = 4, MAFAT_DECODER_VIDEO = 8 };

/* What the plan does not decide. */
struct mafat_surroundings {
  size_t process_bytes; /* resident before the weights and the arena exist */
  size_t late_bytes;    /* what comes to that beside weights and arena: records of plan and layout;
                           code where it could not be made resident before */
  size_t stack_bytes;   /* that each thread beside the first touches beyond MAFAT_THREAD_PAGES */
  size_t arena_bytes;   /* of an arena that is there and shared: the plan takes its memory from it, and it
                           may all be in use before or after. 0: none is */
  size_t winograd_bytes[MAFAT_N_WINOGRADS]; /* code that only plans with this one enter, beside process_bytes */
  unsigned decoders;    /* MAFAT_DECODER_*: whose code is resident */
  size_t decoder_bytes; /* of it, what came after process_bytes was measured */
  size_t opening_bytes; /* resident while a plan is chosen, with the code that only that enters, and the search's
                           heap once that is known */
  size_t program_bytes; /* of the program's file, which the kernel may read as a whole when it starts it */
  size_t image_bytes;   /* decoder state, beside the network's input */
  size_t floats_bytes;  /* what reads files of floats; kept from run to run where a plan takes whole inputs */
  size_t turned_bytes;  /* beside that, when a plan asks for rows and the picture has none to pull */
  size_t file_bytes;    /* page cache the picture's file brings in */
  size_t frames_bytes;  /* of video: what makes rows of frames, and what is held beside the arena, from frame to frame */
  size_t reserve_bytes; /* of the group's, for what is no process's to foresee */
};

/* The largest of what lives at the peak: it decides how high that is. */
struct mafat_peak {
  enum mafat_tag tag;
  bool kept;    /* weights that are kept, all of them: no layer */
  int layer;    /* the tensor or layer whose it is; of I/O: -1 */
  size_t bytes;
};

const char *mafat_tag_name(enum mafat_tag tag);

struct mafat_prediction {
  /* At the peak of the arena; process is what the plan does not decide. kernel, and the picture, are
   * charged and not resident. */
#define MEMORY(name, before) size_t name;
#include "base/tags.def"
  size_t reserve;
  struct mafat_peak peak;
  size_t resident_bytes; /* compare with Rss while the arena is fully touched, after the layers */
  size_t charge_bytes;   /* compare with a memory cgroup's peak and with budgets; while the plan is chosen, the picture
                            is decoded or the layers run, whichever takes most */
};

enum {
  MAFAT_PAGE = 4096,
  /* For each thread beside the first, touched of its stack, with its descriptor; and the
   * kernel's stack and record of it. */
  MAFAT_THREAD_PAGES = 12 << 10,
  MAFAT_THREAD_CHARGE = 24 << 10,
  /* The kernel's own for a process: stack and record of its thread, mappings, open files,
   * their inodes, io_uring, the upper page tables (memory.kmem.usage_in_bytes was 115 to 145 KB,
   * with 20 to 40 KB of page tables). No process can read it that is not in a group of its own. */
  MAFAT_KERNEL_BYTES = 96 << 10,
  MAFAT_PAGE_TABLE = 512,         /* bytes mapped for each byte of the lowest tables */
  MAFAT_PAGE_TABLES = 8 * MAFAT_PAGE, /* that are begun: code, heap, stack, arena */
  /* A processor takes 64 pages from the group at a time, and gives back late what it does not use. Counted beside the
   * reserve: with 384 KB for both, a waiting shell in the group, 2 of 802 runs at the predicted charge had pages swapped. */
  MAFAT_CHARGE_AHEAD = 64 * MAFAT_PAGE,
  /* By default. After drop_caches ext4's records of the files that are opened took 0.16 to 0.25 MiB of page
   * cache and kernel memory, a static launcher's own pages 0.1 to 0.3; what of it is not in use goes again. */
  MAFAT_RESERVE_BYTES = 256 << 10
};

/* A prediction may be so much above what is measured: 2 % of that and this. Never below. */
enum { MAFAT_PREDICT_SLACK = 256 << 10 };
bool mafat_predict_holds(size_t predicted_bytes, size_t measured_bytes);

void mafat_predict(struct mafat_prediction *p, const struct mafat_layout *layout,
                   const struct mafat_surroundings *around);

/* What a group is charged while a plan is chosen, at most: no plan's charge is less. */
size_t mafat_predict_opening(const struct mafat_surroundings *around);

/* The charge of that prediction were the process larger by so much: to the byte what
 * mafat_predict would say. */
size_t mafat_predict_charge_with(size_t charge_bytes, size_t resident_bytes, size_t more_bytes);

#endif
