import {
  attributesOfNamed,
  type NamedResource,
  resourcesNamedByFile,
} from '../configuration/named-by-file.ts';
import { declaredRows } from '../store/applied-declaration.ts';
import type { Readable } from '../store/reading-of.ts';
import type { Secrets } from '../store/secrets.ts';
import { type Address, addressOf, type Entries } from './declaration.ts';
import { type Plan, planChanges } from './plan.ts';

/** The stored side of the file's diff, and the changes that follow from it. */
export type Prepared = {
  /** Resources that the file owns, and those that an earlier file declared. */
  readonly resources: ReadonlyMap<Address, NamedResource>;
  readonly plan: Plan;
  /** The rows that this follows from; see {@link declaredRows}. */
  readonly rows: string;
};

type Parts = {
  readonly secrets: Secrets;
  readonly workspaceId: number;
  /** Entries in order of dependency. */
  readonly entries: Entries;
};

/**
 * Reads and compares all declared resources, some at a time. That takes seconds where there are a hundred thousand, so
 * it is done before the transaction that changes them.
 */
export async function prepare(source: Readable, { secrets, workspaceId, entries }: Parts): Promise<Prepared> {
  // This comes before reading, so that a change in between is noticed.
  const rows = await declaredRows(source, workspaceId);
  const named = await resourcesNamedByFile(source, workspaceId);
  const resources = new Map(named.map((one) => [addressOf({ kind: one.kind, name: one.localName }), one]));
  const plan = await planChanges(entries, {
    resources,
    attributesOf: (some) => attributesOfNamed(source, secrets, workspaceId, some),
  });
  return { resources, plan, rows };
}

/** Whether nobody has changed the rows since. */
export async function isStillTrue(
  source: Readable,
  { rows }: Prepared,
  workspaceId: number,
): Promise<boolean> {
  return (await declaredRows(source, workspaceId)) === rows;
}
