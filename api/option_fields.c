/* Returns a description of the fields of struct mafat_model_options as text, for languages that
 * cannot include its header. Called by python/mafat/_library.py. Constant data. */
#include "include/mafat_file.h"

#include "model_options_fields.h" /* made from include/mafat.h by scripts/struct_fields.awk */

const char *mafat_model_options_fields(void)
{
  return MODEL_OPTIONS_FIELDS;
}
