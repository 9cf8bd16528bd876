import { referencesIn } from './expressions.ts';
import type { Body, Configuration } from './runner.ts';

/** A resource or data source of a configuration. */
export type Declared = {
  readonly address: string;
  readonly mode: 'resource' | 'data';
  readonly type: string;
  readonly body: Body;
  /** Addresses that it refers to. */
  readonly dependencies: readonly string[];
  /** Whether a replacement is created before the old object is removed. */
  readonly createsFirst: boolean;
};

export function declaredIn(configuration: Configuration): Declared[] {
  return [
    ...declaredAs('resource', '', configuration.resource),
    ...declaredAs('data', 'data.', configuration.data),
  ];
}

function declaredAs(
  mode: Declared['mode'],
  prefix: string,
  types: Configuration['resource'] = {},
): Declared[] {
  return Object.entries(types).flatMap(([type, named]) =>
    Object.entries(named).map(([name, body]) => {
      const explicit = (body.depends_on as string[] | undefined) ?? [];
      const lifecycle = body.lifecycle as { create_before_destroy?: boolean } | undefined;
      return {
        address: `${prefix}${type}.${name}`,
        mode,
        type,
        body,
        dependencies: [...new Set([...referencesIn(body), ...explicit])],
        createsFirst: lifecycle?.create_before_destroy ?? false,
      };
    }),
  );
}

export function typeIn(address: string): string {
  return address.split('.')[0] ?? '';
}

/** Terraform's own default. */
const AT_ONCE = 10;

/**
 * Visits each node when all nodes on which it depends were visited with success, ten at a time. Nodes that
 * depend on a failure are left out.
 */
export async function walk<T>(
  nodes: ReadonlyMap<string, T>,
  dependenciesOf: (node: T, address: string) => readonly string[],
  visit: (node: T, address: string) => Promise<boolean>,
): Promise<void> {
  const turns = new Turns(AT_ONCE);
  const visits = new Map<string, Promise<boolean>>();
  const visited = (address: string, node: T, above: readonly string[]): Promise<boolean> => {
    const known = visits.get(address);
    if (known !== undefined) return known;
    if (above.includes(address)) throw new Error(`Cycle: ${[...above, address].join(', ')}`);
    const before = dependenciesOf(node, address).flatMap((each) => {
      const other = nodes.get(each);
      return other === undefined ? [] : [visited(each, other, [...above, address])];
    });
    const own = Promise.all(before).then((all) =>
      all.every((isDone) => isDone) ? turns.take(() => visit(node, address)) : false,
    );
    visits.set(address, own);
    return own;
  };
  await Promise.all([...nodes].map(([address, node]) => visited(address, node, [])));
}

class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async take<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
