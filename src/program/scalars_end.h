/* Forgets what the classes of rows of scalars.h stood for. */
#undef REAL1
#undef ANY1
#undef TEST1
#undef LOGIC1
#undef REAL2
#undef ANY2
#undef BITS2
#undef COMPARE
#undef LOGIC2
