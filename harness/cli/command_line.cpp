#include "harness/cli/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/cli/print.hpp"
#include "harness/core/text.hpp"

namespace assay::cli {
namespace {

/// The values that options take, where they are words of a list: the parser keeps them out of sight.
std::map<const CLI::Option*, std::vector<std::string>>& lists() {
  static std::map<const CLI::Option*, std::vector<std::string>> lists;
  return lists;
}

/// Refuses what `fits` does not, with `wanted` in words.
CLI::Validator number(const std::function<bool(double)>& fits, const std::string& wanted) {
  return {[fits, wanted](std::string& text) {
            double value = 0;
            return CLI::detail::lexical_cast(text, value) && fits(value)
                       ? std::string()
                       : fmt::format("must be {}, not \"{}\"", wanted, text);
          },
          ""};
}

std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::string whole_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : whole_name(*app.get_parent()) + " " + app.get_name();
}

/// What is wrong with the command line, where, and what would be right.
std::string complaint(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  const std::string help = fmt::format("`{} --help` shows what there is", whole_name(*app));
  const std::vector<std::string> left = root.remaining(true);
  const std::vector<std::string> commands = names_of(*app);
  const auto word = std::ranges::find_if(left, [](const std::string& each) { return !each.starts_with("-"); });
  if (!commands.empty() && app->get_require_subcommand_min() > 0) {
    return word == left.end() ? fmt::format("say what to do: {}; {}", core::join(commands, ", "), help)
                              : fmt::format("there is no command \"{} {}\"; the nearest are: {}; {}", whole_name(*app),
                                            *word, core::join(core::nearest(*word, commands), ", "), help);
  }
  for (const std::string& each : left) {
    if (!each.starts_with("-")) continue;
    const std::string flag = each.substr(0, each.find('='));
    return fmt::format("{} has no option \"{}\"; the nearest are: {}; {}", whole_name(*app), flag,
                       core::join(core::nearest(flag, flags_of(*app), 3), ", "), help);
  }
  if (word != left.end()) {
    return fmt::format("{} does not know what to do with \"{}\"; {}", whole_name(*app), *word, help);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    // The first that is missing, with what it is.
    for (const CLI::Option* option : app->get_options([](const CLI::Option*) { return true; })) {
      if (!option->get_required() || option->count() > 0) continue;
      const bool by_place = option->get_lnames().empty() && option->get_snames().empty();
      std::string name = option->get_name();
      if (by_place) std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
      return fmt::format("{} needs {}: {}; {}", whole_name(*app), name, option->get_description(), help);
    }
  }
  return fmt::format("{}: {}; {}", whole_name(*app), error.what(), help);
}

OptionText text_of(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  text.by_place = text.names.empty();
  if (text.by_place) text.names.push_back(option.get_single_name());
  text.help = option.get_description();
  text.fallback = option.get_default_str();
  if (text.fallback == "[]") text.fallback.clear();
  text.takes_value = option.get_items_expected_max() > 0;
  text.required = option.get_required();
  text.many = option.get_items_expected_max() > 1;
  if (const auto words = lists().find(&option); words != lists().end()) text.words = words->second;
  return text;
}

CommandText text_of(const CLI::App& app) {
  CommandText text{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    text.options.push_back(text_of(*option));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) text.commands.push_back(text_of(*command));
  }
  return text;
}

void set_up(CLI::App& app, const Program& program, const std::function<void(Command)>& add) {
  app.require_subcommand(1);
  app.set_version_flag("--version", program.version);
  app.option_defaults()->always_capture_default();
  add(Command(&app));
}

}  // namespace

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::excludes(std::initializer_list<const char*> others) {
  for (const char* other : others) option_->excludes(std::string(other));
  return *this;
}

Option Option::needs(const std::string& other) {
  option_->needs(other);
  return *this;
}

Option Option::allow_extra_args(bool allowed) {
  option_->allow_extra_args(allowed);
  return *this;
}

Option Option::expected(int count) {
  option_->expected(count);
  return *this;
}

Option Option::check(Check check) {
  if (check == Check::positive) option_->check(number([](double value) { return value > 0; }, "more than 0"));
  if (check == Check::non_negative) option_->check(number([](double value) { return value >= 0; }, "0 or more"));
  return *this;
}

Option Option::check_range(double least, double most) {
  option_->check(number([least, most](double value) { return value >= least && value <= most; },
                        fmt::format("{:g} to {:g}", least, most)));
  return *this;
}

Option Option::check_one_of(const std::vector<std::string>& words) {
  lists()[option_] = words;
  option_->check({[words](std::string& text) {
                    return std::ranges::find(words, text) != words.end()
                               ? std::string()
                               : fmt::format("\"{}\" is none of {}", text,
                                             core::join(core::nearest(text, words, words.size()), ", "));
                  },
                  ""});
  return *this;
}

Command Command::add_subcommand(const std::string& name, const std::string& help) const {
  return Command(app_->add_subcommand(name, help));
}

void Command::require_subcommand() const { app_->require_subcommand(1); }

template <typename T>
Option Command::add_option(const std::string& name, T& target, const std::string& help) const {
  return Option(app_->add_option(name, target, help));
}

template Option Command::add_option(const std::string&, std::string&, const std::string&) const;
template Option Command::add_option(const std::string&, std::optional<std::string>&, const std::string&) const;
template Option Command::add_option(const std::string&, std::filesystem::path&, const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<std::string>&, const std::string&) const;
template Option Command::add_option(const std::string&, int&, const std::string&) const;
template Option Command::add_option(const std::string&, std::optional<int>&, const std::string&) const;
template Option Command::add_option(const std::string&, std::int64_t&, const std::string&) const;
template Option Command::add_option(const std::string&, std::uint64_t&, const std::string&) const;
template Option Command::add_option(const std::string&, std::optional<std::uint64_t>&, const std::string&) const;
template Option Command::add_option(const std::string&, double&, const std::string&) const;
template Option Command::add_option(const std::string&, std::optional<double>&, const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<double>&, const std::string&) const;

Option Command::add_flag(const std::string& name, bool& target, const std::string& help) const {
  return Option(app_->add_flag(name, target, help));
}

void Command::callback(std::function<void()> chosen) const { app_->callback(std::move(chosen)); }

std::size_t Command::count(const std::string& name) const { return app_->count(name); }

void Command::internal() const { app_->group(""); }

CommandText command_text(const Program& program, const std::function<void(Command)>& add) {
  CLI::App app{program.about, program.name};
  set_up(app, program, add);
  return text_of(app);
}

std::optional<int> parse_command_line(int count, char** arguments, const Program& program,
                                      const std::function<void(Command)>& add) {
  CLI::App app{program.about, program.name};
  set_up(app, program, add);
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    print(stderr, "assay: {}\n", complaint(app, error));
    return error.get_exit_code();
  }
  return std::nullopt;
}

}  // namespace assay::cli
