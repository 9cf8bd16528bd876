import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { referenceFiles } from './pages.ts';

/** `npm run docs`: writes the reference pages that are generated from the definitions of resources and of instruments. */
const folder = fileURLToPath(new URL('../../../../docs/reference/', import.meta.url));
mkdirSync(folder, { recursive: true });
for (const [name, text] of referenceFiles()) writeFileSync(`${folder}${name}`, text);
