/* Reads and writes a machine's calibration: text with a number in each line, in the user's cache
 * folder ($XDG_CACHE_HOME/mafat, else ~/.cache/mafat). There is a file for each kernel level and
 * machine. Its name ends with a hash of host name and processor, because machines may share home
 * folders. Included by api/choose.c, programs/mafat/doctor.c and calibrate.c. */
#ifndef MAFAT_RUNNER_CALIBRATE_CALIBRATE_FILE_H
#define MAFAT_RUNNER_CALIBRATE_CALIBRATE_FILE_H

#include "predictor/cost/calibration.h"

enum { MAFAT_CALIBRATION_PATH = 1024 };

/* Loads this machine's calibration of a kernel level ("avx512"). Falls back to the built-in one if
 * there is no file (MAFAT_EIO), or if it is damaged or of another version (MAFAT_EFORMAT and a
 * warning). *c is always valid. Allocates nothing. */
int mafat_calibration_load(struct mafat_calibration *c, const char *cpu,
                           const struct mafat_warning_sink *warnings);
/* Sets the prices of integer layers for the integer kernels that this processor uses. */
void mafat_calibration_choose_integers(struct mafat_calibration *c);
/* Replaces the stored calibration. Copies the file's name to `path`, of MAFAT_CALIBRATION_PATH
 * bytes; may be NULL. MAFAT_EIO. */
int mafat_calibration_store(const struct mafat_calibration *c, char *path,
                            struct mafat_diagnostic *d);

/* Copies the name of the cache folder to `path`; with `make`, creates the folder. MAFAT_EIO: it is
 * unknown or cannot be created. */
int mafat_calibration_folder(char *path, size_t capacity, bool make, struct mafat_diagnostic *d);

/* Parses text, not necessarily NUL-terminated, as the calibration of level `cpu`; `name` is for
 * messages. MAFAT_EFORMAT: *c is then the built-in calibration. */
int mafat_calibration_parse(struct mafat_calibration *c, const char *cpu, const char *name,
                            const char *text, size_t bytes, struct mafat_diagnostic *d);
/* Writes at most `capacity` bytes including the NUL. Returns the full length without the NUL. */
size_t mafat_calibration_write(const struct mafat_calibration *c, char *text, size_t capacity);

#endif
