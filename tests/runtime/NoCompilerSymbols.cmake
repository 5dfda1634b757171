# Fails if one of LIBRARIES needs a symbol of LLVM or MLIR.
foreach(library ${LIBRARIES})
  execute_process(COMMAND "${NM}" --undefined-only --demangle "${library}"
                  OUTPUT_VARIABLE symbols RESULT_VARIABLE result ERROR_QUIET)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "nm cannot read ${library}")
  endif()
  string(REGEX MATCHALL "[^\n]*(llvm|mlir|LLVM|MLIR)[^\n]*" found "${symbols}")
  if(found)
    message(FATAL_ERROR "${library} needs a compiler: ${found}")
  endif()
endforeach()
