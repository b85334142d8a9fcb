# Compiler flags: the language, the warnings, the build types, the sanitizers.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)

# No -ffast-math: a sum means what it says.  Release code defines NDEBUG; its tests do not.
set(CMAKE_C_FLAGS_RELEASE "-O3 -g -fno-math-errno")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g -fno-math-errno -fno-omit-frame-pointer")

set(MTF_WARNINGS
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    -Wstrict-prototypes -Wmissing-prototypes -Wvla)
# A loop that clang cannot vectorise (a call into libm) is no fault; fused multiply-add would make
# its results differ from gcc's, which does not fuse in standard C.
if(CMAKE_C_COMPILER_ID MATCHES Clang)
    list(APPEND MTF_WARNINGS -Wno-pass-failed)
endif()
add_compile_options(-ffp-contract=off)
if(MTF_WERROR)
    list(APPEND MTF_WARNINGS -Werror)
endif()

if(MTF_SANITIZE)
    add_compile_options(-fsanitize=${MTF_SANITIZE} -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${MTF_SANITIZE})
endif()
