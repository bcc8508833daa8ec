#include "predictor/calibration.h"

#include <stdio.h>

void mafat_calibration_defaults(struct mafat_calibration *c, const char *cpu)
{
  *c = (struct mafat_calibration){.measured = false};
  snprintf(c->cpu, sizeof c->cpu, "%s", cpu);
}
