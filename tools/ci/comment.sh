#!/bin/sh
# Puts the file into one comment of this job's pull request (GitHub: GH_TOKEN, REPOSITORY, NUMBER) or merge request
# (GitLab: ASSAY_TOKEN, with the right to write notes): comment.sh FILE. On GitHub a later job of the same ASSAY_NAME replaces
# the comment, so that each job of a matrix has one of its own. Where the token may not comment, as that of a pull request
# from a fork, this is said and is no failure: the verdict is the job's exit code, and its summary has the same page.
set -eu
file=$1
if [ -n "${CI_MERGE_REQUEST_IID:-}" ]; then
  notes="$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes"
  curl --silent --show-error --fail --output /dev/null --header "PRIVATE-TOKEN: $ASSAY_TOKEN" \
    --data-urlencode "body@$file" "$notes"
  exit
fi
mark="<!-- assay: ${ASSAY_NAME:-assay} -->"
body=$(printf '%s\n' "$mark" && cat "$file")
mine=$(gh api --paginate "repos/$REPOSITORY/issues/$NUMBER/comments" \
  --jq ".[] | select(.body | startswith(\"$mark\")) | .id" | head -n 1) || mine=
if [ -n "$mine" ]; then
  set -- PATCH "repos/$REPOSITORY/issues/comments/$mine"
else
  set -- POST "repos/$REPOSITORY/issues/$NUMBER/comments"
fi
gh api --silent --method "$1" "$2" --raw-field "body=$body" ||
  echo "comment.sh: no comment: the token may not write one, as in a pull request from a fork; the job's summary has the page"
