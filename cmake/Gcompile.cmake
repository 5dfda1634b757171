# One way to declare each kind of target: gcompile_library(), gcompile_mlir_library(), gcompile_test().
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      "${CCACHE_PROGRAM}")
endif()
find_program(GCOMPILE_LLD NAMES ld.lld-19 ld.lld)
if(GCOMPILE_LLD)
  # A full path works with every GCC that knows -B; -fuse-ld=lld wants the plain name beside it.
  get_filename_component(_lld "${GCOMPILE_LLD}" REALPATH)
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/ld")
  file(CREATE_LINK "${_lld}" "${PROJECT_BINARY_DIR}/ld/ld.lld" SYMBOLIC)
  add_link_options("-B${PROJECT_BINARY_DIR}/ld" -fuse-ld=lld)
endif()

set(GCOMPILE_WARNINGS -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)
if(GCOMPILE_WERROR)
  list(APPEND GCOMPILE_WARNINGS -Werror)
endif()
if(GCOMPILE_ASSERTIONS)
  string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
endif()
# -O2: -O3 doubles the compile time of MLIR code and gains nothing that runs more than once.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
if(GCOMPILE_SANITIZE)
  add_compile_options("-fsanitize=${GCOMPILE_SANITIZE}" -fno-omit-frame-pointer)
  add_link_options("-fsanitize=${GCOMPILE_SANITIZE}")
endif()

find_package(fmt REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(GTest REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Threads REQUIRED)
find_package(LLVM REQUIRED CONFIG PATHS /usr/lib/llvm-19/lib/cmake/llvm NO_DEFAULT_PATH)
find_package(MLIR REQUIRED CONFIG PATHS /usr/lib/llvm-19/lib/cmake/mlir NO_DEFAULT_PATH)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
# mlir-tblgen is given the include folders of the directory.
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})

# gcompile_library(NAME SOURCES... DEPENDS targets...): a part without MLIR. Public headers in ./include.
function(gcompile_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}/include" PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_compile_options(${name} PRIVATE ${GCOMPILE_WARNINGS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
endfunction()

# What links MLIR and LLVM: shared for development, which links in seconds; static in a bundle.
set(GCOMPILE_MLIR_LIBRARIES MLIR LLVM)
set(GCOMPILE_LLVM_LIBRARIES LLVM)

# Interface with what every target that sees MLIR headers needs.
add_library(gcompile_mlir INTERFACE)
target_include_directories(gcompile_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_options(gcompile_mlir INTERFACE -fno-rtti)
if(GCOMPILE_BUNDLE)
  include("${PROJECT_SOURCE_DIR}/cmake/StaticLlvm.cmake")
endif()
target_link_libraries(gcompile_mlir INTERFACE ${GCOMPILE_MLIR_LIBRARIES})

# gcompile_mlir_library(NAME SOURCES... DEPENDS...): a part that uses MLIR, with the shared precompiled header.
function(gcompile_mlir_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  gcompile_library(${name} SOURCES ${ARG_SOURCES} DEPENDS gcompile_mlir ${ARG_DEPENDS})
  gcompile_use_mlir_pch(${name})
endfunction()

# Heavy MLIR headers are parsed once for the whole project: 2 s a file instead of 10.
function(gcompile_use_mlir_pch name)
  if(NOT TARGET gcompile_mlir_pch)
    add_library(gcompile_mlir_pch OBJECT "${PROJECT_SOURCE_DIR}/cmake/MlirPch.cpp")
    target_link_libraries(gcompile_mlir_pch PRIVATE gcompile_mlir)
    target_compile_options(gcompile_mlir_pch PRIVATE ${GCOMPILE_WARNINGS})
    target_precompile_headers(gcompile_mlir_pch PRIVATE "${PROJECT_SOURCE_DIR}/cmake/MlirPch.h")
  endif()
  # A program's -fPIE would not fit the header, which is compiled with -fPIC.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  target_precompile_headers(${name} REUSE_FROM gcompile_mlir_pch)
endfunction()

# gcompile_test(NAME SOURCES... DEPENDS... [MLIR] [LABELS ...]): a GoogleTest program.
function(gcompile_test name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${GCOMPILE_WARNINGS})
  target_compile_definitions(${name} PRIVATE GCOMPILE_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  if(ARG_MLIR)
    gcompile_use_mlir_pch(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "unit;${ARG_LABELS}" TIMEOUT 300)
endfunction()

find_program(GCOMPILE_LIT NAMES lit lit.py PATHS /usr/lib/llvm-19/build/utils/lit)
# gcompile_lit_suite(NAME): the .mlir files of this folder, run by lit with gcompile-opt.
function(gcompile_lit_suite name)
  if(NOT GCOMPILE_LIT)
    message(STATUS "lit is not installed (Debian: llvm-19-tools): ${name} is not tested")
    return()
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME ${name} COMMAND "${Python3_EXECUTABLE}" "${GCOMPILE_LIT}" -sv "${CMAKE_CURRENT_SOURCE_DIR}"
           --param "exec_root=${CMAKE_CURRENT_BINARY_DIR}"
           --param "tools=$<TARGET_FILE_DIR:gcompile-opt>:${LLVM_TOOLS_BINARY_DIR}")
  set_tests_properties(${name} PROPERTIES LABELS "lit" TIMEOUT 300)
endfunction()
