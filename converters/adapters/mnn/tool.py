"""Runs one of MNN's tools: tool.py mnnconvert|mnnquant ARGUMENT …

A process of its own for each call: mnnquant leaves callbacks behind that speak of memory it has freed, so that
whatever MNN runs next in the same process may crash or go wrong.
"""

import sys

import _tools

getattr(_tools, sys.argv[1])([sys.argv[1], *sys.argv[2:]])
