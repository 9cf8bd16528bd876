#!/usr/bin/env bash
# Unpacks a package of a later suite of Debian into a folder, without installing anything, and prints the folder with its
# programs: real servers that this machine's own suite has too old. apt verifies the archive's signature with the keys that
# Debian ships ahead; dependencies are not followed.
#
#   test/support/later-debian.sh trixie victoria-metrics
set -euo pipefail
suite=$1 package=$2
folder=$(cd "$(dirname "$0")/../.." && pwd)/.cache/debian/$suite-$package
if [ ! -d "$folder" ]; then
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    sed -nE 's#^(URIs:|deb( +\[[^]]*\])?) +(https?://[^ ]+/debian)/?( .*)?$#\3#p' | head -n 1 || true)
  [ -n "$mirror" ] || { echo "apt has no mirror of Debian here" >&2; exit 1; }
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work"/{lists/partial,cache/archives/partial}
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$work/sources.list"
  options=(-o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$work/lists"
    -o Dir::Cache="$work/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root -qq)
  apt-get "${options[@]}" update >&2
  (cd "$work" && apt-get "${options[@]}" download "$package" >&2 && dpkg-deb -x "$package"_*.deb unpacked)
  mkdir -p "$(dirname "$folder")"
  mv "$work/unpacked" "$folder"
fi
echo "$folder/usr/bin"
