import { isId } from '@svc/shared/ids.ts';
import { UsageError } from './usage-error.ts';

/**
 * @param what the kind of object
 * @param hint where its id is found, for the error
 * @throws UsageError when it is not the id of an object
 */
export function requireId(id: string | undefined, what: string, hint: string): string {
  if (id !== undefined && isId(id)) return id;
  throw new UsageError(`the id of the ${what} is missing: ${hint}`);
}
