import type { Diagnostic } from './diagnostic.ts';

/** A body in Terraform's JSON syntax: texts may hold `${svc_http_monitor.api.id}`. */
export type Body = { readonly [name: string]: unknown };

export type Configuration = {
  readonly resource?: Readonly<Record<string, Readonly<Record<string, Body>>>>;
  readonly data?: Readonly<Record<string, Readonly<Record<string, Body>>>>;
  readonly import?: readonly { readonly to: string; readonly id: string }[];
  readonly output?: Readonly<Record<string, { readonly value: unknown; readonly sensitive?: boolean }>>;
  /** Arguments of the provider block. They override the arguments of the workspace. */
  readonly provider?: { readonly svc: Body };
};

export type Action = 'create' | 'update' | 'replace' | 'delete' | 'read' | 'import';
export type Change = { readonly address: string; readonly action: Action };

export type Planned = { readonly changes: readonly Change[]; readonly diagnostics: readonly Diagnostic[] };

export type Applied = { readonly diagnostics: readonly Diagnostic[] };

/** Attributes by the address of the resource or data source (`data.…`). */
export type State = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export type WorkspaceOptions = {
  /** Arguments of the provider block. */
  readonly provider: Body;
  /** Environment of the provider, in addition to PATH. */
  readonly environment?: Readonly<Record<string, string>>;
};

/** A reference in Terraform's JSON syntax. */
export function ref(expression: string): string {
  return `\${${expression}}`;
}
