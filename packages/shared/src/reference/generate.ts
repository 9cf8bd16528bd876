import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { referenceFiles } from './pages.ts';

/**
 * Writes the reference pages that are generated from the definitions of resources and instruments. `npm run
 * docs` runs it.
 */
const folder = fileURLToPath(new URL('../../../../docs/reference/', import.meta.url));
mkdirSync(folder, { recursive: true });
for (const [name, text] of referenceFiles()) writeFileSync(`${folder}${name}`, text);
