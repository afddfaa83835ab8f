#!/usr/bin/env bash
# The gate of action.yml: $1 is the program; BASE, NEW, LIMIT, STRICT and INCONCLUSIVE are what it compares and how. The table and the
# picture go into RUNNER_TEMP, the table also onto the job's page and, if COMMENT is true, onto the pull request of the event. The script
# ends well, and writes the verdict and the status that the job ends with.
set -euo pipefail
files=("$BASE")
if [ -n "${NEW:-}" ]; then files+=("$NEW"); fi
options=()
if [ -n "${LIMIT:-}" ]; then options+=(--slower-than "$LIMIT"); fi
if [ "${STRICT:-false}" = true ]; then options+=(--strict); fi
status=0
"$1" gate "${files[@]}" "${options[@]}" --summary "$RUNNER_TEMP/gate.md" --plot "$RUNNER_TEMP/gate.png" || status=$?
case $status in
    0) verdict=pass ;;
    1) verdict=fail ;;
    3)
        verdict=inconclusive
        echo "::notice title=perf gate::inconclusive: run the benchmarks that are named in the summary again"
        status=0
        if [ "${INCONCLUSIVE:-pass}" = fail ]; then status=1; fi
        ;;
    *) verdict=error ;;
esac
printf 'status=%s\nverdict=%s\n' "$status" "$verdict" >>"$GITHUB_OUTPUT"
if [ ! -e "$RUNNER_TEMP/gate.md" ]; then exit 0; fi
cat "$RUNNER_TEMP/gate.md" >>"$GITHUB_STEP_SUMMARY"
if [ "${COMMENT:-false}" = true ]; then
    find_number='import json, sys; print(json.load(open(sys.argv[1])).get("pull_request", {}).get("number", ""))'
    pull=$("$(dirname "$1")/python" -c "$find_number" "$GITHUB_EVENT_PATH")
    if [ -n "$pull" ]; then
        gh pr comment "$pull" --repo "$GITHUB_REPOSITORY" --edit-last --create-if-none --body-file "$RUNNER_TEMP/gate.md"
    fi
fi
