#!/bin/sh
# Starts the svc provider for Terraform with the Node.js of this machine.

# Terraform shows the first line of stdout to the user and puts stderr into its log.
fail() {
  printf '%s\n' "$1"
  printf '%s\n' "$1" >&2
  exit 1
}

# Path of the Node that built this copy, for the machine that built it; empty in packages for other machines.
built_with=
node=${SVC_TERRAFORM_NODE:-}
if [ -z "$node" ] && [ -n "$built_with" ] && [ -x "$built_with" ]; then node=$built_with; fi
node=${node:-node}
command -v "$node" >/dev/null 2>&1 ||
  fail "The svc provider needs Node.js 24 or newer, and there is no \"$node\". Install Node.js, name its path in SVC_TERRAFORM_NODE, or use the standalone provider, which needs none."

file=$0
if [ -h "$file" ]; then file=$(readlink -f "$file"); fi

# NODE_OPTIONS is meant for other programs; a flag that this Node does not know would end it.
unset NODE_OPTIONS

# The provider uses proxies and the system's certificates, as other providers do. These are variables, not flags:
# an older Node ignores them and can still report that it is too old.
export NODE_USE_ENV_PROXY="${NODE_USE_ENV_PROXY:-1}" NODE_USE_SYSTEM_CA="${NODE_USE_SYSTEM_CA:-1}"

# Replaces this process, because Terraform sends signals to the process that it started.
exec "$node" "${file%/*}/provider.cjs" "$@"
