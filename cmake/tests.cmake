# Tests, examples and benchmarks: one executable for each file.
#
# tests.txt in the build folder lists the test executables for tools/test.sh.

pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
enable_testing()

# ---- tests: tests/<folder>/test_x.c, each with the folder's other .c files ------------------------

file(GLOB test_sources CONFIGURE_DEPENDS tests/*/test_*.c)

set(test_list "")
foreach(source IN LISTS test_sources)
    cmake_path(GET source STEM name)
    cmake_path(GET source PARENT_PATH folder)
    file(GLOB shared_sources CONFIGURE_DEPENDS ${folder}/*.c)
    if(folder MATCHES "/(search|verify)$") # random programs
        file(GLOB made CONFIGURE_DEPENDS tests/property/property_*.c)
        list(APPEND shared_sources ${made})
    endif()
    if(folder MATCHES "/(search|property|verify)$") # what they must give
        file(GLOB plain CONFIGURE_DEPENDS tests/oracle/oracle*.c)
        list(APPEND shared_sources ${plain} tests/oracle/number.c)
    endif()
    if(folder MATCHES "/oracle$") # cases with known values
        list(APPEND shared_sources tests/harness/harness_case.c tests/harness/harness_number.c)
    endif()
    if(folder MATCHES "/cli$") # what the command consists of, but for its commands
        list(APPEND shared_sources src/cli/options.c src/cli/help.c src/cli/colour.c)
    endif()
    list(FILTER shared_sources EXCLUDE REGEX "/test_[^/]*$")
    add_executable(${name} ${source} ${shared_sources})
    target_compile_definitions(${name} PRIVATE MTF_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_include_directories(${name} PRIVATE tests)
    target_compile_options(${name} PRIVATE ${MTF_WARNINGS})
    target_link_libraries(${name} PRIVATE mtf_objects PkgConfig::CMOCKA)
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES
        TIMEOUT 600
        ENVIRONMENT "MTF=${PROJECT_BINARY_DIR}/mtf;OMP_WAIT_POLICY=passive")
    string(APPEND test_list "${name}\n")
endforeach()
file(WRITE ${PROJECT_BINARY_DIR}/tests.txt "${test_list}")

# The command inside a program that sets its user's locale, as tests/shell/locale.sh wants it.
add_executable(mtf_in_locale ${MTF_CLI_SOURCES} tests/shell/set_locale.c)
set_target_properties(mtf_in_locale PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_compile_options(mtf_in_locale PRIVATE ${MTF_WARNINGS})
target_link_libraries(mtf_in_locale PRIVATE mtf_objects)

# ---- examples: nothing but the public headers and the archive ------------------------------------

file(GLOB example_sources CONFIGURE_DEPENDS examples/[0-9][0-9]_*.c)
foreach(source IN LISTS example_sources)
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    target_compile_options(${name} PRIVATE ${MTF_WARNINGS})
    target_compile_definitions(${name} PRIVATE _POSIX_C_SOURCE=200809L)
    target_link_libraries(${name} PRIVATE mtf_static)
endforeach()

# ---- benchmarks: the program that `make bench` runs, and those that it starts --------------------

file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.c)
file(GLOB rank_sources CONFIGURE_DEPENDS bench/ranks/*.c)
add_executable(mtf_bench ${bench_sources})
target_link_libraries(mtf_bench PRIVATE PkgConfig::CJSON)
pkg_check_modules(SLEEF IMPORTED_TARGET sleef)
if(SLEEF_FOUND)
    target_link_libraries(mtf_bench PRIVATE PkgConfig::SLEEF)
    target_compile_definitions(mtf_bench PRIVATE BENCH_HAVE_SLEEF)
endif()
target_compile_definitions(mtf_bench PRIVATE MTF_BENCH_PEERS="${PROJECT_SOURCE_DIR}/bench/peers"
    MTF_BENCH_DATA="${PROJECT_SOURCE_DIR}/data")
add_executable(mtf_train bench/peers/train.c bench/language_model.c bench/networks.c bench/serve.c)
add_executable(mtf_transformer bench/peers/transformer.c bench/networks.c bench/serve.c)
add_executable(mtf_epochs bench/peers/epochs.c bench/networks.c bench/serve.c)
target_include_directories(mtf_train PRIVATE bench)
target_include_directories(mtf_transformer PRIVATE bench)
target_include_directories(mtf_epochs PRIVATE bench)
set(bench_programs mtf_bench mtf_train mtf_transformer mtf_epochs)
if(MTF_HAVE_MPI)
    foreach(source IN LISTS rank_sources)
        cmake_path(GET source STEM name)
        add_executable(${name} ${source})
        list(APPEND bench_programs ${name})
    endforeach()
endif()
foreach(name IN LISTS bench_programs)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
    target_compile_options(${name} PRIVATE ${MTF_WARNINGS} ${MTF_HOT_FLAGS})
    target_link_libraries(${name} PRIVATE mtf_objects)
endforeach()
