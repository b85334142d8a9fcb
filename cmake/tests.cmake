# Tests, examples and benchmarks: one executable for each file.
#
# tests.txt in the build folder lists the test executables for tools/test.sh.

pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
enable_testing()

# ---- tests: tests/<folder>/test_x.c, each with the folder's other .c files ------------------------

file(GLOB test_sources CONFIGURE_DEPENDS tests/*/test_*.c)
if(NOT MTF_HAVE_CUDA)
    list(FILTER test_sources EXCLUDE REGEX "/test_cuda_[^/]*$")
endif()

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

# The command inside a program that counts what it gives to MPI, as tests/shell/mpi.sh wants it.
if(MTF_HAVE_MPI)
    add_executable(mtf_counting ${MTF_CLI_SOURCES} tests/shell/count_messages.c)
    set_target_properties(mtf_counting PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_compile_options(mtf_counting PRIVATE ${MTF_WARNINGS})
    target_link_libraries(mtf_counting PRIVATE mtf_objects)
endif()

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
    foreach(target IN LISTS host_libraries)
        set_target_properties(${target} PROPERTIES
            LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/host_cuda)
        target_include_directories(${target} SYSTEM PRIVATE ${MTF_CUDA_HEADERS})
        target_compile_definitions(${target} PRIVATE _GNU_SOURCE HOST_CUDA_SOURCE="${host_cuda}")
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
    file(GLOB gpu_tests CONFIGURE_DEPENDS tests/*/test_cuda_*.c)
    foreach(source IN LISTS gpu_tests)
        cmake_path(GET source STEM name)
        add_dependencies(${name} ${host_libraries})
        target_compile_definitions(${name} PRIVATE
            HOST_CUDA_FOLDER="${PROJECT_BINARY_DIR}/tests/host_cuda")
    endforeach()
endif()

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
