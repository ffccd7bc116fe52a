#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace assay::cli {

/// What a value may be, beside its type.
enum class Check { none, positive, non_negative };

/// One option, flag or word of a command. A handle: copies stand for the same option.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option required();
  /// Not together with these.
  Option excludes(std::initializer_list<const char*> others);
  Option needs(const std::string& other);
  /// Of a list: false: one value each time that it is named.
  Option allow_extra_args(bool allowed);
  /// That many values.
  Option expected(int count);
  Option check(Check check);
  Option check_range(double least, double most);
  Option check_one_of(const std::vector<std::string>& words);

 private:
  CLI::Option* option_;
};

/// A command with its options. The one place that includes the library that parses the command line: its headers and
/// templates cost more to compile than all commands together. A handle, as Option is; it ends
/// with parse_command_line(), before the chosen command's action runs.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  [[nodiscard]] Command add_subcommand(const std::string& name, const std::string& help) const;
  /// One of its subcommands must be named.
  void require_subcommand() const;
  /// `T` is a string, a number, a vector or an optional of one (command_line.cpp lists them). `--name`, or a name
  /// without dashes for a word by its place. Help shows the value that `target` has.
  template <typename T>
  Option add_option(const std::string& name, T& target, const std::string& help) const;
  Option add_flag(const std::string& name, bool& target, const std::string& help) const;
  void callback(std::function<void()> chosen) const;
  /// Help, completions and the manual page leave the command out.
  void internal() const;
  /// How often the command line names this option.
  [[nodiscard]] std::size_t count(const std::string& name) const;

 private:
  CLI::App* app_;
};

struct Program {
  std::string name, about, version;
};

/// An option as help shows it.
struct OptionText {
  std::vector<std::string> names;  ///< "-q", "--quiet"; of a word by its place, its name alone
  std::string help, fallback;      ///< what it is, and its value where it is left out
  std::vector<std::string> words;  ///< the only values that it takes; empty: any
  bool by_place = false;           ///< a word without dashes
  bool takes_value = false, required = false, many = false;
};
/// A command, and the program itself, with all that the command line knows of it.
struct CommandText {
  std::string name, help;
  std::vector<OptionText> options;    ///< in the order in which help lists them
  std::vector<CommandText> commands;  ///< likewise; internal ones are left out
};
/// What `add` adds to `program`. Completions and the manual page are made of it.
[[nodiscard]] CommandText command_text(const Program& program, const std::function<void(Command)>& add);

/// Reads the command line with the commands that `add` adds, and calls back the one that is chosen. Nothing where it
/// is right; else 0 after help or version, which are printed, or another number after a complaint, likewise: of a
/// command or option that does not exist it names the nearest that do.
[[nodiscard]] std::optional<int> parse_command_line(int count, char** arguments, const Program& program,
                                                    const std::function<void(Command)>& add);

}  // namespace assay::cli
