import type { StoredPage } from '../configuration/stored.ts';
import type { Visit } from '../web/site.ts';
import type { Place } from './place.ts';
import { notFound } from './plain-answers.ts';

/**
 * Decides whether a visitor may read a page with everything of it: documents, feeds, badge, JSON.
 *
 * @returns null: yes; else what the visitor gets instead
 */
export type MayRead = (page: StoredPage, visit: Visit, place: Place) => Promise<Response | null>;

/** Everybody may read public pages, and nobody may know of others. */
export const onlyPublicPages: MayRead = async ({ attributes }, visit) =>
  attributes.access_type === 'public' ? null : notFound(visit);
