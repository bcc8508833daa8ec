/* Reads and writes a machine's calibration: a text file with a number in each line, in the user's
 * cache folder ($XDG_CACHE_HOME/mafat, else ~/.cache/mafat). There is a file for each kernel level
 * and machine. Its name ends with a hash of host name and processor (read from /proc), because
 * machines may share a home folder. Storing creates the folder. Allocates nothing. Included by
 * api/choose.c, programs/mafat/doctor.c, experiments/separable/separable.c and calibrate.c. */
#ifndef MAFAT_RUNNER_CALIBRATE_CALIBRATE_FILE_H
#define MAFAT_RUNNER_CALIBRATE_CALIBRATE_FILE_H

#include "predictor/cost/calibration.h"

enum { MAFAT_CALIBRATION_PATH = 1024 }; /* bytes for a path, including the NUL */

/* Loads this machine's calibration of a kernel level, such as "avx512". If there is no file,
 * returns MAFAT_EIO; if it is damaged or of another version, warns and returns MAFAT_EFORMAT. In
 * both cases *c is the built-in calibration. */
int mafat_calibration_load(struct mafat_calibration *c, const char *cpu,
                           const struct mafat_warning_sink *warnings);
/* Selects the integer kernels that this processor uses with level c->cpu, and sets the prices of
 * integer layers to the prices of these kernels, unless those were measured. */
void mafat_calibration_choose_integers(struct mafat_calibration *c);
/* Replaces the stored calibration. Copies the file's path to `path`, which has
 * MAFAT_CALIBRATION_PATH bytes or is NULL. MAFAT_OK or MAFAT_EIO. */
int mafat_calibration_store(const struct mafat_calibration *c, char *path,
                            struct mafat_diagnostic *d);

/* Copies the path of the cache folder to `path`. make: also creates the folder. MAFAT_EIO: the path
 * is unknown, or the folder cannot be created. */
int mafat_calibration_folder(char *path, size_t capacity, bool make, struct mafat_diagnostic *d);

/* Parses `text`, which need not end with NUL, as the calibration of level `cpu`. Messages begin
 * with `name`. MAFAT_EFORMAT: the text is not valid, and *c is the built-in calibration. */
int mafat_calibration_parse(struct mafat_calibration *c, const char *cpu, const char *name,
                            const char *text, size_t bytes, struct mafat_diagnostic *d);
/* Writes a calibration as text: at most `capacity` bytes including the NUL. Returns the length of
 * the complete text without the NUL. */
size_t mafat_calibration_write(const struct mafat_calibration *c, char *text, size_t capacity);

#endif
