import type { AttributePath, Diagnostic } from '../provider.ts';
import type { Nonconformity } from './conform.ts';
import { describeProblem } from './dynamic-value.ts';
import type { Message } from './messages.ts';

const SEVERITIES = { error: 1, warning: 2 } as const;

export function diagnosticMessage({ severity, summary, detail, path }: Diagnostic): Message<'Diagnostic'> {
  return {
    severity: SEVERITIES[severity],
    // Terraform would refuse the whole answer because of one lone surrogate.
    summary: summary.toWellFormed(),
    detail: detail.toWellFormed(),
    ...(path !== undefined && path.length > 0 && { attribute: pathMessage(path) }),
  };
}

export function pathMessage(path: AttributePath): Message<'AttributePath'> {
  return {
    steps: path.map((step) => {
      if (typeof step === 'string') return { attribute_name: step };
      return typeof step === 'number'
        ? { element_key_int: step }
        : { element_key_string: step.key.toWellFormed() };
    }),
  };
}

export function hasError(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some(({ severity }) => severity === 'error');
}

/** Diagnostics for values of the provider that do not fit the provider's own schema. */
export function misfits(problems: readonly Nonconformity[]): Diagnostic[] {
  return problems.map((problem) => ({
    severity: 'error',
    summary: 'The provider returned a value that its schema does not allow',
    detail: `${describeProblem(problem)}. This is a bug of the provider, please report it.`,
    path: problem.path,
  }));
}

/** A diagnostic for an unexpected error. */
export function unexpected(action: string, error: unknown): Diagnostic {
  return {
    severity: 'error',
    summary: 'Internal error of the provider',
    detail: `${action} failed unexpectedly: ${describeError(error)}. This is a bug of the provider, please report it.`,
  };
}

/**
 * Name and message of an error. For a parser's error, the text is the name alone, because the message quotes
 * the input, which may be a secret.
 */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return 'something other than an Error was thrown';
  return error instanceof SyntaxError ? error.name : `${error.name}: ${error.message}`;
}
