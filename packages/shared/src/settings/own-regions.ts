import type { z } from 'zod';
import { isOwnRegionId, MOST_OWN_REGIONS, type OwnRegion } from '../regions.ts';
import type { SettingsTable } from './environment.ts';
import { commaList, orProblem } from './setting-schemas.ts';

/** Maximum length of the name of a region of one's own, characters. */
const MOST_NAME = 64;

const ownRegions = commaList.transform((items, context) =>
  orProblem(context, (): readonly OwnRegion[] => {
    const regions = items.map(regionIn);
    const ids = regions.map(({ id }) => id);
    const twice = ids.find((id, index) => ids.indexOf(id) !== index);
    if (twice !== undefined) throw new TypeError(`names ${twice} twice`);
    if (ids.length > MOST_OWN_REGIONS)
      throw new TypeError(`names ${ids.length} regions, but at most ${MOST_OWN_REGIONS} are allowed`);
    return regions;
  }),
);

/** @throws TypeError when the item is not `id` or `id:name` */
function regionIn(item: string): OwnRegion {
  const colon = item.indexOf(':');
  const [id, name] = colon === -1 ? [item, null] : [item.slice(0, colon), item.slice(colon + 1).trim()];
  if (!isOwnRegionId(id)) {
    throw new TypeError(
      `"${id}" cannot be the id of a region: write 3 to 32 lower-case letters, digits and hyphens that do not begin with hosta-, hostb- or hostc-, and are not coordinator or system`,
    );
  }
  if (name !== null && (name === '' || name.length > MOST_NAME || /\p{C}/u.test(name)))
    throw new TypeError(`the name of ${id} must have 1 to ${MOST_NAME} characters in one line`);
  return { id, name };
}

/** The regions of one's own. All coordinators of an installation, and `npm start`, read them. */
export const OWN_REGIONS_SETTING = {
  extraRegions: {
    name: 'SVC_EXTRA_REGIONS',
    description:
      'regions of your own beside the 28, like office-berlin:Berlin office,dc-2. An id has 3 to 32 lower-case letters, digits and hyphens; a name may follow after a colon. At most 100. All coordinators need the same',
    default: '',
    schema: ownRegions as z.ZodType<readonly OwnRegion[], string>,
  },
} as const satisfies SettingsTable;
