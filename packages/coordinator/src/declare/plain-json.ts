import { isResourceKind } from '@svc/shared/resources/registry.ts';
import { addressOf, type RawEntry } from './declaration.ts';
import { jsonMembers } from './json-members.ts';

type Mapping = Readonly<Record<string, unknown>>;

/** Deepest nesting of mappings and lists. No declaration needs more than six levels. */
const MAX_DEPTH = 32;

/** Reads the entries of a JSON text that means the same in YAML; null for any other text. */
export function plainJsonEntries(text: string): RawEntry[] | null {
  const root = parsedMapping(text);
  const members = root === null ? null : jsonMembers(text);
  if (root === null || members === null) return null;
  // There are fewer members than written ones, so some key occurs twice.
  if (membersOf(root, 0) !== members.count) return null;
  const entries: RawEntry[] = [];
  for (const [kind, named] of Object.entries(root)) {
    if (!isResourceKind(kind)) return null;
    if (named === null) continue;
    if (!isMapping(named)) return null;
    for (const [name, value] of Object.entries(named)) {
      const place = members.places.get(addressOf({ kind, name }));
      if (place === undefined) return null;
      entries.push({ kind, name, ...place, value });
    }
  }
  return entries;
}

function parsedMapping(text: string): Mapping | null {
  if (!/^\s*\{/.test(text)) return null;
  try {
    return JSON.parse(text) as Mapping;
  } catch {
    // The text may be YAML. If it is not, reading it as YAML reports the errors.
    return null;
  }
}

/**
 * Number of members of all mappings inside; NaN where a member means more in YAML, or the nesting is too
 * deep.
 */
function membersOf(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (depth > MAX_DEPTH) return Number.NaN;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += membersOf(item, depth + 1);
    return count;
  }
  for (const [key, item] of Object.entries(value)) {
    if (key === '<<' || key === '__proto__') return Number.NaN;
    count += 1 + membersOf(item, depth + 1);
  }
  return count;
}

function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
