# Compiler flags: the language, the warnings, the build types, the sanitizers.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)

# No -ffast-math: a sum means what it says.  Release code defines NDEBUG; its tests do not.
# Nobody looks at errno or at the floating point flags, which lets loops run in vectors.
# -O3 is for code that touches every element (MTF_HOT_FOLDERS); for the rest it takes twice as long to
# compile and gains nothing.  -g1 keeps what a backtrace shows: functions and lines.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1 -fno-math-errno -fno-trapping-math")
set(MTF_HOT_FOLDERS base machine cpu data checkpoint)
set(MTF_HOT_FLAGS $<$<CONFIG:Release>:-O3>)
set(CMAKE_C_FLAGS_DEBUG "-O1 -g -fno-math-errno -fno-trapping-math -fno-omit-frame-pointer")

set(MTF_WARNINGS
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    -Wstrict-prototypes -Wmissing-prototypes -Wvla)
# A loop that clang cannot vectorise (a call into libm) is no fault; fused multiply-add would make
# its results differ from gcc's, which does not fuse in standard C.
if(CMAKE_C_COMPILER_ID MATCHES Clang)
    list(APPEND MTF_WARNINGS -Wno-pass-failed)
endif()
add_compile_options(-ffp-contract=off)
set(MTF_CXX_WARNINGS -Wall -Wextra -Wshadow)
if(MTF_WERROR)
    list(APPEND MTF_WARNINGS -Werror)
    list(APPEND MTF_CXX_WARNINGS -Werror)
endif()

if(MTF_SANITIZE)
    add_compile_options(-fsanitize=${MTF_SANITIZE} -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${MTF_SANITIZE})
endif()

# Inner loops are compiled once more for each of these instruction sets, from the plainest upwards;
# cpu/levels.c picks among them at run time.
set(MTF_LEVEL_SOURCES map_steps.c joined_steps.c formula_steps.c soft_steps.c fold_steps.c strided_steps.c
    terms_steps.c slim_steps.c attention_steps.c short_steps.c)
list(TRANSFORM MTF_LEVEL_SOURCES PREPEND src/cpu/)
set_source_files_properties(src/cpu/soft_steps.c PROPERTIES
    COMPILE_OPTIONS "-ffinite-math-only")
# Iterations of a loop that are unrolled get registers of their own, or they would wait for one another.
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
    set_property(SOURCE ${MTF_LEVEL_SOURCES} APPEND PROPERTY
        COMPILE_OPTIONS "-fweb;-frename-registers")
    # A tile fills the registers: loads moved up would push part of it out.
    set_source_files_properties(src/cpu/slim_neon.c PROPERTIES
        COMPILE_OPTIONS "-fno-schedule-insns")
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    set(MTF_LEVELS avx2 avx512)
    set(MTF_FLAGS_avx2 -mavx2 -mfma)
    set(MTF_FLAGS_avx512 -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl
        -mprefer-vector-width=512)
    set_source_files_properties(src/cpu/short_tile_x86.c PROPERTIES COMPILE_OPTIONS
        "${MTF_FLAGS_avx512};-mavx512bf16;-mamx-tile;-mamx-bf16")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(MTF_LEVELS sve)
    set(MTF_FLAGS_sve -march=armv8.2-a+sve)
    set_source_files_properties(src/cpu/short_bfdot.c
        src/cpu/short_tile_arm.c PROPERTIES COMPILE_OPTIONS "-march=armv8.2-a+bf16")
endif()
list(TRANSFORM MTF_LEVELS REPLACE "(.+)" "M(\\1)" OUTPUT_VARIABLE MTF_LEVEL_ROWS)
list(JOIN MTF_LEVEL_ROWS " " MTF_LEVEL_ROWS)
