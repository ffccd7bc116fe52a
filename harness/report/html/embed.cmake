# Writes OUTPUT, a C++ file with the text of page.html, of STYLES and of SCRIPTS (names in FOLDER, joined with commas).
function(text_of names out)
  string(REPLACE "," ";" names "${names}")
  set(all "")
  foreach(name IN LISTS names)
    file(READ ${FOLDER}/${name} hex HEX)
    string(APPEND all "${hex}0a")
  endforeach()
  string(REGEX REPLACE "(................................)" "\\1\n" all "${all}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," all "${all}")
  set(${out} "${all}" PARENT_SCOPE)
endfunction()
text_of(page.html page)
text_of("${STYLES}" style)
text_of("${SCRIPTS}" script)
file(WRITE ${OUTPUT} "// Made by harness/report/html/embed.cmake.
#include \"harness/report/html/page_text.hpp\"
namespace assay::report {
namespace {
constexpr unsigned char kPage[] = {${page}};
constexpr unsigned char kStyle[] = {${style}};
constexpr unsigned char kScript[] = {${script}};
template <typename T>
std::string text(const T& bytes) {
  return {std::begin(bytes), std::end(bytes)};
}
}  // namespace
std::string page_frame() { return text(kPage); }
std::string page_style() { return text(kStyle); }
std::string page_script() { return text(kScript); }
}  // namespace assay::report
")
