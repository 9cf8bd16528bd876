import { LIMITS } from '@svc/shared/limits.ts';
import type { PageApi } from '../page.ts';
import type { Listed } from '../resources/lists.ts';
import type { Placed } from './arrangement.ts';

/** A status page as the API answers it. */
export type StatusPageView = {
  readonly id: string;
  readonly title: string;
  readonly slug: string;
  readonly custom_domain: string | null;
  readonly access_type: string;
  readonly published: boolean;
  readonly theme: 'system' | 'light' | 'dark';
  readonly latency: 'none' | '24h' | '7d';
  readonly warnings: readonly string[];
};

/** A component as the API answers it. */
export type ListedComponent = Placed & {
  readonly type: 'monitor' | 'static';
  readonly monitor_id: string | null;
  readonly name: string | null;
  readonly warnings: readonly string[];
};

export type GroupView = { readonly id: string; readonly name: string };

/** Most members of a list that are read: a page shows no more components. */
const MOST_READ = 500;

/** Every member of a list of the API, up to what a page shows. @throws Problem that the API answered */
export async function everyMember<T>(api: PageApi, path: string): Promise<readonly T[]> {
  const all: T[] = [];
  for (let offset = 0; offset < MOST_READ; offset += LIMITS.listMaximum) {
    const { data, total } = await api.read<Listed<T>>(`${path}?limit=${LIMITS.listMaximum}&offset=${offset}`);
    all.push(...data);
    if (all.length >= total) break;
  }
  return all;
}
