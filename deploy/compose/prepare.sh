#!/bin/sh
# Makes the files that compose.yaml mounts and reads, beside it: nats/, coordinator.env,
# agent-<region>.env.
#
#   sh deploy/compose/prepare.sh NAME [REGION...]
#
# NAME is the host name under which agents on other machines reach the NATS server. A
# second call keeps keys and settings.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec sh "$here/../nats/prepare.sh" --nats "$here/nats" --settings "$here" --agents "$here" --owner 65532 --inside nats "$@"
