# cmake -DFILES=a;b -DOUTPUT=x.cpp -P EmbedText.cmake: C++ that defines `kEmbeddedFiles`, the names and texts
# of FILES, to be included where `EmbeddedFile` is declared.
set(code "constexpr EmbeddedFile kEmbeddedFiles[] = {\n")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" text)
  string(APPEND code "{\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
string(APPEND code "};\n")
file(WRITE "${OUTPUT}" "${code}")
