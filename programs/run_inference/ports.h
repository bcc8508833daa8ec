/* Files of a model's inputs and outputs: --input and --dump-output. Included by
 * programs/run_inference. Creates and renames the files of outputs (programs/shared/unfinished.h,
 * which sets signal handlers); lists of inputs and outputs go to a writer. */
#ifndef MAFAT_PROGRAM_PORTS_H
#define MAFAT_PROGRAM_PORTS_H

#include "include/mafat_plan.h"
#include "programs/run_inference/options.h"
#include "programs/shared/writer.h"

/* A file that an output is to be written to. */
struct mafat_dump {
  const char *path;
  struct mafat_port_facts port;
};

/* Sets the files of the model's inputs from --input: each value is FILE or NAME=FILE. If a value
 * has several =, NAME is the longest text before one of them that is an input's name. m NULL: only
 * checks the options, against the dry run. Returns MAFAT_EINVAL if FILE alone is given for several
 * inputs, or an input is given twice or filled by the picture. */
int mafat_inputs_take(struct mafat_model *m, const struct mafat_dry_run *q,
                      const struct mafat_options *o, struct mafat_diagnostic *d);
/* Finds the output and file of each --dump-output. dumps: (o->n_dumps); NULL: only checks. */
int mafat_dumps_read(struct mafat_dump *dumps, const struct mafat_model *m,
                     const struct mafat_dry_run *q, const struct mafat_options *o,
                     struct mafat_diagnostic *d);
/* Checks, before anything runs, that the file can be created in its folder. MAFAT_EIO. */
int mafat_dump_check(const struct mafat_dump *dump, struct mafat_diagnostic *d);
/* Writes an output: a .npy file if the path ends so, else raw elements. Writes to a temporary file
 * and renames it, so that a failure leaves no partial file; devices and links are written
 * directly. */
int mafat_dump_write(const struct mafat_dump *dump, const struct mafat_model *m,
                     struct mafat_diagnostic *d);
/* True if the path is a device, pipe or link, which is written directly. It may be standard output,
 * so the caller writes it after the results. */
bool mafat_dump_is_direct(const struct mafat_dump *dump);

/* Writes the members "inputs": [{"name":"data","type":"float32","dims":[3,416,416]}], "outputs":
 * ... of a model or, if m is NULL, of a dry run. */
void mafat_ports_json(const struct mafat_model *m, const struct mafat_dry_run *q,
                      struct mafat_writer *w);
/* Write inputs or outputs as text: "data float32[3, 416, 416]". */
void mafat_ports_inputs_text(const struct mafat_dry_run *q, struct mafat_writer *w);
void mafat_ports_outputs_text(const struct mafat_dry_run *q, struct mafat_writer *w);

#endif
