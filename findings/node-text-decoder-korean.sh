#!/usr/bin/env bash
# Node's TextDecoder does not read some Korean letters of EUC-KR as the Encoding Standard says.
# Versions: Node 24.21.0 (npm package `node`), @exodus/bytes 1.16.0.
# Expected: `new TextDecoder('euc-kr')` reads the bytes 8c 63 as the letter U+B620, as browsers do.
# Seen: Node reads the second byte alone, as the letter "c". @exodus/bytes reads U+B620, and so does Chromium 156.
# Exit code 1: this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --save-exact --no-audit --no-fund node@24.21.0 @exodus/bytes@1.16.0 >/dev/null
cat > shown.mjs <<'END'
import { TextDecoder as Standard } from '@exodus/bytes/encoding.js';
const bytes = Uint8Array.of(0x8c, 0x63);
const own = new TextDecoder('euc-kr').decode(bytes);
const standard = new Standard('euc-kr').decode(bytes);
console.log(`Node ${process.version}: ${JSON.stringify(own)}, the standard: ${JSON.stringify(standard)}`);
process.exitCode = standard === '\ub620' && own !== standard ? 0 : 1;
END
node_modules/.bin/node shown.mjs
