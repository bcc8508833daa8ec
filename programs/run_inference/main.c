/* Starts run_inference: main() alone, so that tests can link the rest. */
#include "programs/run_inference/session.h"

int main(int argc, char **argv)
{
  return mafat_session_main(argc, argv, NULL);
}
