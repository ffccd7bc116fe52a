#!/bin/sh
# A job of CI: runs Assay, writes reports, and says what the exit code means.
#
#     assay_job.sh WORDS…          words of `assay run`: a suite, --converter-cmd …
#
# Environment, all of it optional:
#     ASSAY_RUN      the words, quoted as in a shell, where none are given
#     ASSAY_DIST     the folder with Assay's wheel; it is installed from there, and from nowhere else
#     ASSAY          the program (assay)
#     ASSAY_OUT      the folder for the reports and for the database, which the next job should find again (assay-out)
#     ASSAY_AGAINST  what changes.md compares the run with: anchor (the default), or NAME@VERSION of a converter
#     ASSAY_MIN_JUDGED  how many verdicts have to be judged (1), so that no job is green that judged nothing
#     ASSAY_ACCEPT   a reason; where nothing is red, the run becomes the anchor, and drift from the old one is accepted
set -u
assay=${ASSAY:-assay}
out=${ASSAY_OUT:-assay-out}
db=$out/history.db

[ $# -gt 0 ] || eval "set -- ${ASSAY_RUN:-}"
mkdir -p "$out" || exit 3
rm -f "$out/report.html" "$out/junit.xml" "$out/assay.sarif" "$out/changes.md"
if [ -n "${ASSAY_DIST:-}" ]; then
  python3 -m pip install --quiet --no-index --find-links "$ASSAY_DIST" onnx-assay || exit 3
fi

code=0
"$assay" run "$@" --db "$db" --min-judged "${ASSAY_MIN_JUDGED:-1}" || code=$?
case $code in
  2 | 3 | 5) ;;  # there are no verdicts to report; changes.md below says so, so that no older comment stands
  *)
    "$assay" report --db "$db" --html "$out/report.html" --junit "$out/junit.xml" --sarif "$out/assay.sarif" || exit 3
    if ! said=$("$assay" report --db "$db" --markdown "$out/changes.md" --against "${ASSAY_AGAINST:-anchor}" 2>&1); then
      case $said in
        *"no accepted anchor"*) echo "assay_job: no run was accepted yet, so there is nothing to compare with and no changes.md" ;;
        *) printf '%s\nassay_job: there is no changes.md\n' "$said" >&2 ;;
      esac
    fi
    ;;
esac
case $code in
  0 | 4)
    if [ -n "${ASSAY_ACCEPT:-}" ]; then
      "$assay" accept --db "$db" --reason "$ASSAY_ACCEPT" || exit 3
      code=0
    fi
    ;;
esac

case $code in
  0) words="everything is as expected" ;;
  1) words="a red verdict; $out/report.html says what, where and how to repeat it" ;;
  2) words="wrong usage, a case file that can't be used, or a converter that doesn't start; the message above names it" ;;
  3) words="Assay itself failed, which is no verdict; run the job again" ;;
  4) words="nothing is red, but a verdict drifted from its anchor; $out/changes.md shows it; mend it, or set ASSAY_ACCEPT" ;;
  5) words="nothing matches the selection, verdicts are missing, or too few were judged; the message above says which" ;;
  6) words="an expected failure was not met, or has expired; remove or renew its entry in the suite" ;;
  77) words="every verdict is unsupported, so nothing was tested; select other cases, or declare more in supports" ;;
  *) words="nothing of Assay's; a signal ended it" ;;
esac
case $code in
  2 | 3 | 5) printf '### ❌ Assay: no verdicts\n\nExit code %s: %s. The job log has the message.\n' "$code" "$words" > "$out/changes.md" ;;
esac
echo "assay_job: exit code $code: $words"
exit $code
