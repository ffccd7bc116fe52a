#pragma once

#include <string>
#include <utility>
#include <variant>

namespace assay::core {

/// What kind of thing went wrong; the command line turns it into an exit code.
enum class ErrorKind {
  usage,          ///< a wrong option or argument (exit 2)
  invalid_model,  ///< a model that is malformed or breaks ONNX's rules (exit 2)
  invalid_case,   ///< a case or suite file that can't be used (exit 2)
  invalid_data,   ///< inputs or calibration data that do not fit (exit 2)
  unsupported,    ///< well formed, but outside what this part handles; says what
  io,             ///< a file or process can't be read, written or started
  internal,       ///< a broken assumption of Assay's own (exit 3)
};

/// An error as a value: what happened, and at which node or tensor where known.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;  ///< lower case, complete, says what to do next
  std::string node;     ///< node name (its first output when unnamed), or empty
  std::string op;       ///< operator type, or empty
  std::string tensor;   ///< tensor name, or empty
  friend bool operator==(const Error&, const Error&) = default;

  /// The same error with `context` in front of its message: "context: message".
  [[nodiscard]] Error within(const std::string& context) const {
    Error copy = *this;
    copy.message = context + ": " + message;
    return copy;
  }
};

[[nodiscard]] inline Error usage_error(std::string message) {
  return {ErrorKind::usage, std::move(message), {}, {}, {}};
}
[[nodiscard]] inline Error io_error(std::string message) { return {ErrorKind::io, std::move(message), {}, {}, {}}; }

/// Either a value or an Error. Test with `if (!r)`, then `return r.error();`.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// The value; only after ok().
  [[nodiscard]] T& value() & { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& value() const& { return *std::get_if<0>(&state_); }
  [[nodiscard]] T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T&& operator*() && { return std::move(*this).value(); }
  [[nodiscard]] T* operator->() { return &value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }

  /// The error; only after !ok().
  [[nodiscard]] const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

struct Nothing {};
/// Success without a value.
using Status = Result<Nothing>;
[[nodiscard]] inline Status success() { return Nothing{}; }

}  // namespace assay::core
