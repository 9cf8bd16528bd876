import type { AttributesOf } from '@svc/coordinator/declaration/kinds/kind-tables.ts';
import { parseResource, type ResourceKind } from '@svc/shared/resources/registry.ts';
import type { ConfiguredStore } from './configured-store.ts';
import { VALID } from './resources.ts';

type Parts = Pick<ConfiguredStore, 'configuration' | 'workspaceId'>;

/** The attributes of a valid resource with these members. */
function attributesWith<K extends ResourceKind>(kind: K, members: Record<string, unknown>): AttributesOf<K> {
  const parsed = parseResource(kind, { ...VALID[kind], ...members }, 'api');
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return parsed.value;
}

/** Creates a resource, as the API does. Returns its id. */
export function createResource(
  { configuration, workspaceId }: Parts,
  kind: ResourceKind,
  members: Record<string, unknown> = {},
): Promise<number> {
  return configuration.transaction({ workspaceId, actor: 'api' }, (change) =>
    change.create(kind, attributesWith(kind, members)),
  );
}

/** Replaces a resource by a valid one with these members, as the API does. */
export async function replaceResource(
  { configuration, workspaceId }: Parts,
  kind: ResourceKind,
  id: number,
  members: Record<string, unknown> = {},
): Promise<void> {
  await configuration.transaction({ workspaceId, actor: 'api' }, (change) =>
    change.update(kind, id, attributesWith(kind, members)),
  );
}

/** Removes a resource, as the API does. */
export async function removeResource(
  { configuration, workspaceId }: Parts,
  kind: ResourceKind,
  id: number,
): Promise<void> {
  await configuration.transaction({ workspaceId, actor: 'api' }, (change) => change.remove(kind, id));
}
