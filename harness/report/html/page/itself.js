"use strict";
function showItself(content) { content.append(el("h1", null, "Assay itself")); }
