import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { type State, stateLabel, statePath } from '../../web/design/states.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { LAND } from './land.ts';
import { COORDINATES, PLACES } from './places.ts';
import { type Point, spread } from './spread.ts';

/** The part of the world that is drawn, degrees. One unit of the drawing is one degree. */
const WEST = -137;
const EAST = 167;
const NORTH = 70;
const SOUTH = -47;

/** Size of the mark of a region that has agents, and the distance between marks. */
const MARK = 5;
const APART = 6.2;

/** A region on the map; a null state is one without agents. */
export type MappedRegion = {
  readonly region: Region;
  readonly state: State | null;
  readonly word: string;
};

function pointOf([longitude, latitude]: readonly [number, number]): Point {
  return { x: longitude - WEST, y: NORTH - latitude };
}

const POINTS = REGIONS.map((region) => pointOf(COORDINATES[region]));
const PLACED = spread(POINTS, APART);

const LAND_PATH = LAND.map(
  (corners) => `M${corners.map((corner) => `${pointOf(corner).x} ${pointOf(corner).y}`).join('L')}Z`,
).join('');

const GRID_PATH = [
  ...[-120, -90, -60, -30, 0, 30, 60, 90, 120, 150].map(
    (longitude) => `M${longitude - WEST} 0V${NORTH - SOUTH}`,
  ),
  ...[60, 30, 0, -30].map((latitude) => `M0 ${NORTH - latitude}H${EAST - WEST}`),
].join('');

/**
 * The regions on a map of the world. Those with agents have the shape of their state and their name; the others are
 * dots. The table beside it says the same in words.
 */
export function regionMap(regions: readonly MappedRegion[]): Html {
  const used = regions.filter(({ state }) => state !== null);
  const words = [...new Set(used.map(({ state, word }) => `${state} ${word}`))].map((key) => {
    const same = used.filter(({ state, word }) => `${state} ${word}` === key);
    return { state: same[0]?.state ?? 'unknown', word: same[0]?.word ?? '', count: same.length };
  });
  const summary = words.map(({ word, count }) => `${word}: ${count}`).join(', ');
  return html`<figure class="region-map">
<svg viewBox="0 0 ${EAST - WEST} ${NORTH - SOUTH}" role="img" aria-label="Map of the regions. ${summary === '' ? 'None has an agent' : summary}. The table has the same in words.">
<path class="grid" d="${GRID_PATH}"/><path class="land" d="${LAND_PATH}"/>
${regions.map((each) => (each.state === null ? dot(each) : NO_HTML))}
${used.map(leader)}
${used.map(marked)}</svg>
<figcaption class="row soft small">${words.map(({ state, word, count }) => html`<span>${stateLabel(state, word)} ${count}</span>`)}
<span><svg class="mark" viewBox="0 0 16 16" aria-hidden="true"><circle class="unused" cx="8" cy="8" r="3.5"/></svg> Without agents ${regions.length - used.length}</span></figcaption>
</figure>`;
}

function indexOf(region: Region): number {
  return REGIONS.indexOf(region);
}

function dot({ region }: MappedRegion): Html {
  const { x, y } = POINTS[indexOf(region)] ?? { x: 0, y: 0 };
  return html`<circle class="unused" cx="${fixed(x)}" cy="${fixed(y)}" r="1.1"><title>${region}, ${PLACES[region]}: without agents</title></circle>`;
}

/** A line from a mark that was moved to its place. */
function leader({ region }: MappedRegion): Html {
  const place = POINTS[indexOf(region)];
  const mark = PLACED[indexOf(region)];
  if (place === undefined || mark === undefined || Math.hypot(place.x - mark.x, place.y - mark.y) < 1)
    return NO_HTML;
  return html`<path class="leader" d="M${fixed(place.x)} ${fixed(place.y)}L${fixed(mark.x)} ${fixed(mark.y)}"/>`;
}

function marked({ region, state, word }: MappedRegion): Html {
  const { x, y } = PLACED[indexOf(region)] ?? { x: 0, y: 0 };
  const scale = MARK / 16;
  return html`<g class="state-${state}"><title>${region}, ${PLACES[region]}: ${word}</title><circle class="halo" cx="${fixed(x)}" cy="${fixed(y)}" r="${MARK / 2 + 0.5}"/><path class="shape" fill-rule="evenodd" transform="translate(${fixed(x - MARK / 2)} ${fixed(y - MARK / 2)}) scale(${scale})" d="${statePath(state ?? 'unknown')}"/></g>`;
}

function fixed(value: number): string {
  return String(Math.round(value * 100) / 100);
}
