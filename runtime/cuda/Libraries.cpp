#include "gcompile/cuda/Libraries.h"

#include "Cudnn.h"

namespace gcompile::cuda {
namespace {

/// The error on one line.
std::string describe(const Error &error) {
  std::string text = error.message;
  for (const std::string &note : error.notes)
    text += " (" + note + ")";
  if (!error.help.empty())
    text += ": " + error.help;
  return text;
}

/// A library that is opened once, whether that succeeds or not.
template <typename Library>
class Lazy {
public:
  Library *get(const DevicePointer &device) {
    if (!isTried) {
      isTried = true;
      Result<std::unique_ptr<Library>> opened = Library::open(device);
      if (opened.ok())
        library = std::move(*opened);
      else
        text = describe(opened.error());
    }
    return library.get();
  }
  const std::string &problem() const { return text; }

private:
  bool isTried = false;
  std::unique_ptr<Library> library;
  std::string text;
};

} // namespace

struct Libraries::Impl {
  DevicePointer device;
  Lazy<Cudnn> cudnn;
};

Libraries::Libraries(DevicePointer device)
    : impl(std::make_unique<Impl>(std::move(device))) {}
Libraries::~Libraries() = default;

Cudnn *Libraries::cudnn() { return impl->cudnn.get(impl->device); }

std::string Libraries::problems() const { return impl->cudnn.problem(); }

} // namespace gcompile::cuda
