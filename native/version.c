/* Which interface this library has: Python asks before it calls anything else. */
#include "gridveil.h"

int gridveil_kernel_version(void) { return GRIDVEIL_KERNEL_VERSION; }
