/* Prints --help and --help=all from the rows of options.def on standard output. The including file
 * defines which section of options.def it prints. Never called while a model runs. Included by
 * programs/annotate/annotate.c, programs/make_weights/make_weights.c,
 * programs/pack_weights/pack_weights.c and programs/run_inference/help.c. */
#ifndef MAFAT_PROGRAMS_OPTION_HELP_H
#define MAFAT_PROGRAMS_OPTION_HELP_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#ifndef ANY
#define ANY 7
#endif

enum { OPTION_HELP_WIDTH = 80 };

/* The help of an option: of its row in options.def, or of a second form of the option. */
struct option_entry {
  const char *name, *argument, *help, *variable;
  const char *brief; /* the line of --help; NULL: only --help=all has the option */
  char letter;
  unsigned programs;
  bool own;          /* the help is for this program only, not for all that have the row */
};

/* Prints " --name ARGUMENT text". Further lines of the text begin at the same column. */
static inline void option_help_print_text(const struct option_entry *e, const char *help,
                                          int column)
{
  int n = e->letter ? printf("  -%c,", e->letter) : printf(" ");
  n += printf(" --%s%s%s", e->name, *e->argument ? " " : "", e->argument);
  if (!*help) putchar('\n');
  for (; *help; n = 0) {
    int length = (int)strcspn(help, "\n");
    printf("%*s%.*s\n", n < column ? column - n : 2, "", length, help);
    help += length + (help[length] == '\n');
  }
}

static inline void option_help_print(const struct option_entry *e, int column)
{
  option_help_print_text(e, e->help, column);
  if (e->variable) printf("%*sdefault: the environment's %s\n", column, "", e->variable);
}

/* Prints a text, wrapped at OPTION_HELP_WIDTH, with `column` spaces before each line. */
static inline void option_help_wrap(const char *text, int column)
{
  int at = 0;
  for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
    int n = (int)strcspn(text, " \n");
    if (at && at + 1 + n > OPTION_HELP_WIDTH) {
      putchar('\n');
      at = 0;
    }
    at += at ? printf(" %.*s", n, text) : printf("%*s%.*s", column, "", n, text);
    text += n;
  }
  putchar('\n');
}

/* A walk through those rows of options.def that a program has. Each entry is collected from several
 * lines of options.def and then passed to `emit`. */
struct option_walk {
  unsigned program;
  void (*emit)(struct option_walk *w);
  struct option_entry entry;
  const char *title; /* heading of the group; NULL once it has been printed */
};

static __attribute__((noinline, unused)) void option_walk_end_entry(struct option_walk *w)
{
  if (w->entry.name) w->emit(w);
  w->entry.name = NULL;
}

static __attribute__((noinline, unused)) void option_walk_begin(struct option_walk *w, char letter,
                                                                unsigned programs, const char *name,
                                                                const char *argument,
                                                                const char *help)
{
  option_walk_end_entry(w);
  if (programs & w->program && *name)
    w->entry = (struct option_entry){name, argument, help, NULL, NULL, letter, programs, false};
}

static __attribute__((noinline, unused)) void option_walk_again(struct option_walk *w,
                                                                unsigned programs,
                                                                const char *argument,
                                                                const char *help)
{
  if (!(programs & w->program)) return;
  w->emit(w);
  w->entry.brief = NULL;
  w->entry.argument = argument;
  w->entry.help = help;
}

static __attribute__((noinline, unused)) void option_walk_says(struct option_walk *w,
                                                               unsigned programs, const char *help)
{
  if (!(programs & w->program)) return;
  w->entry.help = help;
  w->entry.own = true;
}

static __attribute__((noinline, unused)) void option_walk_brief(struct option_walk *w,
                                                                unsigned programs, const char *line)
{
  if (programs & w->program) w->entry.brief = line;
}

static __attribute__((noinline, unused)) void option_walk_variable(struct option_walk *w,
                                                                   const char *variable)
{
  w->entry.variable = variable;
}

/* Calls w->emit for each row of the including file's section of options.def, if w->program has the
 * row. */
static void option_walk(struct option_walk *w)
{
  w->entry.name = NULL;
#define GROUP(id, text) option_walk_end_entry(w), w->title = text;
#define OPTION(id, text, key, type, usual, value, values, expects, sets, who, lines) \
  option_walk_begin(w, key, who, text, value, lines);
#define ALSO(id, value, who, lines) option_walk_again(w, who, value, lines);
#define SAYS(id, who, lines) option_walk_says(w, who, lines);
#define BRIEF(id, who, line) option_walk_brief(w, who, line);
#define ENVIRONMENT(id, name) option_walk_variable(w, name);
#include "programs/shared/options.def"
  option_walk_end_entry(w);
}

#endif
