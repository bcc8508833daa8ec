/* Message about a need that exceeds the memory budget. Called by api/choose.c, model.c and
 * plan_timer.c. Fills the caller's text; allocates nothing. */
#include "api/unfit.h"

#include "base/mebibytes.h"
#include "predictor/cost/predict.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The proposed budget is at least 64 KB larger than the need, because opening the model again may
 * need a little more. */
const char *mafat_unfit_describe(char text[MAFAT_UNFIT_ROOM], size_t charge, size_t budget,
                                 const char *source)
{
  enum { UNIT = 64 << 10 };
  const size_t enough =
      charge < SIZE_MAX - 2 * UNIT ? (charge + 2 * UNIT - 1) / UNIT * UNIT : SIZE_MAX;
  const bool is_option = !strchr(source, ' ');
  snprintf(text, MAFAT_UNFIT_ROOM,
           "needs %.1f MiB, the budget (%.40s) is %.1f MiB; %.40s%s%zuK would do",
           mafat_mebibytes_up(charge), source, mafat_mebibytes_down(budget),
           is_option ? source : "", is_option ? " " : "", enough >> 10);
  return text;
}

const char *mafat_unfit_describe_least(char text[MAFAT_UNFIT_ROOM], size_t charge, size_t budget,
                                       const char *source)
{
  snprintf(text, MAFAT_UNFIT_ROOM, "needs at least %.1f MiB, the budget (%.40s) is %.1f MiB",
           mafat_mebibytes_up(charge), source, mafat_mebibytes_down(budget));
  return text;
}

const char *mafat_unfit_caller(char text[MAFAT_UNFIT_ROOM], size_t process_bytes)
{
  enum { LARGE = 8 << 20 };
  *text = '\0';
  if (process_bytes >= LARGE)
    snprintf(text, MAFAT_UNFIT_ROOM, "; the program that opens it takes %.1f MiB by itself",
             mafat_mebibytes(process_bytes));
  return text;
}

const char *mafat_unfit_picture(char text[MAFAT_UNFIT_ROOM], const struct mafat_layout *layout,
                                const struct mafat_footprint *footprint, size_t budget)
{
  struct mafat_footprint without = *footprint;
  struct mafat_prediction p;
  const char *whole = footprint->image_whole;
  without.image_bytes = 0;
  mafat_predict(&p, layout, &without);
  *text = '\0';
  if (p.charge_bytes > budget || footprint->image_bytes == 0) return text;
  snprintf(text, MAFAT_UNFIT_ROOM, "; decoding the picture takes %.1f MiB of it%s%s%s",
           mafat_mebibytes_up(footprint->image_bytes), whole ? ": this " : "", whole ? whole : "",
           !whole          ? ""
           : *whole == 'J' ? " is decoded whole, as its scans are unusual: save it as baseline"
                           : " is decoded whole, as it is interlaced: save it not interlaced");
  return text;
}
