# The forms of MODEL (a folder) compile to STEPS steps at most, and leave their dumps.
file(MAKE_DIRECTORY "${WORK}")
foreach(form model core)
  if(NOT EXISTS "${MODEL}/${form}.json")
    continue() # a joint training graph has no core form of its own
  endif()
  execute_process(COMMAND "${GCOMPILE}" "${MODEL}/${form}.json" --target sm_90a --json "${WORK}/${form}.json"
                          --dump-ir "${WORK}/${form}"
                  RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "gcompile failed on ${form}.json: ${result}")
  endif()
  file(READ "${WORK}/${form}.json" summary)
  string(JSON steps GET "${summary}" steps)
  message(STATUS "${form}.json: ${steps} steps, at most ${STEPS}")
  if(steps GREATER STEPS OR steps EQUAL 0)
    message(FATAL_ERROR "${form}.json ends with ${steps} steps, expected 1 to ${STEPS}")
  endif()
  foreach(dump 1-program.mlir 2-tensors.mlir 3-kernels.mlir)
    if(NOT EXISTS "${WORK}/${form}/${dump}")
      message(FATAL_ERROR "--dump-ir wrote no ${dump}")
    endif()
  endforeach()
endforeach()
