/**
 * Gives the whole corpus to curl, Chromium and blackbox_exporter, and stores their reactions:
 *
 *     node test/conformance/answers/observe.ts
 *
 * Debian has all three (`curl`, `chromium`, `prometheus-blackbox-exporter`). Everything stays on loopback.
 * `npm run docs` then makes the table from them.
 */
import { writeFileSync } from 'node:fs';
import { startBlackbox } from './clients/blackbox.ts';
import { startChromium } from './clients/chromium.ts';
import type { Client, Observation } from './clients/client.ts';
import { startCurl } from './clients/curl.ts';
import { CORPUS } from './corpus.ts';
import { startCorpusServer } from './corpus-server.ts';

/** Longer bodies are stored as their length alone. */
const MAX_STORED = 100;

function stored(observation: Observation): Observation {
  if ('refused' in observation)
    return { refused: observation.refused.replace(/127\.0\.0\.1:\d+/g, '127.0.0.1').slice(0, 200) };
  const { status, bytes, body } = observation;
  return body === undefined || body.length > MAX_STORED ? { status, bytes } : observation;
}

async function observe(
  client: Client,
  urlOf: (index: number) => string,
): Promise<Record<string, Observation>> {
  const seen: Record<string, Observation> = {};
  for (const [index, answer] of CORPUS.entries()) {
    seen[answer.id] = stored(await client.ask(urlOf(index), answer));
  }
  return seen;
}

const server = await startCorpusServer(CORPUS);
const found: Record<string, { version: string; answers: Record<string, Observation> }> = {};
for (const [name, start] of [
  ['curl', startCurl],
  ['chromium', () => startChromium(server.url)],
  ['blackbox', startBlackbox],
] as const) {
  const client = await start();
  console.log(`${name}: ${client.version}`);
  const answers = await observe(client, (index) => server.urlOf(CORPUS[index] as (typeof CORPUS)[number]));
  found[name] = { version: client.version, answers };
  await client.close();
}
await server.close();
writeFileSync(new URL('observations.json', import.meta.url), `${JSON.stringify(found, null, 1)}\n`);
