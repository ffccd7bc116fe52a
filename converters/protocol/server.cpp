#include "converters/protocol/server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "converters/protocol/messages.hpp"

namespace assay::protocol {
namespace {

/// What a shell reports of a program killed for its memory; the client reads it as `oom`.
constexpr int kOutOfMemoryStatus = 137;
constexpr int kBrokenPipeStatus = 1;

/// Lines of a descriptor.
class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}
  /// The next line without its newline; nothing at the end of input or for a line over the limit.
  std::optional<std::string> next() {
    std::size_t searched = 0;
    while (true) {
      if (const auto end = buffer_.find('\n', searched); end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return line;
      }
      searched = buffer_.size();
      if (buffer_.size() > kLineLimitBytes) return std::nullopt;
      std::array<char, 65536> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by read
      const ssize_t count = ::read(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return std::nullopt;
      buffer_.append(bytes.data(), static_cast<std::size_t>(count));
    }
  }

 private:
  int fd_;
  std::string buffer_;
};

bool write_line(int fd, std::string line) {
  line.push_back('\n');
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t count = ::write(fd, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::string answer(converters::Converter& converter, const Request& request) {
  if (request.verb == Verb::execute) return write_reply(request.id, converter.execute(request.execute));
  const auto description = converter.describe();
  if (!description) return write_error(request.id, description.error().message);
  if (request.verb == Verb::describe) return write_description(request.id, *description);
  return write_reply(request.id, converter.convert(request.convert), description->supports);
}

/// The answer to one line; nothing after quit.
std::optional<std::string> answer_line(converters::Converter& converter, std::string_view line) {
  const auto request = read_request(line);
  if (!request) return write_error(read_id(line).value_or(0), request.error().message);
  if (request->verb == Verb::quit) return std::nullopt;
  try {
    return answer(converter, *request);
  } catch (const std::bad_alloc&) {
    // A heap that has run out can't be trusted with another request.
    std::fputs("out of memory\n", stderr);
    std::_Exit(kOutOfMemoryStatus);
  } catch (const std::exception& exception) {
    return write_error(request->id, fmt::format("exception: {}", exception.what()));
  }
}

}  // namespace

int serve(converters::Converter& converter) {
  constexpr int kFirstPrivate = 3;
  const int in = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, kFirstPrivate);
  const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kFirstPrivate);
  if (in < 0 || out < 0) {
    std::fputs("protocol 1 needs standard input and output\n", stderr);
    return kBrokenPipeStatus;
  }
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  if (const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC); nothing >= 0) {
    ::dup2(nothing, STDIN_FILENO);
    ::close(nothing);
  }
  int status = 0;
  LineReader lines(in);
  while (const auto line = lines.next()) {
    auto reply = answer_line(converter, *line);
    if (!reply) break;
    if (reply->size() > kLineLimitBytes) {
      reply =
          write_error(read_id(*line).value_or(0), fmt::format("the answer is longer than {} bytes", kLineLimitBytes));
    }
    if (!write_line(out, std::move(*reply))) {
      status = kBrokenPipeStatus;
      break;
    }
  }
  ::close(in);
  ::close(out);
  return status;
}

}  // namespace assay::protocol
