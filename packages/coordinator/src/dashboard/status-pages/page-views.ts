import { LIMITS } from '@svc/shared/limits.ts';
import { statusPage } from '@svc/shared/resources/status-page.ts';
import type { AnswerOf, EndpointAnswering } from '../../api/endpoint.ts';
import { COMPONENT, COMPONENT_GROUP } from '../../api/routes/components.ts';
import type { STATUS_PAGE } from '../../api/routes/status-pages.ts';
import { stateLabel } from '../../web/design/states.ts';
import type { Html } from '../../web/html.ts';
import { formOf } from '../forms/fields.ts';
import type { PageApi } from '../page.ts';

/* A status page, its components and groups as the API answers them. */
export type StatusPageView = AnswerOf<typeof STATUS_PAGE.read>;
export type ComponentView = AnswerOf<typeof COMPONENT.read>;
export type GroupView = AnswerOf<typeof COMPONENT_GROUP.read>;

export const PAGE_FORM = formOf(statusPage);

/** Whether visitors get the page at all. */
export function servedState({ published }: Pick<StatusPageView, 'published'>): Html {
  return published ? stateLabel('operational', 'Served') : stateLabel('unknown', 'Not served');
}

/** Most members of a list that are read: a page shows no more components. */
const MOST_READ = 500;

/** Every component and group of a page, up to what a page shows. @throws Problem that the API answered */
export async function contentsOf(api: PageApi, pageId: number) {
  return {
    components: await componentsOf(api, pageId),
    groups: await everyMember(api, COMPONENT_GROUP.list, pageId),
  };
}

export function componentsOf(api: PageApi, pageId: number): Promise<readonly ComponentView[]> {
  return everyMember(api, COMPONENT.list, pageId);
}

async function everyMember<T>(
  api: PageApi,
  list: EndpointAnswering<{ readonly data: readonly T[]; readonly total: number }>,
  pageId: number,
): Promise<readonly T[]> {
  const all: T[] = [];
  for (let offset = 0; offset < MOST_READ; offset += LIMITS.listMaximum) {
    const { data, total } = await api.read(list, { page_id: pageId, limit: LIMITS.listMaximum, offset });
    all.push(...data);
    if (all.length >= total) break;
  }
  return all;
}
