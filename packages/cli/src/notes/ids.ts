import { UsageError } from '../usage-error.ts';

/** @throws UsageError when it is not the id of an object */
export function requireId(id: string | undefined, what: string): string {
  if (id !== undefined && /^[1-9]\d{0,14}$/.test(id)) return id;
  throw new UsageError(
    `the id of the ${what} is missing: "${what === 'incident' ? 'incident' : 'maintenance'} list" shows it`,
  );
}
