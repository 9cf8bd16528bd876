import { readFileSync } from 'node:fs';

/**
 * The text of a file beside the source. Give it a literal file name and the address of the calling module, as
 * `web-assets.ts` does: bundles replace exactly this form by the text (`deploy/build/threads.ts`).
 */
export function textFile(url: URL): string {
  return readFileSync(url, 'utf8');
}
