import type { Migration } from 'kysely/migration';
import * as initial from './0001-initial.ts';

/**
 * All migrations by name, in the order of their names. They are imported here, and
 * not found in a folder, so that bundling keeps them.
 */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-initial': initial,
};
