# Fuzz targets: tests/fuzz/fuzz_x.c, one executable each.

file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
foreach(source IN LISTS fuzz_sources)
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    target_include_directories(${name} PRIVATE tests)
    target_compile_options(${name} PRIVATE ${MTF_WARNINGS} -Wno-missing-prototypes)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE mtf_objects)
endforeach()
