import type { ResourceKind, Resources } from '@svc/shared/resources/registry.ts';

/** One entry of a valid declaration. It is plain data, because it is posted between threads. */
export type DeclaredEntry = {
  [K in ResourceKind]: {
    readonly kind: K;
    readonly name: string;
    /** Normalized attributes. Ids may be references (`${svc_http_monitor.api.id}`) to other entries. */
    readonly attributes: Resources[K];
    /** Place of the entry's name, from 1. */
    readonly line: number;
    readonly column: number;
  };
}[ResourceKind];

/** The entries of a declaration in order of dependency. */
export type Entries = {
  readonly length: number;
  /** @param position from 0; undefined: there are not so many entries */
  at(position: number): DeclaredEntry | undefined;
};

/** An entry's address: `svc_http_monitor.api`. */
export type Address = string;

export function addressOf({ kind, name }: { kind: ResourceKind; name: string }): Address {
  return `${kind}.${name}`;
}
