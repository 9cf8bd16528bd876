/** A message to the user, with its place in the configuration if it has one. */
export type Diagnostic = {
  readonly severity: 'error' | 'warning';
  readonly summary: string;
  readonly detail: string;
  /** Of the resource or data source concerned. */
  readonly address?: string;
  /** Within its configuration. */
  readonly path?: readonly (string | number)[];
};

export function errorsIn(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  return diagnostics.filter(({ severity }) => severity === 'error');
}
