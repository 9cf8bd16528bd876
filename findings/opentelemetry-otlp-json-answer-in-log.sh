#!/usr/bin/env bash
# OpenTelemetry's OTLP serializer for JavaScript writes a part of an endpoint's answer to the process-wide log.
# Versions: @opentelemetry/otlp-transformer 0.301.0, @opentelemetry/api 1.10.0, Node 24.21.0 (npm package `node`), on 2026-11-29.
# Expected: an answer with 200 that is not JSON is ignored, and its text is not logged, because it may repeat the key that was sent
# to the endpoint.
# Seen: JsonMetricsSerializer.deserializeResponse returns `{}`, and writes a warning with the first characters of the answer to
# `diag`.
# Exit code 1: this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
timeout 80 npm install --save-exact --no-audit --no-fund node@24.21.0 @opentelemetry/otlp-transformer@0.301.0 \
  @opentelemetry/api@1.10.0 >/dev/null || exit 2
cat > shown.mjs <<'END'
import { diag } from '@opentelemetry/api';
import { JsonMetricsSerializer } from '@opentelemetry/otlp-transformer';
const said = [];
const note = (text) => said.push(text);
diag.setLogger({ error: note, warn: note, info: () => {}, debug: () => {}, verbose: () => {} });
const answer = JsonMetricsSerializer.deserializeResponse(new TextEncoder().encode('key-123 ok'));
console.log(JSON.stringify({ answer, said }));
process.exitCode = said.some((text) => text.includes('key-123')) ? 0 : 1;
END
node_modules/.bin/node shown.mjs
