import { z } from 'zod';
import type { SettingsTable } from '../settings/environment.ts';
import { orProblem } from '../settings/setting-schemas.ts';
import { parseNoProxy } from './no-proxy.ts';
import { parseProxy } from './proxy.ts';

/** Schema of a setting that names a proxy. */
export const proxyUrl = z
  .string()
  .transform((text, context) => orProblem(context, () => parseProxy(text)))
  .optional();

export const NO_PROXY_SETTINGS = {
  noProxy: {
    name: 'NO_PROXY',
    otherName: 'no_proxy',
    description:
      'hosts that are reached without the proxy: names with their subdomains, addresses, CIDRs, or * for all; also as no_proxy',
    default: '',
    schema: z.string().transform(parseNoProxy),
  },
} as const satisfies SettingsTable;
