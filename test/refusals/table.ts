import { CHANNEL_ROWS } from './channels.ts';
import { MONITOR_ROWS } from './monitors.ts';
import { PAGE_ROWS } from './pages.ts';
import { refusalsOf } from './refusal.ts';

/** All refusals of resources, for every way to declare them. */
export const REFUSALS = refusalsOf([...MONITOR_ROWS, ...CHANNEL_ROWS, ...PAGE_ROWS]);
