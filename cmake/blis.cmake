# BLIS as one object with one name: gemm_blis.
#
# libblis also defines cblas_sgemm and its like.  So what gemm_blis needs is taken out of the archive
# by a link of its own, and every other name made local: no link after it, ours or a user's, sees
# any of BLIS.

add_library(mtf_blis OBJECT src/machine/kernels/matrix_blis.c)
target_include_directories(mtf_blis SYSTEM PRIVATE ${BLIS_INCLUDE_DIR})

set(MTF_BLIS_OBJECT ${PROJECT_BINARY_DIR}/mtf_blis_joined.o)
add_custom_command(OUTPUT ${MTF_BLIS_OBJECT}
    COMMAND ${CMAKE_LINKER} -r -o ${MTF_BLIS_OBJECT} $<TARGET_OBJECTS:mtf_blis> ${BLIS_ARCHIVE}
    COMMAND ${CMAKE_OBJCOPY} --keep-global-symbol=gemm_blis ${MTF_BLIS_OBJECT}
    DEPENDS $<TARGET_OBJECTS:mtf_blis> ${BLIS_ARCHIVE}
    COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Joining BLIS into one object, its names made local")
add_custom_target(mtf_blis_joined DEPENDS ${MTF_BLIS_OBJECT})
set_source_files_properties(${MTF_BLIS_OBJECT} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
