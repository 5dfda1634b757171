//===- Error.h - the one error type of gcompile --------------------------===//
// Used by every part that does not see MLIR, and carried across their public
// functions in a Result<T>. Inside a library an Error may be thrown as an
// ErrorException; public functions catch it (see catchErrors).
#pragma once
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gcompile {

/// Whose turn it is to act. The numbers are the exit codes of the tools.
enum class ErrorCode {
  Mismatch = 1,        ///< outputs disagree with what was expected
  InvalidArgument = 2, ///< the command line or an input file is wrong
  Unsupported = 3,     ///< the model is right, gcompile cannot do it yet
  Device = 4,          ///< a device or a driver call failed
  Internal = 70,       ///< a bug of ours
};

/// A sentence for the user: what failed and where, then optional lines of
/// context ("input 'x' has shape [4, 6]"), then what to do about it.
struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;            ///< lower case, no full stop
  std::vector<std::string> notes; ///< context, one line each
  std::string help;               ///< what to do; may be empty

  /// "error: MESSAGE", the notes indented, and "help: HELP"; ends in a newline.
  std::string render() const;
};

/// Carries an Error inside one library; never crosses its public functions.
class ErrorException : public std::exception {
public:
  explicit ErrorException(Error error) : error(std::move(error)) {}
  const char *what() const noexcept override { return error.message.c_str(); }
  Error error;
};

/// Throws an ErrorException with the given parts.
[[noreturn]] void throwError(ErrorCode code, std::string message,
                             std::string help = {},
                             std::vector<std::string> notes = {});

/// Either a value or an Error.
template <typename T>
class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }
  T &value() & { return std::get<0>(state); }
  const T &value() const & { return std::get<0>(state); }
  T &&value() && { return std::get<0>(std::move(state)); }
  T &operator*() { return value(); }
  const T &operator*() const { return value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }
  const Error &error() const { return std::get<1>(state); }
  /// The value, or throws the error; for use inside a library.
  T valueOrThrow() && {
    if (!ok())
      throw ErrorException(error());
    return std::get<0>(std::move(state));
  }

private:
  std::variant<T, Error> state;
};

/// A Result without a value.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failure(std::in_place, std::move(error)) {}
  bool ok() const { return !failure.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error &error() const { return *failure; }
  void orThrow() const {
    if (!ok())
      throw ErrorException(error());
  }

private:
  std::optional<Error> failure;
};

/// Runs `body` (which returns T, a Result<T> or a Status) and turns a thrown
/// ErrorException into its Error and any other exception into an internal one.
template <typename ResultT, typename Body>
ResultT catchErrors(Body &&body) {
  try {
    return body();
  } catch (const ErrorException &e) {
    return e.error;
  } catch (const std::exception &e) {
    return Error{ErrorCode::Internal, e.what(), {}, {}};
  }
}

} // namespace gcompile
