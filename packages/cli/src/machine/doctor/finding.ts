/**
 * The result of one check of the doctor. `skipped`: the check was not possible, and `todo` says how to make
 * it possible.
 */
export type Finding = {
  readonly check: CheckName;
  readonly level: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly what: string;
  /** Advice for the operator; '': nothing needs to be done. */
  readonly todo: string;
};

/** The subjects that the doctor looks at. */
export type CheckName =
  | 'process'
  | 'settings'
  | 'files'
  | 'disk'
  | 'dns'
  | 'nats'
  | 'tls'
  | 'clock'
  | 'egress';

/** Findings of one check, by their level. */
export function findingsOf(check: CheckName) {
  return {
    ok: (what: string): Finding => ({ check, level: 'ok', what, todo: '' }),
    warning: (what: string, todo: string): Finding => ({ check, level: 'warning', what, todo }),
    failed: (what: string, todo: string): Finding => ({ check, level: 'failed', what, todo }),
    skipped: (what: string, todo: string): Finding => ({ check, level: 'skipped', what, todo }),
  };
}
