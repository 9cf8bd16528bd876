/** Part of `npm run docs`. */
import { writeFileSync } from 'node:fs';
import { problemCodesPage } from './problem-codes-page.ts';

writeFileSync(new URL('../reference/problem-codes.md', import.meta.url), problemCodesPage());
