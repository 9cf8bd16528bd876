import { readFileSync } from 'node:fs';

/**
 * The text of a file beside the source. Call it as `textFile(new URL('./name.css', import.meta.url))`: bundles replace
 * exactly this form by the text.
 */
export function textFile(url: URL): string {
  return readFileSync(url, 'utf8');
}
