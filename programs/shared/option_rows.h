/* Defines, from options.def, the static table `options_table` for the struct OPTIONS_STRUCT, and
 * a constant OPTION_id for each row. The includer must define OPTIONS_STRUCT and the section of
 * options.def. Included by programs/annotate/annotate.c, programs/make_weights/make_weights.c,
 * programs/pack_weights/pack_weights.c and programs/run_inference/options.c. */
#include "programs/shared/option.h"

#ifndef RUN /* programs: bits of mafat_option.programs */
#define RUN 1
#define SERVE 2
#define RANKS 4
#define ANY 7 /* for a section that only one program has */
#endif

/* All texts of the rows, one after the other, so that the compiler knows their offsets. */
static const struct options_texts {
#define OPTION(id, name, letter, type, usual, argument, values, expects, ...) \
  char name_##id[sizeof name], argument_##id[sizeof argument], values_##id[sizeof values], \
      expects_##id[sizeof expects];
#define RENAMED(id, name, type) char name_##id[sizeof name];
#include "programs/shared/options.def"
  char none;
} options_texts = {
#define OPTION(id, name, letter, type, usual, argument, values, expects, ...) \
  name, argument, values, expects,
#define RENAMED(id, name, type) name,
#include "programs/shared/options.def"
    '\0'};

#define TEXT_AT(member) (uint16_t) offsetof(struct options_texts, member)
static const struct mafat_option options_rows[] = {
#define OPTION(id, text, key, kind, usual, a, v, e, sets, who, help) \
  {.name = TEXT_AT(name_##id), \
   .argument = TEXT_AT(argument_##id), \
   .values = TEXT_AT(values_##id), \
   .expects = TEXT_AT(expects_##id), \
   .member = (uint16_t)offsetof(OPTIONS_STRUCT, id), \
   .type = MAFAT_OPTION_##kind, \
   .letter = key, \
   .programs = who},
#define RENAMED(id, text, kind) \
  {.name = TEXT_AT(name_##id), \
   .argument = TEXT_AT(none), \
   .values = TEXT_AT(none), \
   .expects = TEXT_AT(none), \
   .member = (uint16_t)offsetof(OPTIONS_STRUCT, renamed_##kind), \
   .type = MAFAT_OPTION_##kind, \
   .programs = RUN | SERVE | RANKS, \
   .renamed = true},
#include "programs/shared/options.def"
};
#undef TEXT_AT

enum {
#define OPTION(id, ...) OPTION_##id,
#define RENAMED(id, ...) OPTION_##id,
#include "programs/shared/options.def"
  N_OPTIONS
};

static const struct mafat_option_variable options_variables[] = {
#define ENVIRONMENT(id, variable) {OPTION_##id, variable},
#include "programs/shared/options.def"
  {0, ""}};

static const struct mafat_option_table options_table = {
    options_rows, N_OPTIONS, (const char *)&options_texts, options_variables,
    sizeof options_variables / sizeof *options_variables - 1};
