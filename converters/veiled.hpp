#pragma once

#include <memory>
#include <string_view>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"

namespace assay::converters {

// How much of a converter's work its judge may see (docs/protocol.md): "qdq" everything, "scales" its table of
// parameters and its precision map, "opaque" outputs alone. The work itself stays the same, so that one converter
// shows what each oracle layer is worth without the others.

/// The kind that a user calls `word`. Errors   usage, where it is none of the three, listing them.
[[nodiscard]] core::Result<ArtifactKind> artifact_kind(std::string_view word);

/// Changes what the converter declares: artifact kind and `reports`. "qdq" changes nothing.
void veil(Description& description, ArtifactKind kind);
/// Takes what `kind` hides out of a reply. The artifact's path stays: the executor needs it, and the harness reads the
/// file for kind "qdq" only. A cache stays for reuse.
void veil(ConvertReply& reply, ArtifactKind kind);

/// `inner` behind that veil, under the name "NAME:KIND". "qdq" gives `inner` back.
[[nodiscard]] std::unique_ptr<Converter> make_veiled(std::unique_ptr<Converter> inner, ArtifactKind kind);

}  // namespace assay::converters
