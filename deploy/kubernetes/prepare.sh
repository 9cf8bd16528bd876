#!/bin/sh
# Makes the folders secrets/, from which the kustomizations make secrets.
#
#   sh deploy/kubernetes/prepare.sh NAME [REGION...]
#
# NAME is the host name under which agents of other clusters reach the NATS
# server. A second call keeps keys and settings.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec sh "$here/../nats/prepare.sh" --nats "$here/service/secrets/nats" --settings "$here/service/secrets" --agents "$here/agents/secrets" --inside svc-nats "$@"
