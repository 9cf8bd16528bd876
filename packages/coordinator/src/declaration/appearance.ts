import { findResource, updateResources } from '../store/declaration/resources.ts';
import type { PageAppearance } from './configuration.ts';
import { NotFound } from './errors.ts';
import { type ChangeScope, requireVersion, revision } from './scope.ts';

/**
 * Sets the appearance, which is not part of the declaration: pages of the declared file accept it too.
 *
 * @throws NotFound, PreconditionFailed
 */
export async function setPageAppearance(
  scope: ChangeScope,
  id: number,
  appearance: PageAppearance,
  { expectedVersions }: { expectedVersions?: readonly number[] },
): Promise<void> {
  const row = await findResource(scope.tx, 'status_pages', scope.context.workspaceId, id);
  if (row === undefined) throw new NotFound(`there is no status page ${id}`);
  requireVersion(`status page ${id}`, row.row_version, expectedVersions);
  const published = appearance.published === undefined ? row.published : Number(appearance.published);
  const theme = appearance.theme ?? row.theme;
  const latency = appearance.latency ?? row.latency;
  if (published === row.published && theme === row.theme && latency === row.latency) return;
  const change = { published, theme, latency, ...revision(scope, row, {}) };
  await updateResources(scope.tx, 'status_pages', [{ id, change }]);
}
