/* A machine's calibration as a file: text, a line for each number, in the user's cache
 * folder ($XDG_CACHE_HOME/mafat, else ~/.cache/mafat). There is one for each kernel level
 * and machine: the file's name ends with a hash of host name and processor, for a home
 * folder may be shared. */
#ifndef MAFAT_RUNNER_CALIBRATE_CALIBRATE_FILE_H
#define MAFAT_RUNNER_CALIBRATE_CALIBRATE_FILE_H

#include "predictor/cost/calibration.h"

enum { MAFAT_CALIBRATION_PATH = 1024 };

/* This machine's, of a kernel level ("avx512"), or the built-in one where there is none
 * (MAFAT_EIO) or where the file is damaged or of another version (MAFAT_EFORMAT, and a
 * warning). *c is always good. Allocates nothing. */
int mafat_calibration_load(struct mafat_calibration *c, const char *cpu, const struct mafat_warning_sink *warnings);
/* Of what the file, or the built-in one, has for a level: this processor's kernels of whole numbers. */
void mafat_calibration_choose_integers(struct mafat_calibration *c);
/* Writes it in place of what was there; `path` (NULL: not wanted), of MAFAT_CALIBRATION_PATH
 * bytes, gets its name. MAFAT_EIO. */
int mafat_calibration_store(const struct mafat_calibration *c, char *path, struct mafat_diagnostic *d);

/* The cache folder itself; with `make`, made. MAFAT_EIO: none is known, or it cannot be made. */
int mafat_calibration_folder(char *path, size_t room, bool make, struct mafat_diagnostic *d);

/* Text, which need not end with NUL, into the calibration of level `cpu`; `name` for
 * messages. MAFAT_EFORMAT: then *c is the built-in one. */
int mafat_calibration_parse(struct mafat_calibration *c, const char *cpu, const char *name, const char *text,
                            size_t bytes, struct mafat_diagnostic *d);
/* At most `room` bytes with the NUL; returns the length it needs without the NUL. */
size_t mafat_calibration_write(const struct mafat_calibration *c, char *text, size_t room);

#endif
