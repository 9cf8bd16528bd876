import { forMonitors, MONITOR_KINDS } from '@svc/shared/resources/monitors.ts';
import type { ResourceKind } from '@svc/shared/resources/registry.ts';
import type { LiveResource } from './declared-resources.ts';

/**
 * Maximum length of a generated name, without the noun before it and the number that
 * makes it unique. The declared file and Terraform allow longer names.
 */
const LONGEST = 60;

/**
 * Makes local names from the names of the resources. They are valid in Terraform and in the declared file,
 * and unique for each kind. The same resources always get the same names, if they come in the same order.
 *
 * @param resources monitors and pages before the groups and components on pages, lower ids first
 * @returns a function that returns the name of a resource; null for a resource that is not in the list
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

/** Makes names unique by numbers: `api`, `api_2`, `api_3`. */
export class UniqueNames {
  readonly #taken = new Set<string>();
  /**
   * The number to try next, by name. Without it, thousands of resources with the same name would take long.
   */
  readonly #next = new Map<string, number>();

  /**
   * Returns `base`, or `base` with a number when `base` is taken. The returned name is taken from now on.
   *
   * @param space names in different spaces may be equal
   */
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

/**
 * A noun for each kind. It is the name of a resource whose own name has neither a
 * letter from a to z nor a digit. It is put before a name that begins with a digit.
 */
const NOUNS: Readonly<Record<ResourceKind, string>> = {
  ...forMonitors(() => 'monitor'),
  svc_notification: 'channel',
  svc_status_page: 'page',
  svc_status_page_component_group: 'group',
  svc_status_page_component: 'component',
};

/**
 * The words from which the local name of a resource is made. Components and groups
 * are named after their page too, because pages often show the same monitors.
 */
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

/** Makes an identifier from a text: lower-case letters, digits and underscores, beginning with a letter. */
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
