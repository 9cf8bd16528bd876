import { existingResources, type ResourceTable } from '../../store/declaration/resources.ts';
import type { Readable } from '../../store/reading-of.ts';
import { InvalidReference } from '../errors.ts';

const NOUNS = { monitors: 'monitor', status_pages: 'status page', components: 'component' } as const;

/** Objects that a note names, by the member of the body that names them. */
export type Named = {
  readonly member: string;
  readonly table: ResourceTable & keyof typeof NOUNS;
  readonly ids: readonly number[];
};

/** @throws InvalidReference when the workspace lacks one of the objects */
export async function requireObjects(
  source: Readable,
  workspaceId: number,
  named: readonly Named[],
): Promise<void> {
  for (const { member, table, ids } of named) {
    const existing = await existingResources(source, table, workspaceId, ids);
    const missing = ids.findIndex((id) => !existing.has(id));
    if (missing !== -1)
      throw new InvalidReference(`there is no ${NOUNS[table]} ${ids[missing]}`, [member, missing]);
  }
}
