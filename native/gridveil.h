/* The kernel of GridVeil's solver: what the library offers to Python, and nothing else of it is visible outside. */
#ifndef GRIDVEIL_H
#define GRIDVEIL_H

/* Raised whenever a function below changes its arguments or meaning; gridveil/nlp/native/library.py has the same. */
#define GRIDVEIL_KERNEL_VERSION 1

#include "export.h"

/* The version that this library was compiled as. */
GRIDVEIL_EXPORT int gridveil_kernel_version(void);

/* Give back what this thread's factorisations under MA57's names hold (ma57.c): when Ipopt is done. */
GRIDVEIL_EXPORT void gridveil_ma57_release(void);

#endif
