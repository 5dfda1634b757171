#include "gcompile/base/Error.h"

namespace gcompile {

std::string Error::render() const {
  std::string text = "error: " + message + "\n";
  for (const std::string &note : notes)
    text += "  " + note + "\n";
  if (!help.empty())
    text += "  help: " + help + "\n";
  return text;
}

void throwError(ErrorCode code, std::string message, std::string help,
                std::vector<std::string> notes) {
  throw ErrorException(
      Error{code, std::move(message), std::move(notes), std::move(help)});
}

} // namespace gcompile
