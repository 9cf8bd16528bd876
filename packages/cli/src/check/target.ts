import { UsageError } from '../command.ts';

/** Options that decide how a target is checked. */
export const TARGET_OPTIONS = {
  timeout: { value: 'MS', description: 'bound on the attempt, ms (the default: that of monitors)' },
  'follow-redirects': { description: 'follow redirects' },
  json: { description: 'write JSON' },
} as const;

export type TargetOptions = {
  readonly timeout?: string;
  readonly 'follow-redirects'?: true;
  readonly json?: true;
};

/** An inactive monitor with this target, as the API takes it. */
export type TargetDraft = {
  readonly type: 'http' | 'tcp' | 'dns';
  readonly [attribute: string]: unknown;
};

/**
 * Makes a draft from the target that the user wrote.
 *
 * @throws UsageError when the text is not a target of any kind, or the time-out is not a number
 */
export function draftOf(
  target: string,
  { timeout, followsRedirects }: { timeout: string | undefined; followsRedirects: boolean },
): TargetDraft {
  if (timeout !== undefined && !/^[1-9]\d{0,5}$/.test(timeout))
    throw new UsageError(`--timeout must be a number of milliseconds, not "${timeout}"`);
  return {
    name: 'check',
    periodicity: '30s',
    active: false,
    ...(timeout === undefined ? {} : { timeout: Number(timeout) }),
    ...targetIn(target, followsRedirects),
  };
}

function targetIn(target: string, followsRedirects: boolean): TargetDraft {
  const [, scheme, rest = ''] = /^(https?|tcp|dns):\/\/(.+)$/i.exec(target) ?? [];
  switch (scheme?.toLowerCase()) {
    case 'http':
    case 'https':
      return { type: 'http', url: target, follow_redirects: followsRedirects };
    case 'tcp':
      return { type: 'tcp', uri: rest.replace(/\/$/, '') };
    case 'dns':
      return { type: 'dns', uri: rest.replace(/\/$/, '') };
    default:
      break;
  }
  if (/^(?:[\w.-]+|\[[\da-f:.%]+\]):\d{1,5}$/i.test(target)) return { type: 'tcp', uri: target };
  if (/^[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)+\.?$/u.test(target)) return { type: 'dns', uri: target };
  throw new UsageError(
    `"${target}" is no target: write https://www.example.com/, tcp://host:port or dns://name`,
  );
}
