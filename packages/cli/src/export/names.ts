import { forMonitors, MONITOR_KINDS } from '@svc/shared/resources/monitors.ts';
import type { ResourceKind } from '@svc/shared/resources/registry.ts';
import type { LiveResource } from './live.ts';

/** Of an invented name without its number; the declared file and Terraform allow more. */
const LONGEST = 60;

/**
 * Local names made from what people call the resources: valid in Terraform and in the declared file,
 * unique among their kind. The same resources always get the same names; those of lower ids first.
 *
 * @param resources pages before what stands on them
 */
export function localNames(
  resources: readonly LiveResource[],
): (kind: ResourceKind, id: string) => string | null {
  const names = new Map<string, string>();
  const taken = new UniqueNames();
  const nameOf = (kind: ResourceKind, id: string) => names.get(`${kind}.${id}`) ?? null;
  for (const resource of resources) {
    const base = identifier(calledBy(resource, nameOf), NOUNS[resource.kind]);
    names.set(`${resource.kind}.${resource.id}`, taken.free(base, resource.kind));
  }
  return nameOf;
}

/** Numbers names that come again: `api`, `api_2`, `api_3`. */
export class UniqueNames {
  readonly #taken = new Set<string>();
  /** The number to try next by name: there may be thousands of the same. */
  readonly #next = new Map<string, number>();

  /** @param space names of different spaces may be equal */
  free(base: string, space = ''): string {
    const key = `${space} ${base}`;
    let number = this.#next.get(key) ?? 1;
    const numbered = () => (number === 1 ? base : `${base}_${number}`);
    while (this.#taken.has(`${space} ${numbered()}`)) number += 1;
    const name = numbered();
    this.#next.set(key, number + 1);
    this.#taken.add(`${space} ${name}`);
    return name;
  }
}

/** Stand for a name that has no letters of ours, and before one that begins with a digit. */
const NOUNS: Readonly<Record<ResourceKind, string>> = {
  ...forMonitors(() => 'monitor'),
  svc_notification: 'channel',
  svc_status_page: 'page',
  svc_status_page_component_group: 'group',
  svc_status_page_component: 'component',
};

/** Components and groups are called after their page too: pages often show the same monitors. */
function calledBy(
  { kind, answered }: LiveResource,
  nameOf: (kind: ResourceKind, id: string) => string | null,
): string {
  const text = (name: string) => (typeof answered[name] === 'string' ? answered[name] : '');
  const page = () => nameOf('svc_status_page', text('page_id')) ?? '';
  switch (kind) {
    case 'svc_notification':
      return text('name') || text('provider_type');
    case 'svc_status_page':
      return text('slug');
    case 'svc_status_page_component_group':
      return `${page()} ${text('name')}`;
    case 'svc_status_page_component':
      return `${page()} ${text('name') || monitorName(text('monitor_id'), nameOf) || 'static'}`;
    default:
      return text('name');
  }
}

function monitorName(id: string, nameOf: (kind: ResourceKind, id: string) => string | null): string | null {
  for (const kind of MONITOR_KINDS) {
    const name = nameOf(kind, id);
    if (name !== null) return name;
  }
  return null;
}

/** Lower-case letters, digits and underscores, a letter first. */
export function identifier(text: string, noun: string): string {
  const words = text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
    .join('_')
    .slice(0, LONGEST)
    .replace(/_$/, '');
  if (words === '') return noun;
  return /^[a-z]/.test(words) ? words : `${noun}_${words}`;
}
