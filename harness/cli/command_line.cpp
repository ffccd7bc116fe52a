#include "harness/cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

namespace assay::cli {

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
  if (check == Check::positive) option_->check(CLI::PositiveNumber);
  if (check == Check::non_negative) option_->check(CLI::NonNegativeNumber);
  return *this;
}

Option Option::check_range(double least, double most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option Option::check_one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
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

std::optional<int> parse_command_line(int count, char** arguments, const Program& program,
                                      const std::function<void(Command)>& add) {
  CLI::App app{program.about, program.name};
  app.require_subcommand(1);
  app.set_version_flag("--version", program.version);
  app.option_defaults()->always_capture_default();
  add(Command(&app));
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  return std::nullopt;
}

}  // namespace assay::cli
