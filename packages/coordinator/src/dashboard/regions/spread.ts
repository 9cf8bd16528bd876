/** A point of the map, in its units. */
export type Point = { readonly x: number; readonly y: number };

/** Turns after which points that have no room for their distance stay as they are. */
const MOST_TURNS = 500;

/**
 * Moves points apart that are nearer to each other than a distance, each as little as it takes. The same points always
 * get the same places.
 */
export function spread(points: readonly Point[], distance: number): Point[] {
  let placed: Point[] = [...points];
  for (let turn = 0; turn < MOST_TURNS; turn += 1) {
    const next = placed.map((point, index) => pushed(placed, point, index, distance));
    if (next.every((point, index) => point === placed[index])) return placed;
    placed = next;
  }
  return placed;
}

/** A point after one push of all those that are too near; the same point where none is. */
function pushed(all: readonly Point[], point: Point, index: number, distance: number): Point {
  let [dx, dy] = [0, 0];
  for (const [other, { x, y }] of all.entries()) {
    if (other === index) continue;
    const apart = Math.hypot(point.x - x, point.y - y);
    if (apart >= distance - 0.01) continue;
    // Points at one place part in the order in which they are given.
    const [ux, uy] =
      apart > 0.001 ? [(point.x - x) / apart, (point.y - y) / apart] : [0, index < other ? -1 : 1];
    dx += (ux * (distance - apart)) / 2;
    dy += (uy * (distance - apart)) / 2;
  }
  return dx === 0 && dy === 0 ? point : { x: point.x + dx, y: point.y + dy };
}
