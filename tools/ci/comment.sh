#!/bin/sh
# Puts the file into one comment of this job's pull request (GitHub: GH_TOKEN, REPOSITORY, NUMBER) or merge request
# (GitLab: ASSAY_TOKEN, with the right to write notes): comment.sh FILE. On GitHub a later job replaces the comment.
set -eu
file=$1
if [ -n "${CI_MERGE_REQUEST_IID:-}" ]; then
  notes="$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes"
  curl --silent --show-error --fail --output /dev/null --header "PRIVATE-TOKEN: $ASSAY_TOKEN" \
    --data-urlencode "body@$file" "$notes"
  exit
fi
mark="<!-- assay -->"
body=$(printf '%s\n' "$mark" && cat "$file")
mine=$(gh api --paginate "repos/$REPOSITORY/issues/$NUMBER/comments" \
  --jq ".[] | select(.body | startswith(\"$mark\")) | .id" | head -n 1)
if [ -n "$mine" ]; then
  gh api --silent --method PATCH "repos/$REPOSITORY/issues/comments/$mine" --raw-field "body=$body"
else
  gh api --silent --method POST "repos/$REPOSITORY/issues/$NUMBER/comments" --raw-field "body=$body"
fi
