#include <fmt/format.h>

#include "harness/cli/completion.hpp"
#include "harness/core/text.hpp"

namespace assay::cli {
namespace {

/// Text as roff prints it: a backslash, a hyphen that is one, and no command at a line's begin.
std::string roff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c == '\n' ? ' ' : c;
    }
  }
  return escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" + escaped : escaped;
}

std::string placeholder(const OptionText& option) {
  return option.words.empty() ? (option.many && !option.by_place ? "VALUE…" : "VALUE") : core::join(option.words, "|");
}

std::string option_page(const OptionText& option) {
  std::string heading = "\\fB" + roff(core::join(option.names, ", ")) + "\\fR";
  if (!option.by_place && option.takes_value) heading += " " + roff(placeholder(option));
  std::string text = roff(option.help);
  if (option.required) text += " (required)";
  if (!option.fallback.empty() && option.takes_value) text += roff(" [" + option.fallback + "]");
  return fmt::format(".TP\n{}\n{}\n", heading, text);
}

std::string command_page(const CommandText& command, const std::string& name) {
  std::string usage = fmt::format("\\fB{}\\fR", roff(name));
  for (const OptionText& option : command.options) {
    if (option.by_place) usage += " " + roff(option.required ? option.names.front() : "[" + option.names.front() + "]");
  }
  std::string page = fmt::format(".SS {}\n{} [options]\n.PP\n{}\n", roff(name), usage, roff(command.help + "."));
  for (const OptionText& option : command.options) page += option_page(option);
  for (const CommandText& inner : command.commands) page += command_page(inner, name + " " + inner.name);
  return page;
}

constexpr std::string_view kRest = R"roff(.SH EXIT STATUS
.TP
0
Everything is as expected.
.TP
1
A verdict is red.
.TP
2
The command line is wrong, or a case or file can not be used.
.TP
3
Assay itself failed.
.TP
4
Nothing is red, but a verdict drifted from its accepted anchor.
.TP
5
Nothing was selected, or verdicts are missing.
.TP
6
An expected failure was not met.
.TP
77
The only verdict is \fIunsupported\fR.
.SH ENVIRONMENT
.TP
ASSAY_HOME
The folder that holds \fIcases\fR, \fIsuites\fR and \fIconverters\fR; left out: \fIshare/assay\fR of an installed program, else the source tree that it was built from.
.TP
ASSAY_CACHE
The folder of fetched models; left out: \fI.assay/models\fR below ASSAY_HOME or the source tree, of an installed program below the working folder.
.TP
ASSAY_VENVS
The folder of installed converters; left out: \fI.assay/venvs\fR, found like \fI.assay/models\fR.
.TP
ASSAY_COMMAND
How the commands that are shown begin, where that isn't the path of the program.
.TP
NO_COLOR
Set to anything: no colours.
.SH FILES
.TP
\&.assay/history.db
The results database below the working folder, where \fB\-\-db\fR names no other.
)roff";

}  // namespace

std::string manual_page(const CommandText& program, const std::string& version) {
  std::string page = fmt::format(".TH ASSAY 1 \"\" \"{}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", roff(version),
                                 roff(program.name), roff(program.help));
  page += ".SH SYNOPSIS\n\\fBassay\\fR COMMAND [options]\n.SH OPTIONS\n";
  for (const OptionText& option : program.options) page += option_page(option);
  page += ".SH COMMANDS\n";
  for (const CommandText& command : program.commands) page += command_page(command, command.name);
  return page + std::string(kRest);
}

}  // namespace assay::cli
