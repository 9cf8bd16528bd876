/** Part of `npm run docs`. */
import { writeFileSync } from 'node:fs';
import { decisionsPage } from './decisions-page.ts';

writeFileSync(new URL('../decisions/README.md', import.meta.url), decisionsPage());
