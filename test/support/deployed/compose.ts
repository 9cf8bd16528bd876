import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';

/** A service of a compose file. */
type ComposeService = { readonly [member: string]: unknown };
type Services = Record<string, ComposeService>;

/** A sequence that replaces the sequence of the extended service: `!override`. */
class Override {
  readonly items: readonly unknown[];
  constructor(items: readonly unknown[]) {
    this.items = items;
  }
}

const OVERRIDE = {
  tag: '!override',
  collection: 'seq' as const,
  resolve: (sequence: { toJSON(): unknown[] }) => new Override(sequence.toJSON()),
};

/**
 * Merges the services of several compose files by the rules of Compose. A later file adds to earlier files.
 */
export function mergedServices(...files: readonly string[]): Services {
  let merged: Services = {};
  for (const file of files) {
    for (const [name, { extends: base, ...own }] of Object.entries(servicesIn(file))) {
      const from = base as { file: string; service: string } | undefined;
      const former =
        from === undefined ? merged[name] : mergedServices(join(dirname(file), from.file))[from.service];
      merged = { ...merged, [name]: former === undefined ? own : mergedService(former, own) };
    }
  }
  return merged;
}

function mergedService(former: ComposeService, own: ComposeService): ComposeService {
  const merged: Record<string, unknown> = { ...former };
  for (const [member, value] of Object.entries(own)) {
    const before = merged[member];
    if (value instanceof Override) merged[member] = value.items;
    else if (member === 'command' || before === undefined) merged[member] = value;
    else if (Array.isArray(before) && Array.isArray(value)) {
      const key = member === 'volumes' ? (volume: string) => volume.split(':')[1] : (item: string) => item;
      const kept = before.filter((one) => !value.some((other) => key(other) === key(one)));
      merged[member] = [...kept, ...value];
    } else if (typeof before === 'object' && typeof value === 'object')
      merged[member] = { ...before, ...value };
    else merged[member] = value;
  }
  return merged;
}

function servicesIn(file: string): Services {
  const text = readFileSync(file, 'utf8');
  return (parse(text, { merge: true, customTags: [OVERRIDE as never] }) as { services: Services }).services;
}
