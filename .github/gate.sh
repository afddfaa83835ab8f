#!/usr/bin/env bash
# The gate of action.yml: $1 is the program, BASE, NEW, LIMIT and INCONCLUSIVE are what it compares. The table and the picture go into
# RUNNER_TEMP, the table also onto the job's page; the step itself ends well, and says the gate's exit status.
set -euo pipefail
status=0
"$1" gate "$BASE" "$NEW" --slower-than "$LIMIT" --inconclusive "${INCONCLUSIVE:-pass}" --summary "$RUNNER_TEMP/gate.md" --plot "$RUNNER_TEMP/gate.png" || status=$?
if [ -e "$RUNNER_TEMP/gate.md" ]; then
    cat "$RUNNER_TEMP/gate.md" >>"$GITHUB_STEP_SUMMARY"
fi
echo "status=$status" >>"$GITHUB_OUTPUT"
