#include "StackTrace.h"

#include <charconv>
#include <optional>

namespace gcompile::frontend {
namespace {

std::string_view trim(std::string_view text) {
  constexpr const char *space = " \t\r";
  size_t begin = text.find_first_not_of(space);
  if (begin == text.npos)
    return {};
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

/// Parses `File "a.py", line 7, in forward`.
std::optional<SourceLocation> parseFrame(std::string_view line) {
  constexpr std::string_view file = "File \"", number = "\", line ",
                             function = ", in ";
  if (!line.starts_with(file))
    return std::nullopt;
  line.remove_prefix(file.size());
  size_t fileEnd = line.find(number);
  if (fileEnd == line.npos)
    return std::nullopt;
  SourceLocation location;
  location.file = line.substr(0, fileEnd);
  line.remove_prefix(fileEnd + number.size());
  auto [end, error] = std::from_chars(line.begin(), line.end(), location.line);
  if (error != std::errc())
    return std::nullopt;
  line.remove_prefix(static_cast<size_t>(end - line.begin()));
  if (line.starts_with(function))
    location.function = line.substr(function.size());
  return location;
}

/// PyTorch's own files, and code that it generates.
bool isLibraryFile(std::string_view file) {
  return file.starts_with("torch/") || file.starts_with('<') ||
         file.find("-packages/torch/") != file.npos;
}

} // namespace

SourceLocation parseStackTrace(std::string_view trace) {
  SourceLocation user, innermost;
  SourceLocation *current = nullptr;
  while (!trace.empty()) {
    size_t end = std::min(trace.find('\n'), trace.size());
    std::string_view line = trim(trace.substr(0, end));
    trace.remove_prefix(std::min(end + 1, trace.size()));
    if (std::optional<SourceLocation> frame = parseFrame(line)) {
      current = isLibraryFile(frame->file) ? &innermost : &user;
      *current = std::move(*frame);
    } else if (current && current->code.empty()) {
      current->code = line;
    }
  }
  return user.file.empty() ? innermost : user;
}

std::string innermostModule(std::string_view moduleStack) {
  // "key,path,class;key,path,class"; only classes may have commas themselves.
  size_t last = moduleStack.rfind(';');
  if (last != moduleStack.npos)
    moduleStack.remove_prefix(last + 1);
  size_t begin = moduleStack.find(',');
  if (begin == moduleStack.npos ||
      moduleStack.starts_with("_empty_nn_module_stack"))
    return {};
  std::string_view path = moduleStack.substr(begin + 1);
  return std::string(path.substr(0, path.find(',')));
}

} // namespace gcompile::frontend
