#!/bin/sh
# Makes the files that compose.yaml mounts and reads, beside it: nats/, coordinator.env,
# agent-<region>.env.
#
#   sh deploy/compose/prepare.sh [--large] NAME [REGION...]
#
# NAME is the host name under which agents on other machines reach the NATS server. With
# --large it makes those of large.yaml too: three servers, and the database's password. A
# second call keeps keys and settings.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prepare() {
  sh "$here/../nats/prepare.sh" --nats "$here/nats" --settings "$here" --agents "$here" --owner 65532 "$@"
}
if [ "${1:-}" != --large ]; then
  prepare --inside nats "$@"
  exit
fi
shift
servers='nats nats-2 nats-3'
prepare --inside "$servers" --cluster "$servers" --ports '4222 4223 4224' "$@"
umask 077
mkdir -p "$here/database"
cd "$here/database"
if [ ! -f password ]; then
  openssl rand -hex 24 >password.new
  mv password.new password
fi
printf 'postgres://svc:%s@postgres:5432/svc\n' "$(cat password)" >url
chown -R 65532:65532 .
