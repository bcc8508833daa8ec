/* Writes the reports of --predict: text, JSON, and tables over budgets, to the given writer.
 * Included by programs/mafat_serve/work.h and programs/run_inference. */
#ifndef MAFAT_PROGRAM_PLAN_REPORT_H
#define MAFAT_PROGRAM_PLAN_REPORT_H

#include "include/mafat_plan.h"
#include "programs/shared/writer.h"

/* Number of narrower types that weights can be packed in. */
enum {
  MAFAT_PACKINGS = 0
#define TYPE(CONSTANT, name, array, bits, exponent, weights) weights
#define FLOATS
#define NONE
#define NARROW(...) + 1
#define SCALED NARROW
#include "network/dtypes.def"
};

/* Further dry runs of the same model, one for each narrower type of weights. */
struct mafat_packings {
  struct mafat_dry_run
      *of[MAFAT_PACKINGS]; /* by the index of mafat_packings_name; NULL: no weights get smaller */
};

struct mafat_transfer_report;

/* Subject of a report: a dry run, and the options of the command line. */
struct mafat_report_request {
  const struct mafat_transfer_report *transfers; /* NULL: not asked for */
  size_t fast_bytes;
  const char *objective;
  const struct mafat_dry_run *dry_run;
  const struct mafat_packings *packings; /* NULL: not asked for */
  struct mafat_dry_run_facts facts;
  const char *cfg, *picture; /* picture NULL: none was named */
  bool own_weights;          /* the model's file holds its weights */
};

/* Write the plan report. Return MAFAT_OK, or MAFAT_EIO if a write failed, now or earlier. */
int mafat_plan_report_write_text(const struct mafat_report_request *q,
                                 const struct mafat_plan_report *a, struct mafat_writer *w);
int mafat_plan_report_write_json(const struct mafat_report_request *q,
                                 const struct mafat_plan_report *a, struct mafat_writer *w);

const char *mafat_packings_name(int index); /* as pack_weights calls it: "fp16" */
int mafat_packings_open(struct mafat_packings *packings, const struct mafat_dry_run *dry_run,
                        struct mafat_diagnostic *d);
void mafat_packings_close(struct mafat_packings *packings);

/* Writes a table with a row for each of the n budgets, which are sorted from small to large. As
 * JSON: an array of objects, on one line. *any: true if a plan fits one of the budgets. Returns
 * MAFAT_OK, MAFAT_EIO or an error of mafat_dry_run_report. */
int mafat_plan_report_write_sweep(const struct mafat_report_request *q, const size_t *budgets,
                                  int n, bool json, struct mafat_writer *w, bool *any,
                                  struct mafat_diagnostic *d);
/* Writes the same kind of table, with a row for each plan of the Pareto front. *any: true if one
 * of them fits the dry run's budget. */
int mafat_plan_report_write_front(const struct mafat_report_request *q, bool json,
                                  struct mafat_writer *w, bool *any);

struct mafat_options;
/* Writes a row for each number of devices from 1 to o->ranks (no rows if o->plan is given), and all
 * details of o->ranks devices. Returns MAFAT_OK, MAFAT_EIO or an error of mafat_dry_run_ranks. */
int mafat_plan_report_write_ranks(const struct mafat_report_request *q,
                                  const struct mafat_options *o, struct mafat_writer *w,
                                  struct mafat_diagnostic *d);

/* ---- parts of memory, for text and JSON ---- */

struct mafat_memory_part {
  const char *name;  /* in JSON: "process" */
  const char *label; /* in text: "program, libraries" */
  size_t bytes;
  bool before; /* in use only before layers run; not counted in the resident bytes */
};

enum { MAFAT_MEMORY_PARTS = 12 };

/* Lists the parts of memory in m. Returns their number. */
int mafat_plan_report_memory_parts(const struct mafat_report_request *q,
                                   const struct mafat_memory_facts *m,
                                   struct mafat_memory_part parts[MAFAT_MEMORY_PARTS]);

#endif
