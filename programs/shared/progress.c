/* Draws one progress line on a terminal. Called by programs/make_weights/numbers.c,
 * programs/pack_weights/pack_weights.c and programs/run_inference. Writes to standard error;
 * keeps its state in static variables. */
#include "programs/shared/progress.h"

#include <stdio.h>
#include <unistd.h>

enum { WIDTH = 30 }; /* characters of the bar */

/* The state of the only bar, since a process has one standard error. */
static struct {
  const char *what; /* label; NULL: no bar is shown */
  int shown;        /* percent, or the item's number */
} bar;
bool mafat_progress_is_shown;

/* Writes without stdio, so that stdio's code does not become resident. */
static void put(const char *text, int length)
{
  mafat_progress_is_shown = true;
  if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0) bar.what = NULL;
}

static bool is_known(int now)
{
  bool known = !bar.what || (mafat_progress_is_shown && now == bar.shown);
  bar.shown = now;
  return known;
}

void mafat_progress_begin(const char *what, bool quiet)
{
  mafat_progress_end();
  if (!quiet && isatty(STDERR_FILENO)) bar.what = what;
}

void mafat_progress_show(double share)
{
  char filled[WIDTH + 1], text[128];
  int percent = share >= 1 ? 100 : share > 0 ? (int)(share * 100) : 0;
  if (is_known(percent)) return;
  for (int i = 0; i < WIDTH; i++) filled[i] = i < percent * WIDTH / 100 ? '#' : ' ';
  filled[WIDTH] = '\0';
  put(text, snprintf(text, sizeof text, "\r%.60s [%s] %3d %%", bar.what, filled, percent));
}

void mafat_progress_count(int n, int all)
{
  char text[128];
  if (is_known(n)) return;
  put(text, snprintf(text, sizeof text, "\r%.60s %d of %d", bar.what, n, all));
}

void mafat_progress_wipe(void)
{
  static const char blank[] = "\r\033[K"; /* to the line's end */
  put(blank, sizeof blank - 1);
  mafat_progress_is_shown = false;
}

void mafat_progress_end(void)
{
  mafat_progress_erase();
  bar.what = NULL;
}
