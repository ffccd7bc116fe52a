#include "harness/cli/completion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/core/text.hpp"

namespace assay::cli {
namespace {

/// In single quotes, as all three shells take them.
std::string quoted(const std::string& text, const std::string& inner) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? inner : std::string(1, c);
  return quoted + "'";
}

bool is_kind(const std::string& values) {
  return std::set<std::string>{"cases", "converters", "faults", "variants", "suites"}.contains(values);
}

std::string words_of(const std::vector<CommandText>& commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const CommandText& command : commands) names.push_back(command.name);
  return core::join(names, " ");
}

std::string flags_of(const CommandText& command) {
  std::vector<std::string> flags;
  for (const OptionText& option : command.options) {
    if (!option.by_place) flags.insert(flags.end(), option.names.begin(), option.names.end());
  }
  return core::join(flags, " ");
}

/// What the words by their place may be.
std::string place_values(const CommandText& command) {
  for (const OptionText& option : command.options) {
    if (option.by_place) return values_of(option);
  }
  return {};
}

/// Every command with its whole name: "run", "converters install".
std::map<std::string, const CommandText*> all_of(const CommandText& program) {
  std::map<std::string, const CommandText*> all;
  for (const CommandText& command : program.commands) {
    all.emplace(command.name, &command);
    for (const CommandText& inner : command.commands) all.emplace(command.name + " " + inner.name, &inner);
  }
  return all;
}

std::string bash_script(const CommandText& program) {
  std::string script = R"sh(# Completion of assay for bash: source <(assay completion bash)
_assay() {
  local line=${COMP_LINE:0:COMP_POINT} current program command= inner= previous= word values= flags= matches
  # The shell splits words at "=" and ":", which names of cases have; blanks alone end a word here.
  current=${line##*[[:space:]]}
  local -a words
  read -r -a words <<<"${line%"$current"}"
  program=${words[0]}
  for word in "${words[@]:1}"; do
    if [[ $word != -* ]]; then
      if [[ -z $command ]]; then command=$word
      elif [[ $command == converters && -z $inner ]]; then inner=$word; fi
    fi
    previous=$word
  done
  [[ -n $inner ]] && command="$command $inner"
  case $command in
)sh";
  script +=
      fmt::format("    '') flags={} ;;\n", quoted(words_of(program.commands) + " " + flags_of(program), R"('\'')"));
  for (const auto& [name, command] : all_of(program)) {
    script += fmt::format("    {}) flags={} values={} ;;\n", quoted(name, ""), quoted(flags_of(*command), ""),
                          quoted(command->commands.empty() ? place_values(*command) : words_of(command->commands), ""));
  }
  script += "  esac\n  case \"$command $previous\" in\n";
  for (const auto& [name, command] : all_of(program)) {
    for (const OptionText& option : command->options) {
      if (option.by_place || !option.takes_value) continue;
      std::vector<std::string> patterns;
      for (const std::string& flag : option.names) patterns.push_back(quoted(name + " " + flag, ""));
      script += fmt::format("    {}) values={} flags= ;;\n", core::join(patterns, "|"), quoted(values_of(option), ""));
    }
  }
  return script + R"sh(  esac
  case $values in
    files) values= ;;
    cases|converters|faults|variants|suites) values=$("$program" words "$values" 2>/dev/null) ;;
  esac
  if [[ $current == -* || -z $command ]]; then values=$flags; fi
  mapfile -t matches < <(compgen -W "$values" -- "$current")
  # What the shell took for words of their own is in front of the cursor already.
  local kept=${current%"${current##*[=:@]}"}
  COMPREPLY=("${matches[@]#"$kept"}")
}
complete -o default -F _assay assay ./assay
)sh";
}

std::string zsh_value(const OptionText& option) {
  const std::string values = values_of(option);
  if (values == "files") return "_files";
  if (is_kind(values)) return "_assay_words " + values;
  return values.empty() ? " " : "(" + values + ")";
}

/// One argument of zsh's _arguments.
std::string zsh_argument(const OptionText& option) {
  std::string help;
  for (const char c : option.help) help += c == '[' || c == ']' || c == ':' ? ' ' : c;
  if (option.by_place) {
    return quoted(fmt::format("{}:{}:{}", option.many ? "*" : "", option.names.front(), zsh_value(option)), R"('\'')");
  }
  std::vector<std::string> specs;
  for (const std::string& name : option.names) {
    specs.push_back(
        quoted(fmt::format("*{}[{}]{}", name, help, option.takes_value ? ":value:" + zsh_value(option) : std::string()),
               R"('\'')"));
  }
  return core::join(specs, " ");
}

std::string zsh_list(const std::vector<CommandText>& commands) {
  std::string list;
  for (const CommandText& command : commands) {
    std::string help;
    for (const char c : command.help) help += c == ':' ? ' ' : c;
    list += fmt::format("    {}\n", quoted(command.name + ":" + help, R"('\'')"));
  }
  return list;
}

std::string zsh_case(const CommandText& command) {
  std::string arguments;
  for (const OptionText& option : command.options) arguments += " \\\n        " + zsh_argument(option);
  return fmt::format("    {})\n      _arguments{}\n      ;;\n", command.name, arguments);
}

std::string zsh_script(const CommandText& program) {
  std::string script = R"sh(#compdef assay
# Completion of assay for zsh: source <(assay completion zsh), or this text as the file _assay in a folder of $fpath
_assay_words() {
  # _arguments puts compadd's options before the kind of words.
  local -a found
  found=(${(f)"$(${_assay_program} words $@[-1] 2>/dev/null)"})
  compadd "${@[1,-2]}" -a found
}
_assay() {
  local _assay_program=$words[1]
  local -a commands
  commands=(
)sh";
  script += zsh_list(program.commands);
  script += "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    _arguments ";
  for (const OptionText& option : program.options) script += zsh_argument(option) + " ";
  script += "\n    return\n  fi\n  shift words\n  (( CURRENT-- ))\n  case $words[1] in\n";
  for (const CommandText& command : program.commands) {
    if (command.commands.empty()) {
      script += zsh_case(command);
      continue;
    }
    script += fmt::format(
        "    {})\n      commands=(\n{}      )\n      if (( CURRENT == 2 )); then _describe command "
        "commands; return; fi\n      shift words\n      (( CURRENT-- ))\n      case $words[1] in\n",
        command.name, zsh_list(command.commands));
    for (const CommandText& inner : command.commands) script += zsh_case(inner);
    script += "      esac\n      ;;\n";
  }
  return script + R"sh(  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _assay "$@"; else compdef _assay assay; fi
)sh";
}

std::string fish_values(const std::string& values) {
  if (values == "files") return " -F";
  if (is_kind(values)) return fmt::format(" -a '(eval (commandline -opc)[1] words {} 2>/dev/null)'", values);
  return values.empty() ? "" : " -a " + quoted(values, R"(\')");
}

std::string fish_option(const std::string& where, const OptionText& option) {
  std::string line = "complete -c assay -n " + quoted(where, R"(\')");
  for (const std::string& name : option.names) {
    if (!option.by_place) line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (option.takes_value && !option.by_place) line += values_of(option) == "files" ? " -r" : " -x";
  line += option.takes_value ? fish_values(values_of(option)) : "";
  return line + (option.by_place ? "" : " -d " + quoted(option.help, R"(\')")) + "\n";
}

std::string fish_script(const CommandText& program) {
  std::string script = "# Completion of assay for fish: assay completion fish | source\ncomplete -c assay -f\n";
  for (const OptionText& option : program.options) script += fish_option("__fish_use_subcommand", option);
  for (const CommandText& command : program.commands) {
    script += fmt::format("complete -c assay -n __fish_use_subcommand -a {} -d {}\n", command.name,
                          quoted(command.help, R"(\')"));
    const std::string seen = "__fish_seen_subcommand_from " + command.name;
    for (const OptionText& option : command.options) script += fish_option(seen, option);
    for (const CommandText& inner : command.commands) {
      script += fmt::format("complete -c assay -n {} -a {} -d {}\n", quoted(seen, ""), inner.name,
                            quoted(inner.help, R"(\')"));
      const std::string both = fmt::format("{}; and __fish_seen_subcommand_from {}", seen, inner.name);
      for (const OptionText& option : inner.options) script += fish_option(both, option);
    }
  }
  return script;
}

}  // namespace

const std::vector<std::string>& shells() {
  static const std::vector<std::string> all{"bash", "zsh", "fish"};
  return all;
}

std::string values_of(const OptionText& option) {
  static const std::map<std::string, std::string> kByName{{"--converter", "converters"},
                                                          {"--execute-with", "converters"},
                                                          {"--with", "converters"},
                                                          {"--without", "converters"},
                                                          {"--made-by", "converters"},
                                                          {"--artifacts", "converters"},
                                                          {"--fault", "faults"},
                                                          {"--variant", "variants"},
                                                          {"--suite", "suites"},
                                                          {"suites", "suites"},
                                                          {"selection", "cases"},
                                                          {"case", "cases"},
                                                          {"what", "cases"},
                                                          {"pattern", "cases"},
                                                          {"--artifact", "files"},
                                                          {"--cache", "files"},
                                                          {"--calibration", "files"},
                                                          {"--db", "files"},
                                                          {"--dump", "files"},
                                                          {"--float", "files"},
                                                          {"--folder", "files"},
                                                          {"--inputs", "files"},
                                                          {"--into", "files"},
                                                          {"--junit", "files"},
                                                          {"--html", "files"},
                                                          {"--keep", "files"},
                                                          {"--load-inputs", "files"},
                                                          {"--markdown", "files"},
                                                          {"--model", "files"},
                                                          {"--output", "files"},
                                                          {"--sarif", "files"},
                                                          {"--wrong-artifact", "files"}};
  if (!option.words.empty()) return core::join(option.words, " ");
  for (const std::string& name : option.names) {
    if (const auto found = kByName.find(name); found != kByName.end()) return found->second;
  }
  return option.by_place ? "files" : "";
}

std::string completion_script(const CommandText& program, const std::string& shell) {
  if (shell == "bash") return bash_script(program);
  return shell == "zsh" ? zsh_script(program) : fish_script(program);
}

}  // namespace assay::cli
