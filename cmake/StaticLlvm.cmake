# Static MLIR and LLVM for a program that runs where neither is installed: 60 MB instead of 400 MB of shared
# libraries and what these drag in (libz3, libicu, libxml2).
find_program(LLVM_CONFIG_TOOL NAMES llvm-config-19 llvm-config PATHS "${LLVM_TOOLS_BINARY_DIR}" REQUIRED)
execute_process(COMMAND "${LLVM_CONFIG_TOOL}" --link-static --libfiles native orcjit passes perfjitevents
                OUTPUT_VARIABLE _llvm OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(_llvm UNIX_COMMAND "${_llvm}")
file(GLOB _mlir "${LLVM_LIBRARY_DIR}/libMLIR*.a")
list(FILTER _mlir EXCLUDE REGEX "libMLIR(CAPI|Mlir|Test)")
set(GCOMPILE_LLVM_LIBRARIES -Wl,--start-group ${_llvm} -Wl,--end-group z zstd rt dl m Threads::Threads)
set(GCOMPILE_MLIR_LIBRARIES -Wl,--start-group ${_mlir} ${_llvm} -Wl,--end-group z zstd rt dl m Threads::Threads)
add_link_options(-Wl,--gc-sections -Wl,--as-needed)
