# `cpack` makes a folder that runs on any x86-64 Linux with glibc 2.36: the program and the shared libraries that it
# needs beside the C library. NVIDIA's driver and libraries are found at run time.
install(TARGETS gcompile RUNTIME_DEPENDENCY_SET bundle RUNTIME DESTINATION bin)
install(RUNTIME_DEPENDENCY_SET bundle
        PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread)[.]so" "^ld-linux" LIBRARY DESTINATION lib)
install(FILES "${PROJECT_SOURCE_DIR}/README.md" DESTINATION .)
set_target_properties(gcompile PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
set(CPACK_GENERATOR TXZ)
set(CPACK_PACKAGE_FILE_NAME "gcompile-${PROJECT_VERSION}-x86_64")
set(CPACK_STRIP_FILES ON)
include(CPack)
