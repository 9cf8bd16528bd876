import type { ResourceKind, Resources } from '@svc/shared/resources/registry.ts';

/** One entry of a valid declaration. Plain data: it is posted between threads. */
export type DeclaredEntry = {
  [K in ResourceKind]: {
    readonly kind: K;
    readonly name: string;
    /** Normalized; ids may be references (`${svc_http_monitor.api.id}`) to other entries. */
    readonly attributes: Resources[K];
    /** Where the entry's name stands, from 1. */
    readonly line: number;
    readonly column: number;
  };
}[ResourceKind];

/** An entry as it is written. */
export type RawEntry = Pick<DeclaredEntry, 'kind' | 'name' | 'line' | 'column'> & { value: unknown };

/** An entry's address: `svc_http_monitor.api`. */
export type Address = string;

export function addressOf({ kind, name }: { kind: ResourceKind; name: string }): Address {
  return `${kind}.${name}`;
}
