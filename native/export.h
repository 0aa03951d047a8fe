/* What is visible outside of the library. */
#ifndef GV_EXPORT_H
#define GV_EXPORT_H

#if defined(_WIN32)
#define GRIDVEIL_EXPORT __declspec(dllexport)
#else
#define GRIDVEIL_EXPORT __attribute__((visibility("default")))
#endif

#endif
