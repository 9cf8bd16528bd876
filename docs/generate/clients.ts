/** Part of `npm run docs`. */
import { writeFileSync } from 'node:fs';
import { clientsPage } from './clients-page.ts';

writeFileSync(new URL('../reference/http-clients.md', import.meta.url), clientsPage());
