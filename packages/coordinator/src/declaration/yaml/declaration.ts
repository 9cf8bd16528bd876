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

/** An entry's address: `svc_http_monitor.api`. */
export type Address = string;

export function addressOf({ kind, name }: { kind: ResourceKind; name: string }): Address {
  return `${kind}.${name}`;
}

/** Names as Terraform allows them, so that a file can be converted. */
const LOCAL_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,127}$/;

/** Whether an entry may have this name. */
export function isLocalName(name: string): boolean {
  return LOCAL_NAME.test(name);
}
