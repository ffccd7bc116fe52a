#pragma once

namespace assay::core {

/// Lets this process keep the memory of tensors that it frees for the next ones. By default the C library hands it back
/// to the system after every large one, and the pages that come back are cleared anew. Where the C library offers no
/// such setting, nothing changes. Before the first thread starts.
void keep_freed_memory();

}  // namespace assay::core
