import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LiveResource, liveConfiguration } from '@svc/cli/export/declared-resources.ts';
import { DeclaredFile } from '@svc/coordinator/declaration/yaml/declared-file.ts';
import { resourcesNamedByFile } from '@svc/coordinator/declaration/yaml/plan.ts';
import { ApiClient } from '@svc/shared/api/client.ts';
import { type OwnRegion, regionsWith } from '@svc/shared/regions.ts';
import type { ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { DEFINITIONS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { Secret } from '@svc/shared/secret.ts';
import type { RunningApi } from './api.ts';
import { DECLARED_FILE, silentLog, temporaryFolder } from './configured-store.ts';

/**
 * Applies a declared file, as at the start of a coordinator.
 *
 * @throws DeclarationError
 */
export async function declare(
  { workspaceId, configuration, store, secrets, clock }: RunningApi,
  text: string,
  env: Readonly<Record<string, string | undefined>> = {},
  ownRegions: readonly OwnRegion[] = [],
): Promise<void> {
  const folder = await temporaryFolder();
  const path = join(folder.path, DECLARED_FILE);
  await writeFile(path, text);
  const parts = { path, workspaceId, configuration, store, secrets, env, clock, log: silentLog };
  const file = new DeclaredFile({
    ...parts,
    version: 'test',
    regions: regionsWith(ownRegions),
    allowsDelete: false,
    channelProblem: () => null,
  });
  try {
    await file.start();
  } finally {
    await file.stop();
    await folder.remove();
  }
}

export function liveResources({ url, operator }: RunningApi): Promise<LiveResource[]> {
  return liveConfiguration(new ApiClient({ baseUrl: url, token: new Secret(operator), userAgent: 'test' }));
}

/** Returns the name of an object, such as `svc_http_monitor.api`. */
export type NameOf = (kind: ResourceKind, id: string) => string;

/** Returns a function that names stored objects as the declared file does. */
export async function declaredNames({ store, workspaceId }: RunningApi): Promise<NameOf> {
  const named = await resourcesNamedByFile(store, workspaceId);
  const names = new Map(named.map(({ kind, id, localName }) => [`${kind} ${id}`, `${kind}.${localName}`]));
  return (kind, id) => names.get(`${kind} ${id}`) ?? `${kind} ${id} has no name`;
}

/**
 * All stored objects by name, in a form in which two installations can be compared: names replace ids, and
 * values that the service computes are left out. Secrets are in clear.
 */
export async function storedByName(api: RunningApi, nameOf: NameOf): Promise<Record<string, object>> {
  const live = await liveResources(api);
  const kindOf = new Map(live.map(({ kind, id }) => [`${tableOf(kind)} ${id}`, kind]));
  const entries = live.map(({ kind, id, answered }) => {
    const definition: ResourceDefinition = DEFINITIONS[kind];
    const attributes = Object.entries(definition.attributes)
      .filter(([, { presence }]) => presence !== 'computed')
      .map(([name, { value }]) => {
        const named = (member: unknown) => {
          const target = value.references?.find((candidate) =>
            kindOf.has(`${tableOf(candidate)} ${String(member)}`),
          );
          const found = target === undefined ? undefined : kindOf.get(`${tableOf(target)} ${String(member)}`);
          return found === undefined ? member : nameOf(found, String(member));
        };
        const given = answered[name];
        const isSet = value.references !== undefined && Array.isArray(given);
        return [name, isSet ? given.map(named).sort() : named(given)];
      });
    const blocks = Object.keys(definition.blocks).map((name) => [name, answered[name]]);
    return [nameOf(kind, id), Object.fromEntries([...attributes, ...blocks])] as const;
  });
  return Object.fromEntries(entries);
}

/** Returns the table of a kind. Monitors of all kinds are numbered together. */
function tableOf(kind: string): string {
  return kind.endsWith('_monitor') ? 'monitor' : kind;
}
