#!/usr/bin/env python3
"""Measures what correct variants do and writes harness/judge/evidence/measured_limits.hpp.

Runs the suite `default` with every correct variant of the embedded converter under every artifact kind, and reads from
the results database how far the correct ones fall below their predicted SQNR, and how much of INT8's noise they carry.
The limit of a measure is a quantile of its distribution at the false-alarm probability that a run's measured gates
have: share * alpha / (judgements a run), which no sample reaches, so that the tail is extrapolated. Beyond the k-th
largest loss a tail in dB is taken as exponential (a power law of the powers), with the mean excess of those k:
limit = loss_k + mean_excess * ln(k / (n * p)).

    python3 bench/measure_limits.py --program build/assay --home .        # then build again, and run the tests
"""

import argparse
import collections
import math
import sqlite3
import subprocess
import tempfile
from pathlib import Path

KINDS = ["embedded", "embedded:scales", "embedded:opaque"]
VARIANTS = ["", "round_half_away", "multiplier_31", "reciprocal_scale", "float_multiply", "double_rounding"]
ALPHA = 1e-6  # kFalseAlarmRate
SHARE = 0.25 / 6  # kMeasuredShare, divided among the six gates below
TAIL = 50  # losses that the tail is fitted to

MEASURES = [  # constant, metric, what it is
    ("kPredictionLossDb", "prediction_deviation_db", "Largest loss against the predicted SQNR, in dB, of a tensor."),
    ("kChannelLossDb", "channel_deviation_db", "The same of an output channel."),
    ("kWeightLossDb", "weight_deviation_db", "The same of a weight's channel, the layer's own output left in float."),
    ("kDrawnLossDb", "drawn_deviation_db", "Largest loss beyond what draws of an output's roundings may leave, in dB."),
    ("kSettledLossDb", "settled_deviation_db",
     "Noise of a model that holds all its quantizers beside what these, drawn at random, may make: dB that it adds."),
]
# The metric beside it that says that it gates; else the usual.
GATES = {"drawn_deviation_db": "prediction_limit_db", "settled_deviation_db": "settled_deviation_db"}


def run(program: Path, home: Path, converter: str, variant: str, database: Path) -> int:
    command = [str(program), "run", "default", "--quiet", "--converter", converter, "--db", str(database)]
    if variant:
        command += ["--variant", variant]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command, cwd=folder, env={"ASSAY_HOME": str(home), "PATH": "/usr/bin:/bin"}, check=False,
                       stdout=subprocess.DEVNULL)
    with sqlite3.connect(database) as db:
        return db.execute("select count(*) from result").fetchone()[0]


def read(database: Path) -> dict[str, list[float]]:
    """Values of each measure where it gates; noise ratios as decibels of what is lacking."""
    rows = collections.defaultdict(dict)
    with sqlite3.connect(database) as db:
        for result, tensor, data_set, name, value in db.execute(
                "select result_id, tensor, data_set, name, value from metric"):
            rows[result, tensor, data_set][name] = value
    values = collections.defaultdict(list)
    for metrics in rows.values():
        for _, metric, _ in MEASURES:
            if metric in metrics and GATES.get(metric, "prediction_gates") in metrics:
                if math.isfinite(metrics[metric]):  # without any rounding to draw there is nothing to compare
                    values[metric].append(-metrics[metric])
        if "noise_ratio" in metrics:
            values["noise_ratio"].append(-10 * math.log10(metrics["noise_ratio"]))
    return values


def limit(losses: list[float], probability: float) -> tuple[float, float, float]:
    """The extrapolated quantile, the largest loss seen, the mean excess."""
    ordered = sorted(losses, reverse=True)
    k = min(TAIL, len(ordered) // 10)
    threshold = ordered[k]
    excess = sum(value - threshold for value in ordered[:k]) / k
    return threshold + excess * math.log(k / (len(ordered) * probability)), ordered[0], excess


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--home", type=Path, default=Path("."))
    parser.add_argument("--keep", type=Path, help="folder for the databases, read again when they exist")
    arguments = parser.parse_args()
    values = collections.defaultdict(list)
    conversions = runs = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for converter in KINDS:
            for variant in VARIANTS:
                database = folder / f"{converter.replace(':', '_')}-{variant or 'plain'}.db"
                if not database.exists():
                    run(arguments.program.resolve(), arguments.home.resolve(), converter, variant, database)
                with sqlite3.connect(database) as db:
                    conversions += db.execute("select count(*) from result").fetchone()[0]
                runs += 1
                for metric, losses in read(database).items():
                    values[metric] += losses
    lines = []
    constants = []
    for constant, metric, title in [*MEASURES, ("kFloatNoiseRatio", "noise_ratio", "")]:
        losses = values[metric]
        probability = SHARE * ALPHA / (len(losses) / runs)
        bound, worst, excess = limit(losses, probability)
        bound = max(bound, 0.0)
        lines.append(f"// {metric}: {len(losses)} judgements, worst {worst:.4g} dB, mean excess {excess:.3g} dB, "
                     f"probability {probability:.2g} each.")
        if constant == "kFloatNoiseRatio":
            constants += ["/// Below this share of the noise that INT8 must leave, outputs were computed in float.",
                          f"inline constexpr double {constant} = {10 ** (-bound / 10):.3g};"]
        else:
            constants += [f"/// {title}", f"inline constexpr double {constant} = {bound:.3g};"]
    text = "\n".join([
        "#pragma once", "", "namespace assay::judge {", "",
        "// Written by bench/measure_limits.py, which says how; do not edit, run it again.",
        f"// {conversions} verdicts on correct variants, {runs} runs of suite default.", *lines, "", *constants, "",
        "}  // namespace assay::judge", ""])
    (arguments.home / "harness/judge/evidence/measured_limits.hpp").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
