/* The kernel of GridVeil's solver: what the library offers to Python, and nothing else of it is visible outside. */
#ifndef GRIDVEIL_H
#define GRIDVEIL_H

/* Raised whenever a function below changes its arguments or meaning; gridveil/nlp/native/library.py has the same. */
#define GRIDVEIL_KERNEL_VERSION 1

#if defined(_WIN32)
#define GRIDVEIL_EXPORT __declspec(dllexport)
#else
#define GRIDVEIL_EXPORT __attribute__((visibility("default")))
#endif

/* The version that this library was compiled as. */
GRIDVEIL_EXPORT int gridveil_kernel_version(void);

#endif
