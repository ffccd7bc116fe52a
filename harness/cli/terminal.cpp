#include "harness/cli/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace assay::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it in this process
  return value == nullptr ? "" : value;
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

}  // namespace

Terminal Terminal::of(std::FILE* stream) {
  Terminal terminal;
  const int descriptor = fileno(stream);
  const std::string kind = environment("TERM");
  if (isatty(descriptor) != 1) return terminal;
  struct winsize size {};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0) terminal.width = size.ws_col;  // NOLINT(*-vararg): the system's form
  terminal.live = !kind.empty() && kind != "dumb";
  terminal.colour = terminal.live && environment("NO_COLOR").empty();
  return terminal;
}

std::string Terminal::cut(const std::string& line) const {
  std::size_t columns = 0, fits = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!begins_character(line[i])) continue;
    if (columns + 1 == width) fits = i;  // where "…" would stand
    ++columns;
  }
  return width == 0 || columns <= width ? line : line.substr(0, fits) + "…";
}

Painted Terminal::painted(const std::string& text, std::optional<judge::Gate> gate) const {
  if (!colour || !gate || *gate == judge::Gate::neutral) return {core::visible_text(text)};
  const char* code = *gate == judge::Gate::red ? "31" : *gate == judge::Gate::amber ? "33" : "32";
  return {fmt::format("\x1b[{}m{}\x1b[0m", code, core::visible_text(text))};
}

Painted Terminal::bold(const std::string& text) const {
  const std::string shown = core::visible_text(text);
  return {colour ? "\x1b[1m" + shown + "\x1b[0m" : shown};
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(seconds, 0.0)));
  const std::int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

void Progress::step(std::size_t done, std::size_t planned, std::string_view name) {
  if (!terminal_.live) return;
  const Clock::time_point now = Clock::now();
  if (first_) before_ = done - 1;
  first_ = false;
  if (now - drawn_ < std::chrono::milliseconds(100) && done < planned) return;
  drawn_ = now;
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  const double rate = seconds > 0 ? static_cast<double>(done - before_) / seconds : 0;
  const std::string left = rate > 0 ? clock_text(static_cast<double>(planned - done) / rate) : "?";
  const std::string line =
      fmt::format("[{}/{}] {:.{}f}/s, {} left  {}", done, planned, rate, rate < 10 ? 1 : 0, left, name);
  print(stderr, "\r\x1b[K{}", terminal_.cut(core::visible_line(line)));
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (shown_) print(stderr, "\r\x1b[K");
  shown_ = false;
}

}  // namespace assay::cli
