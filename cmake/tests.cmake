# Tests, examples and benchmarks.
#
# tests.txt in the build folder lists the tests for tools/test.sh: build/tests/NAME runs each of them.

pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
enable_testing()

# ---- a GPU that is the host: NVIDIA's libraries for machines without one -------------------------

# tests/host_cuda/README.md says how to use it.  It switches stacks, which sanitizers do not follow.
if(MTF_HAVE_CUDA)
    set(host_cuda ${PROJECT_SOURCE_DIR}/tests/host_cuda)
    add_library(host_cuda_driver SHARED ${host_cuda}/host_driver.c ${host_cuda}/host_work.c
        ${host_cuda}/host_order.c ${host_cuda}/host_block.c ${host_cuda}/host_memory.c
        ${host_cuda}/host_compile.c ${host_cuda}/host_fault.c)
    add_library(host_cuda_nvrtc SHARED ${host_cuda}/host_nvrtc.c ${host_cuda}/host_compile.c)
    add_library(host_cuda_products SHARED ${host_cuda}/host_products.c ${host_cuda}/host_multiply.c)
    set_target_properties(host_cuda_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1)
    set_target_properties(host_cuda_nvrtc PROPERTIES OUTPUT_NAME nvrtc SOVERSION 13)
    set_target_properties(host_cuda_products PROPERTIES OUTPUT_NAME cublasLt SOVERSION 13)
    set(host_libraries host_cuda_driver host_cuda_nvrtc host_cuda_products)
    if(MTF_HAVE_NCCL)
        add_library(host_cuda_nccl SHARED ${host_cuda}/host_nccl.c ${host_cuda}/host_nccl_work.c)
        target_include_directories(host_cuda_nccl PRIVATE src include)
        set_target_properties(host_cuda_nccl PROPERTIES OUTPUT_NAME nccl SOVERSION 2)
        list(APPEND host_libraries host_cuda_nccl)
    endif()
    if(MTF_HAVE_CUDNN)
        add_library(host_cuda_dnn SHARED ${host_cuda}/host_dnn.c ${host_cuda}/host_dnn_compute.c)
        target_include_directories(host_cuda_dnn PRIVATE src include)
        set_target_properties(host_cuda_dnn PROPERTIES OUTPUT_NAME cudnn SOVERSION 9)
        list(APPEND host_libraries host_cuda_dnn)
    endif()
    # As host_compile.c compiles kernels.
    set(headers ${PROJECT_BINARY_DIR}/tests/host_cuda/host_headers.h)
    add_custom_command(OUTPUT ${headers} ${headers}.gch
        COMMAND ${CMAKE_COMMAND} -E copy ${host_cuda}/host_headers.h ${headers}
        COMMAND c++ -std=c++17 -O1 -g0 -w -fPIC -fvisibility=hidden -ffp-contract=off -fno-strict-aliasing
            -fno-math-errno -DMTF_HOST_CUDA -x c++-header -o ${headers}.gch ${headers}
        DEPENDS ${host_cuda}/host_headers.h VERBATIM
        COMMENT "Compiling the headers of the emulated GPU")
    add_custom_target(host_cuda_headers DEPENDS ${headers})
    foreach(target IN LISTS host_libraries)
        set_target_properties(${target} PROPERTIES
            LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/host_cuda)
        target_include_directories(${target} SYSTEM PRIVATE ${MTF_CUDA_HEADERS})
        target_compile_definitions(${target} PRIVATE _GNU_SOURCE HOST_CUDA_SOURCE="${host_cuda}"
            HOST_CUDA_HEADERS="${headers}")
        target_compile_options(${target} PRIVATE ${MTF_WARNINGS} -Wno-missing-prototypes
            -fno-sanitize=all)
        target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
        target_link_options(${target} PRIVATE -Wl,-z,nodelete) # it keeps memory: see tests/leaks.txt
    endforeach()
    target_link_libraries(host_cuda_products PRIVATE host_cuda_driver m) # products are work on its queues
    if(MTF_HAVE_NCCL)
        target_link_libraries(host_cuda_nccl PRIVATE host_cuda_driver)
    endif()
    if(MTF_HAVE_CUDNN)
        target_link_libraries(host_cuda_dnn PRIVATE host_cuda_driver m)
    endif()
    add_custom_target(host_cuda DEPENDS ${host_libraries} host_cuda_headers)
endif()

# ---- tests: tests/<folder>/test_x.c, one program for each folder ---------------------------------

# Linking the library takes longer than compiling a test, so the tests of a folder are one program, and
# build/tests/test_x is a link to it: cmake/tests.c.in calls the test by whose name it was started.
# A test that replaces functions of the C library would do so for the whole folder: it is a program of its own.
set(MTF_LONE_TESTS test_flushed test_lock)

# What tests/speeds leaves to `make test-all` is another program, which the target `tests` does without.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tests/speeds)
file(STRINGS tests/speeds MTF_LEFT_TESTS REGEX "^test_[a-z0-9_]+ +left ")
list(TRANSFORM MTF_LEFT_TESTS REPLACE " .*" "")

# Everybody waits for the compiler, and for what a test itself computes only where it compares with plain loops.
set(MTF_LOOPING_TESTS harness machine oracle property verify)
set(test_folder ${PROJECT_BINARY_DIR}/tests)
set(test_definitions MTF_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
if(MTF_HAVE_CUDA)
    list(APPEND test_definitions HOST_CUDA_FOLDER="${test_folder}/host_cuda")
endif()

# GNU's other linker takes a third of the time, where it finds what tests are linked with.
set(test_link_flags "")
if(CMAKE_C_COMPILER_ID STREQUAL GNU AND NOT MTF_SANITIZE)
    include(CheckCSourceCompiles)
    set(CMAKE_REQUIRED_LINK_OPTIONS -fuse-ld=gold)
    set(CMAKE_REQUIRED_LIBRARIES stdc++)
    check_c_source_compiles("int main(void) { return 0; }" MTF_LINKS_WITH_GOLD)
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
    unset(CMAKE_REQUIRED_LIBRARIES)
    if(MTF_LINKS_WITH_GOLD)
        set(test_link_flags -fuse-ld=gold)
    endif()
endif()

function(mtf_test_flags target folder)
    target_include_directories(${target} PRIVATE tests)
    target_compile_definitions(${target} PRIVATE ${test_definitions})
    if(folder IN_LIST MTF_LOOPING_TESTS)
        set(level 1)
    else()
        set(level 0)
    endif()
    target_compile_options(${target} PRIVATE ${MTF_WARNINGS} $<$<CONFIG:Release>:-O${level}>)
    target_link_libraries(${target} PRIVATE mtf_objects PkgConfig::CMOCKA)
endfunction()

# What the tests of a folder share, and those of some other folders, is compiled once.
function(mtf_test_parts name folder)
    file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
    list(FILTER sources EXCLUDE REGEX "/test_[^/]*$")
    if(sources)
        add_library(${name} OBJECT ${sources})
        mtf_test_flags(${name} ${folder})
    endif()
endfunction()

# mtf_test_program(PROGRAM FOLDER TEST...)
function(mtf_test_program program folder)
    list(TRANSFORM ARGN REPLACE "(.+)" "T(\\1)" OUTPUT_VARIABLE rows)
    list(JOIN rows " " rows)
    configure_file(cmake/tests.c.in ${MTF_GENERATED}/${program}.c @ONLY)
    add_executable(${program} ${MTF_GENERATED}/${program}.c)
    mtf_test_flags(${program} ${folder})
    target_link_options(${program} PRIVATE ${test_link_flags})
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${test_folder})
    foreach(parts parts_${folder} ${parts_for_${folder}})
        if(TARGET ${parts})
            target_sources(${program} PRIVATE $<TARGET_OBJECTS:${parts}>)
        endif()
    endforeach()
    foreach(test IN LISTS ARGN)
        target_sources(${program} PRIVATE tests/${folder}/${test}.c)
        set_source_files_properties(tests/${folder}/${test}.c PROPERTIES
            COMPILE_DEFINITIONS main=${test}_main
            COMPILE_OPTIONS -Wno-missing-prototypes)
        add_custom_target(${test} DEPENDS ${program})
        file(CREATE_LINK ${program} ${test_folder}/${test} SYMBOLIC)
        add_test(NAME ${test} COMMAND ${test_folder}/${test} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
        set_tests_properties(${test} PROPERTIES
            TIMEOUT 600
            ENVIRONMENT "MTF=${PROJECT_BINARY_DIR}/mtf;OMP_WAIT_POLICY=passive")
    endforeach()
    if(TARGET host_cuda) # the emulated GPU
        add_dependencies(${program} host_cuda)
    endif()
endfunction()

add_custom_target(tests COMMENT "The tests")
file(MAKE_DIRECTORY ${test_folder})

file(GLOB test_sources RELATIVE ${PROJECT_SOURCE_DIR}/tests CONFIGURE_DEPENDS tests/*/test_*.c)
if(NOT MTF_HAVE_CUDA)
    list(FILTER test_sources EXCLUDE REGEX "/test_cuda_[^/]*$")
endif()
foreach(source IN LISTS test_sources)
    cmake_path(GET source STEM test)
    cmake_path(GET source PARENT_PATH folder)
    list(APPEND test_folders ${folder})
    list(APPEND all_tests ${test})
    if(test IN_LIST MTF_LONE_TESTS)
        list(APPEND lone_tests_of_${folder} ${test})
    elseif(test IN_LIST MTF_LEFT_TESTS)
        list(APPEND left_tests_of_${folder} ${test})
    else()
        list(APPEND tests_of_${folder} ${test})
    endif()
endforeach()
list(REMOVE_DUPLICATES test_folders)
list(JOIN all_tests "\n" test_list)
file(WRITE ${PROJECT_BINARY_DIR}/tests.txt "${test_list}\n")

foreach(folder IN LISTS test_folders)
    mtf_test_parts(parts_${folder} ${folder} tests/${folder}/*.c)
endforeach()
# Cases with known values, for the oracle.
mtf_test_parts(parts_case harness tests/harness/harness_case.c tests/harness/harness_number.c)
set(parts_for_oracle parts_case)
# Random programs, and what they must give.
set(parts_for_property parts_oracle)
set(parts_for_search parts_property parts_oracle)
set(parts_for_verify parts_property parts_oracle)
# What the command consists of, but for its commands.
mtf_test_parts(parts_command cli src/cli/options.c src/cli/help.c src/cli/colour.c)
set(parts_for_cli parts_command)

foreach(folder IN LISTS test_folders)
    mtf_test_program(tests_${folder} ${folder} ${tests_of_${folder}})
    add_dependencies(tests tests_${folder})
    foreach(test IN LISTS lone_tests_of_${folder})
        mtf_test_program(tests_${folder}_${test} ${folder} ${test})
        add_dependencies(tests tests_${folder}_${test})
    endforeach()
    if(left_tests_of_${folder})
        mtf_test_program(left_tests_${folder} ${folder} ${left_tests_of_${folder}})
    endif()
endforeach()

# The command inside a program that sets its user's locale, as tests/shell/locale.sh wants it, and inside one that
# counts what it gives to MPI, as tests/shell/mpi.sh wants it.
set(command_programs mtf_in_locale:set_locale)
if(MTF_HAVE_MPI)
    list(APPEND command_programs mtf_counting:count_messages)
endif()
foreach(pair IN LISTS command_programs)
    string(REGEX MATCH "^(.*):(.*)$" pair ${pair})
    set(name ${CMAKE_MATCH_1})
    add_executable(${name} src/cli/main.c tests/shell/${CMAKE_MATCH_2}.c $<TARGET_OBJECTS:mtf_cli>)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${test_folder})
    target_compile_options(${name} PRIVATE ${MTF_WARNINGS})
    target_link_options(${name} PRIVATE ${test_link_flags})
    target_link_libraries(${name} PRIVATE mtf_objects)
    add_dependencies(tests ${name})
endforeach()
add_dependencies(tests mtf)

# ---- examples: nothing but the public headers and the archive ------------------------------------

# `make demo` begins with the digits, before the rest of the library is built: they link its core.
file(GLOB example_sources CONFIGURE_DEPENDS examples/[0-9][0-9]_*.c)
foreach(source IN LISTS example_sources)
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    target_compile_options(${name} PRIVATE ${MTF_WARNINGS})
    target_compile_definitions(${name} PRIVATE _POSIX_C_SOURCE=200809L)
    target_link_libraries(${name} PRIVATE $<IF:$<STREQUAL:${name},03_mnist>,mtf_core,mtf_static>)
endforeach()

add_dependencies(tests 03_mnist) # tests/shell/mnist.sh

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
add_executable(mtf_gpt2 bench/peers/gpt2.c bench/gpt2.c bench/serve.c)
foreach(name mtf_train mtf_transformer mtf_epochs mtf_gpt2)
    target_include_directories(${name} PRIVATE bench)
endforeach()
set(bench_programs mtf_bench mtf_train mtf_transformer mtf_epochs mtf_gpt2)
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
