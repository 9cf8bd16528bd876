/** A message to the user, with its place in the configuration if it has one. */
export type Diagnostic = {
  readonly severity: 'error' | 'warning';
  readonly summary: string;
  readonly detail: string;
  /** Address of the resource or data source that the message is about. */
  readonly address?: string;
  /** Path of the attribute within the configuration of the resource. */
  readonly path?: readonly (string | number)[];
};

export function errorsIn(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  return diagnostics.filter(({ severity }) => severity === 'error');
}
