#!/usr/bin/env bash
# Says in one sentence each what is missing to build and run Seamark: Python 3.11+ and Java 17+.
set -u
python=${PYTHON:-python3}
missing=0
if ! command -v "$python" >/dev/null 2>&1; then
  echo "error: Python 3.11 or newer is needed, and '$python' is not on the PATH. Install it, or run make PYTHON=/path/to/python3." >&2
  missing=1
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "error: Python 3.11 or newer is needed, and '$python' is $("$python" -V 2>&1). Run make PYTHON=/path/to/python3.11." >&2
  missing=1
elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
  echo "error: '$python' has no venv module. On Debian and Ubuntu: apt-get install python3-venv." >&2
  missing=1
fi
java=java
[ -z "${JAVA_HOME:-}" ] || java="$JAVA_HOME/bin/java"
if ! command -v "$java" >/dev/null 2>&1; then
  echo "error: Java 17 or newer is needed, and '$java' was not found. On Debian and Ubuntu: apt-get install openjdk-17-jre-headless." >&2
  missing=1
else
  version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
  if [ -z "$version" ] || [ "$version" -lt 17 ]; then
    echo "error: Java 17 or newer is needed, and '$java' is version ${version:-unknown}. Set JAVA_HOME to a newer one." >&2
    missing=1
  fi
fi
exit $missing
