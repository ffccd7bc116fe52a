// What GCC 12's libstdc++ has and GCC 11's (GLIBCXX_3.4.29) hasn't, as far as the program uses it: a program with its
// own copy runs with both. ASSAY_STATIC links it. tests/package/wheel.py fails when a build needs another symbol.

#include <condition_variable>

namespace std {

void condition_variable::wait(unique_lock<mutex>& lock) { _M_cond.wait(*lock.mutex()); }

}  // namespace std
