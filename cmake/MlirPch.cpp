// Exists to compile the shared precompiled header; see gcompile_use_mlir_pch().
