import { type FixedRegion, isFixedRegion, REGIONS, type Region } from '@svc/shared/regions.ts';
import { type State, stateLabel, statePath } from '../../web/design/states.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';

/** The place of each region, in words. */
const PLACES: Readonly<Record<FixedRegion, string>> = {
  'hosta-ams': 'Amsterdam, Netherlands',
  'hosta-arn': 'Stockholm, Sweden',
  'hosta-bom': 'Mumbai, India',
  'hosta-cdg': 'Paris, France',
  'hosta-dfw': 'Dallas, United States',
  'hosta-ewr': 'Secaucus, United States',
  'hosta-fra': 'Frankfurt, Germany',
  'hosta-gru': 'São Paulo, Brazil',
  'hosta-iad': 'Ashburn, United States',
  'hosta-jnb': 'Johannesburg, South Africa',
  'hosta-lax': 'Los Angeles, United States',
  'hosta-lhr': 'London, United Kingdom',
  'hosta-nrt': 'Tokyo, Japan',
  'hosta-ord': 'Chicago, United States',
  'hosta-sjc': 'San José, United States',
  'hosta-sin': 'Singapore',
  'hosta-syd': 'Sydney, Australia',
  'hosta-yyz': 'Toronto, Canada',
  'hostb-fra': 'Frankfurt, Germany',
  'hostb-par': 'Paris, France',
  'hostb-sfo': 'San Francisco, United States',
  'hostb-sin': 'Singapore',
  'hostb-tyo': 'Tokyo, Japan',
  'hostb-was': 'Washington, United States',
  'hostc-us-west2': 'California, United States',
  'hostc-us-east4': 'Virginia, United States',
  'hostc-europe-west4': 'Eemshaven, Netherlands',
  'hostc-asia-southeast1': 'Singapore',
};

/** Longitude and latitude of each region's city, or of the middle of its area, degrees. */
export const COORDINATES: Readonly<Record<FixedRegion, readonly [longitude: number, latitude: number]>> = {
  'hosta-ams': [4.9, 52.4],
  'hosta-arn': [18.1, 59.3],
  'hosta-bom': [72.9, 19.1],
  'hosta-cdg': [2.4, 48.9],
  'hosta-dfw': [-96.8, 32.8],
  'hosta-ewr': [-74.1, 40.8],
  'hosta-fra': [8.7, 50.1],
  'hosta-gru': [-46.6, -23.6],
  'hosta-iad': [-77.5, 39],
  'hosta-jnb': [28, -26.2],
  'hosta-lax': [-118.2, 34.1],
  'hosta-lhr': [-0.1, 51.5],
  'hosta-nrt': [139.7, 35.7],
  'hosta-ord': [-87.6, 41.9],
  'hosta-sjc': [-121.9, 37.3],
  'hosta-sin': [103.8, 1.4],
  'hosta-syd': [151.2, -33.9],
  'hosta-yyz': [-79.4, 43.7],
  'hostb-fra': [8.7, 50.1],
  'hostb-par': [2.4, 48.9],
  'hostb-sfo': [-122.4, 37.8],
  'hostb-sin': [103.8, 1.4],
  'hostb-tyo': [139.7, 35.7],
  'hostb-was': [-77, 38.9],
  'hostc-us-west2': [-118.2, 34.1],
  'hostc-us-east4': [-77.5, 39],
  'hostc-europe-west4': [6.8, 53.4],
  'hostc-asia-southeast1': [103.8, 1.4],
};

/** A point in units of the map. */
export type Point = { readonly x: number; readonly y: number };

/**
 * Maximum number of rounds in which points are pushed apart.
 * Some points may still be too near after the last round.
 */
const MOST_TURNS = 500;

/**
 * Moves points apart that are nearer to each other than
 * `distance`. The result is the same for the same points.
 */
export function spreadPoints(points: readonly Point[], distance: number): Point[] {
  let placed: Point[] = [...points];
  for (let turn = 0; turn < MOST_TURNS; turn += 1) {
    const next = placed.map((point, index) => pushed(placed, point, index, distance));
    if (next.every((point, index) => point === placed[index])) return placed;
    placed = next;
  }
  return placed;
}

/** A point after one push from each point that is too near; the same object if no point is too near. */
function pushed(all: readonly Point[], point: Point, index: number, distance: number): Point {
  let [dx, dy] = [0, 0];
  for (const [other, { x, y }] of all.entries()) {
    if (other === index) continue;
    const apart = Math.hypot(point.x - x, point.y - y);
    if (apart >= distance - 0.01) continue;
    // If two points are at the same place, the earlier one moves up, and the later one down.
    const [ux, uy] =
      apart > 0.001 ? [(point.x - x) / apart, (point.y - y) / apart] : [0, index < other ? -1 : 1];
    dx += (ux * (distance - apart)) / 2;
    dy += (uy * (distance - apart)) / 2;
  }
  return dx === 0 && dy === 0 ? point : { x: point.x + dx, y: point.y + dy };
}

/** A corner of the outline, degrees. */
type Corner = readonly [longitude: number, latitude: number];

/*
 * A coarse outline of the land, drawn for this map. Each text is one piece of land: the longitude
 * and latitude of each of its corners, in degrees. Small islands and inland seas are left out.
 */
const NORTH_AMERICA = `
  -168,66 -156,71 -128,70 -115,68 -95,68 -94,59 -85,55 -80,52 -79,58 -78,62 -70,61 -65,59 -56,52
  -66,50 -60,46 -66,44 -70,43 -74,40 -76,35 -81,31 -80,25 -83,29 -90,30 -97,27 -97,21 -91,18
  -87,21 -88,16 -83,15 -83,10 -78,8 -85,10 -95,16 -105,20 -113,31 -109,23 -117,33 -124,40 -124,48
  -131,55 -145,60 -152,59 -165,55`;

const SOUTH_AMERICA = `
  -78,8 -72,12 -62,10 -52,5 -50,0 -35,-6 -39,-14 -41,-22 -48,-27 -54,-34 -58,-38 -65,-42 -68,-50
  -66,-55 -74,-52 -74,-42 -72,-30 -70,-18 -76,-14 -81,-5 -80,1`;

const AFRICA = `
  -6,36 10,37 11,33 20,31 32,31 37,21 43,12 51,12 42,-2 40,-11 35,-20 32,-28 26,-34 18,-34 12,-17
  13,-5 9,4 4,6 -8,4 -13,9 -17,15 -16,21 -10,29`;

const EURASIA = `
  -9,37 -9,43 -2,43 -1,46 -5,48 2,51 8,54 8,57 11,56 12,54 20,55 23,59 29,60 22,61 25,65 21,64
  17,61 18,59 16,56 13,56 11,59 5,59 5,62 14,68 25,71 41,67 34,65 45,68 60,69 70,73 87,75 113,74
  140,73 160,70 180,69 179,65 163,60 162,56 157,51 156,58 142,59 135,55 140,50 140,46 131,43
  128,39 129,35 126,35 125,39 121,40 118,39 122,37 119,35 122,31 120,26 113,22 108,21 106,19
  109,13 105,9 101,13 99,9 104,1 101,3 98,9 98,16 94,17 91,22 87,21 80,15 80,11 77,8 73,17 70,22
  66,25 57,26 49,30 51,25 56,24 60,22 52,16 44,13 39,21 35,28 36,36 28,37 27,40 31,41 41,41 37,45
  31,46 28,42 23,40 24,38 22,37 19,42 13,45 18,40 16,38 10,44 3,43 0,39 -5,36`;

const AUSTRALIA = `
  114,-22 122,-18 130,-12 136,-12 136,-16 140,-17 142,-11 146,-19 153,-26 150,-37 144,-38 138,-35
  131,-31 124,-33 115,-34`;

const ISLANDS = [
  '-5,50 1,51 0,53 -2,57 -5,58 -3,54 -5,52',
  '-10,52 -6,52 -6,55 -9,54',
  '-24,65 -14,65 -18,63 -22,64',
  '-45,60 -22,70 -20,75 -58,75 -54,69 -52,64',
  '-85,22 -75,20 -80,23',
  '-74,20 -68,18 -70,20',
  '49,-12 50,-16 47,-25 44,-22 44,-16',
  '80,9 82,7 80,6',
  '130,32 136,34 140,35 141,39 141,41 139,39 136,36 131,34',
  '140,42 145,43 142,45',
  '120,18 122,17 126,7 122,7 120,14',
  '95,5 104,-3 105,-6 100,-1',
  '105,-6 114,-7 115,-9 106,-7',
  '109,1 117,7 119,5 116,-4 110,-3',
  '120,1 125,1 121,-2 122,-5 119,-5',
  '131,-1 141,-3 150,-10 143,-9 138,-8 133,-4',
  '145,-41 148,-41 147,-43',
  '173,-35 178,-38 175,-41 174,-38',
  '173,-41 171,-44 167,-46 171,-43',
];

const LAND: readonly (readonly Corner[])[] = [
  NORTH_AMERICA,
  SOUTH_AMERICA,
  AFRICA,
  EURASIA,
  AUSTRALIA,
  ...ISLANDS,
].map(cornersIn);

function cornersIn(text: string): Corner[] {
  return [...text.matchAll(/(-?\d+),(-?\d+)/g)].map(([, longitude, latitude]) => [
    Number(longitude),
    Number(latitude),
  ]);
}

/** Edges of the part of the world that the map shows, degrees. One unit of the map is one degree. */
const WEST = -137;
const EAST = 167;
const NORTH = 70;
const SOUTH = -47;

/**
 * `MARK`: size of the mark of a region that has agents. `APART`:
 * minimum distance between two marks. Both are in units of the map.
 */
const MARK = 5;
const APART = 6.2;

/** A region on the map. `state` is null for a region without agents. */
export type MappedRegion = {
  readonly region: FixedRegion;
  readonly state: State | null;
  readonly word: string;
};

function pointOf([longitude, latitude]: readonly [number, number]): Point {
  return { x: longitude - WEST, y: NORTH - latitude };
}

const POINTS = REGIONS.map((region) => pointOf(COORDINATES[region]));
const PLACED = spreadPoints(POINTS, APART);

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
 * A map of the world with the regions. A region with agents has the shape of its state. A region without
 * agents is a dot. The table beside the map says the same in words.
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
${used.map(regionMark)}</svg>
<figcaption class="row soft small">${words.map(({ state, word, count }) => html`<span>${stateLabel(state, word)} ${count}</span>`)}
<span><svg class="mark" viewBox="0 0 16 16" aria-hidden="true"><circle class="unused" cx="8" cy="8" r="3.5"/></svg> Without agents ${regions.length - used.length}</span></figcaption>
</figure>`;
}

/** Where a region is, in words; for a region of one's own, the name that the settings give it. */
export function placeOf({ region, name }: { readonly region: Region; readonly name: string | null }): string {
  return isFixedRegion(region) ? PLACES[region] : (name ?? '');
}

function indexOf(region: FixedRegion): number {
  return REGIONS.indexOf(region);
}

function dot({ region }: MappedRegion): Html {
  const { x, y } = POINTS[indexOf(region)] ?? { x: 0, y: 0 };
  return html`<circle class="unused" cx="${fixed(x)}" cy="${fixed(y)}" r="1.1"><title>${region}, ${PLACES[region]}: without agents</title></circle>`;
}

/** A line from the place of a region to its mark, if the mark was moved by one unit or more. */
function leader({ region }: MappedRegion): Html {
  const place = POINTS[indexOf(region)];
  const mark = PLACED[indexOf(region)];
  if (place === undefined || mark === undefined || Math.hypot(place.x - mark.x, place.y - mark.y) < 1)
    return NO_HTML;
  return html`<path class="leader" d="M${fixed(place.x)} ${fixed(place.y)}L${fixed(mark.x)} ${fixed(mark.y)}"/>`;
}

function regionMark({ region, state, word }: MappedRegion): Html {
  const { x, y } = PLACED[indexOf(region)] ?? { x: 0, y: 0 };
  const scale = MARK / 16;
  return html`<g class="state-${state}"><title>${region}, ${PLACES[region]}: ${word}</title><circle class="halo" cx="${fixed(x)}" cy="${fixed(y)}" r="${MARK / 2 + 0.5}"/><path class="shape" fill-rule="evenodd" transform="translate(${fixed(x - MARK / 2)} ${fixed(y - MARK / 2)}) scale(${scale})" d="${statePath(state ?? 'unknown')}"/></g>`;
}

function fixed(value: number): string {
  return String(Math.round(value * 100) / 100);
}
