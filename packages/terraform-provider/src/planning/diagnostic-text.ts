import type { AttributePath, Diagnostic, PathStep } from '../provider.ts';

/**
 * A problem of an attribute. Its message is either a complete sentence,
 * or continues a sentence after the name of the subject (`is required`).
 */
export type AttributeProblem = {
  readonly path: AttributePath;
  readonly message: string;
  readonly isMissing?: boolean;
  /** The subject of the message, if the path is not the subject. */
  readonly subject?: string;
};

export function diagnosticOf({ path, message, isMissing = false, subject }: AttributeProblem): Diagnostic {
  const about = subject ?? labelOf(path);
  return {
    severity: 'error',
    summary: `${isMissing ? 'Missing' : 'Invalid'} ${nameOf(path)}`,
    detail: `${about}${/^(?:"|there is |another |status page )/.test(message) ? ':' : ''} ${message}${/[.?]$/.test(message) ? '' : '.'}`,
    ...(path.length === 0 ? {} : { path }),
  };
}

/**
 * The path as text, like `headers[0].key`. Keys of maps are left
 * out, because a user may have written a secret there by mistake.
 */
function labelOf(path: AttributePath): string {
  const steps = path.map((step, index) => {
    if (typeof step === 'number') return `[${step}]`;
    return typeof step === 'string' ? `${index === 0 ? '' : '.'}${step}` : '';
  });
  return steps.join('');
}

/** The names in the path, such as `headers key`. */
function nameOf(path: AttributePath): string {
  const names = path.filter((step: PathStep) => typeof step === 'string');
  return names.length === 0 ? 'configuration' : names.join(' ');
}
