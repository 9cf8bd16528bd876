import type { Operation } from './document.ts';
import type { Ids, World } from './world.ts';

/** Functions by path, which create the objects that its ids name, with all details that the path can show. */
const SUBJECTS: Readonly<Record<string, (world: World) => Promise<Ids>>> = {
  '/v1/monitors/{id}': monitor,
  '/v1/monitors/{id}/results': monitor,
  '/v1/monitors/{id}/summary': monitor,
  '/v1/monitors/{id}/transitions': monitor,
  '/v1/monitors/{id}/series': monitor,
  '/v1/monitors/{id}/phases': monitor,
  '/v1/monitors/{id}/uptime': monitor,
  '/v1/monitors/{id}/deliveries': async (world) => {
    const id = await world.monitor();
    await world.delivery('dead', { monitor: id });
    return { id };
  },
  '/v1/monitors/{id}/uses': monitor,
  '/v1/monitors/{id}/check': monitor,
  '/v1/monitors/{id}/mute': monitor,
  '/v1/monitors/{id}/unmute': monitor,
  '/v1/monitors/{id}/what-if': monitor,
  '/v1/monitors/{id}/otlp-test': async (world) => ({ id: await world.exportedMonitor() }),
  '/v1/notifications/{id}': async (world) => ({ id: await world.notification() }),
  '/v1/notifications/{id}/test': async (world) => ({ id: await world.notification() }),
  '/v1/notifications/{id}/retry': async (world) => {
    const id = await world.notification();
    await world.delivery('dead', { notification: id });
    return { id };
  },
  '/v1/notifications/{id}/deliveries': async (world) => {
    const id = await world.notification();
    await world.delivery('dead', { notification: id });
    return { id };
  },
  '/v1/deliveries/{id}': async (world) => ({ id: await world.delivery('dead') }),
  '/v1/deliveries/{id}/retry': async (world) => ({ id: await world.delivery('dead') }),
  '/v1/status-pages/{id}': async (world) => ({ id: await world.page() }),
  '/v1/status-pages/{id}/preview': async (world) => ({ id: await world.page() }),
  '/v1/status-pages/{id}/appearance': async (world) => ({ id: await world.page() }),
  '/v1/status-pages/{id}/arrangement': async (world) => ({ id: await world.page() }),
  '/v1/status-pages/{page_id}/components': async (world) => ({
    page_id: (await world.component()).page_id ?? '',
  }),
  '/v1/status-pages/{page_id}/components/{id}': (world) => world.component(),
  '/v1/status-pages/{page_id}/component-groups': async (world) => ({
    page_id: (await world.group()).page_id ?? '',
  }),
  '/v1/status-pages/{page_id}/component-groups/{id}': (world) => world.group(),
  '/v1/status-pages/{id}/domain': async (world) => ({ id: await world.pageWithDomain() }),
  '/v1/status-pages/{id}/domain/check': async (world) => ({ id: await world.pageWithDomain() }),
  '/v1/status-pages/{page_id}/subscribers': async (world) => ({
    page_id: (await world.subscriber()).page_id ?? '',
  }),
  '/v1/status-pages/{page_id}/subscribers/{id}': (world) => world.subscriber(),
  '/v1/incidents/{id}': async (world) => ({ id: (await world.incident()).incident_id ?? '' }),
  '/v1/incidents/{id}/acknowledge': async (world) => ({ id: (await world.incident()).incident_id ?? '' }),
  '/v1/incidents/{id}/unacknowledge': async (world) => ({ id: (await world.incident()).incident_id ?? '' }),
  '/v1/incidents/{incident_id}/updates': async (world) => ({
    incident_id: (await world.incident()).incident_id ?? '',
  }),
  '/v1/incidents/{incident_id}/updates/{id}': (world) => world.incident(),
  '/v1/maintenance-windows/{id}': async (world) => ({ id: await world.window() }),
  '/v1/maintenance-windows/{id}/end': async (world) => ({ id: await world.window() }),
  '/v1/tokens/{id}': async (world) => ({ id: await world.newToken() }),
};

async function monitor(world: World): Promise<Ids> {
  return { id: await world.checkedMonitor() };
}

/**
 * Creates the objects that the ids of a path name.
 *
 * @throws Error for a path that has ids and no entry above. Add an entry for it
 */
export async function subjectOf({ path }: Operation, world: World): Promise<Ids> {
  if (!path.includes('{')) return {};
  const make = SUBJECTS[path];
  if (make === undefined) throw new Error(`test/support/contract/subjects.ts makes nothing for ${path}`);
  return make(world);
}

export function filled(path: string, ids: Ids): string {
  return path.replace(/\{(\w+)\}/g, (_all, name: string) => ids[name] ?? '');
}
