import type { StoredPage } from '../declaration/stored.ts';
import type { Visit } from '../web/site.ts';
import type { Place } from './place.ts';

/**
 * Decides whether a visitor may read a page with everything of it: documents, feeds, badge, JSON.
 *
 * @returns null: yes; else what the visitor gets instead
 */
export type MayRead = (page: StoredPage, visit: Visit, place: Place) => Promise<Response | null>;
