/** Part of `npm run docs`. */
import { writeFileSync } from 'node:fs';
import { settingsPage } from './settings-page.ts';

writeFileSync(new URL('../reference/settings.md', import.meta.url), settingsPage());
