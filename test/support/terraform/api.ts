import { type RunningApi, startApi } from '../api.ts';
import type { Body } from './runner.ts';

/**
 * Starts an API without a rate limit. Its clock stands still, so
 * requests that count against the default limit would count for ever.
 */
export function startApiWithoutLimit(): Promise<RunningApi> {
  return startApi({ rate: { perSecond: 1_000, atOnce: 1_000_000 } });
}

/** Arguments of the provider block. */
export function providerFor(api: RunningApi, more: Body = {}): { provider: Body } {
  return { provider: { base_url: api.url, api_token: api.operator, ...more } };
}
