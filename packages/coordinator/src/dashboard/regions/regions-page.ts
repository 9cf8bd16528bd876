import { isFixedRegion } from '@svc/shared/regions.ts';
import type { RegionView } from '../../api/answers.ts';
import { listRegions } from '../../api/routes/regions.ts';
import { type State, stateLabel } from '../../web/design/states.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { age, instant } from '../../web/times.ts';
import { REGIONS_STYLE } from '../dashboard-assets.ts';
import type { DashboardPage } from '../dashboard-page.ts';
import { pageHead } from '../page-parts.ts';
import { type MappedRegion, placeOf, regionMap } from './map.ts';

/** Words for the faults that agents report about themselves. */
const SICKNESS_WORDS = {
  'network-down': 'has lost its own network',
  starved: 'waits for a CPU',
} as const satisfies Readonly<Record<RegionView['sick'][number], string>>;

/** The page of the regions with their agents and faults. */
export const regionsPage: DashboardPage = {
  method: 'GET',
  path: '/regions',
  scope: 'read',
  navigation: { label: 'Regions', group: 'Watch' },
  async handle({ api, now }) {
    const { data } = await api.read(listRegions, {});
    const used = data.filter(({ agents, last_seen_at }) => agents.length > 0 || last_seen_at !== null);
    const others = data.filter((region) => !used.includes(region));
    return {
      title: 'Regions',
      styles: [REGIONS_STYLE],
      isLive: true,
      body: html`${pageHead('Regions', { lead: 'Checks run from the regions that have an agent. A fault of an agent never counts against a monitor.' })}
<div id="regions" class="stack-large" data-live>
${regionMap(data.flatMap((region) => mapped(region, used.includes(region))))}
${used.length === 0 ? noAgents() : regionTable(used, now)}
${
  others.length === 0
    ? NO_HTML
    : html`<section class="stack"><h2>Without agents</h2>
<p class="soft">Agents have never run in these regions: <code>svc region add REGION</code> makes the key and the settings for one.
If you started an agent and it is not on this page, its log and <code>svc doctor agent</code> say why.</p>
<ul class="places plain-list">${others.map((region) => html`<li>${neverUsed(region, now)}</li>`)}</ul></section>`
}
</div>`,
    };
  },
};

/** The region on the map. A region of one's own has no place on it. */
function mapped(view: RegionView, isUsed: boolean): MappedRegion[] {
  const { region } = view;
  if (!isFixedRegion(region)) return [];
  const [state, word] = stateOf(view);
  return [{ region, state: isUsed ? state : null, word }];
}

/**
 * Shows a region that never had an agent. If monitors declare
 * the region, it also shows since when they wait for an agent.
 */
function neverUsed(view: RegionView, now: number): Html {
  const missed =
    view.absent_since === null
      ? NO_HTML
      : html`<span class="soft small">missed${absenceText(view, now)}</span>`;
  return html`<code>${view.region}</code> <span class="soft">${placeOf(view)}</span> ${missed}`;
}

function noAgents(): Html {
  return html`<div class="empty"><h2>No agent has been seen</h2>
<p class="soft">Nothing is checked until an agent runs. <code>npm start</code> runs some on this machine, and <code>svc region add REGION</code> prepares one elsewhere.</p></div>`;
}

function regionTable(regions: readonly RegionView[], now: number): Html {
  return html`<div class="table-frame" role="region" tabindex="0" aria-label="Regions"><table>
<thead><tr><th scope="col">State</th><th scope="col">Region</th><th scope="col">Agents</th>
<th scope="col" class="number">Attempts now</th><th scope="col">Last seen</th></tr></thead>
<tbody>${regions.map((region) => regionRow(region, now))}</tbody></table></div>`;
}

function regionRow(view: RegionView, now: number): Html {
  const { region, agents, last_seen_at } = view;
  const [state, word] = stateOf(view);
  const running = agents.reduce((sum, agent) => sum + agent.running, 0);
  const capacity = agents.reduce((sum, agent) => sum + agent.capacity, 0);
  const figures = new Intl.NumberFormat('en');
  return html`<tr><td>${stateLabel(state, word)}</td>
<th scope="row" class="text-cell">${region}<span class="target soft small">${placeOf(view)}</span></th>
<td class="text-cell">${agentsCell(view, now)}</td>
<td class="number">${agents.length === 0 ? NO_HTML : html`${figures.format(running)} <span class="soft">of ${figures.format(capacity)}</span>`}</td>
<td class="soft">${last_seen_at === null ? NO_HTML : age(last_seen_at, now)}</td></tr>`;
}

/**
 * Whether the region has agents, but only other coordinators
 * hear them, because this coordinator leads no shard.
 */
function isHeardElsewhere({ agents, absent_since, last_seen_at }: RegionView): boolean {
  return agents.length === 0 && absent_since === null && last_seen_at !== null;
}

/**
 * The state of a region: down without agents; degraded if
 * all agents are stopping, or one agent reports a fault.
 */
function stateOf(view: RegionView): readonly [State, string] {
  const { agents, sick } = view;
  if (isHeardElsewhere(view)) return ['operational', 'Has agents'];
  if (agents.length === 0) return ['down', 'No agent'];
  if (agents.every((agent) => agent.draining)) return ['degraded', 'Stopping'];
  return sick.length > 0 ? ['degraded', 'Sick'] : ['operational', 'Works'];
}

/** The agents of a region, and since when none takes jobs. */
function agentsCell(view: RegionView, now: number): Html {
  if (isHeardElsewhere(view))
    return html`<span class="soft">Other coordinators hear them: this one leads no shard.</span>`;
  const since = absenceText(view, now);
  if (view.agents.length === 0) return html`<span class="soft">none${since}</span>`;
  const idle =
    view.absent_since === null ? NO_HTML : html`<span class="soft small">none has taken jobs${since}</span>`;
  return html`<ul class="plain-list">${view.agents.map(agentLine)}</ul>${idle}`;
}

function agentLine({ id, version, machine, draining, sick }: RegionView['agents'][number]): Html {
  const faults = [...(draining ? ['takes no new jobs'] : []), ...sick.map((each) => SICKNESS_WORDS[each])];
  return html`<li>${id} <span class="soft small">${version}${machine === null ? NO_HTML : html` on ${machine}`}</span>${
    faults.length === 0 ? NO_HTML : html`<span class="field-error target">${faults.join(', ')}</span>`
  }</li>`;
}

/**
 * Says since when a region has no agent that takes jobs: ` since 22 Nov 2026, 14:03 UTC (3 minutes ago)`.
 * Empty if an agent takes jobs, or if the region never had an agent and no monitor declares it.
 *
 * @param now epoch ms
 */
export function absenceText({ absent_since: since }: Pick<RegionView, 'absent_since'>, now: number): Html {
  return since === null ? NO_HTML : html` since ${instant(since)} (${age(since, now)})`;
}
