//===- main.cpp - gcompile: compile, run once, report ---------------------===//
#include "Options.h"
#include "Session.h"

#include <fmt/format.h>

int main(int argc, char **argv) {
  int exitCode = 0;
  auto options = gcompile::tool::parseCommandLine(argc, argv, exitCode);
  if (!options)
    return exitCode;
  auto status = gcompile::catchErrors<gcompile::Status>(
      [&] { return gcompile::tool::runSession(*options); });
  if (status.ok())
    return 0;
  fmt::print(stderr, "{}", status.error().render());
  return static_cast<int>(status.error().code);
}
