import { type Dashboard, grafanaModel } from './dashboard.ts';
import { MONITORS_DASHBOARD } from './monitors-dashboard.ts';
import { monitoringReadme } from './readme.ts';
import { SERVICE_DASHBOARD } from './service-dashboard.ts';

const DASHBOARDS: readonly Dashboard[] = [SERVICE_DASHBOARD, MONITORS_DASHBOARD];

/** The generated files of `deploy/monitoring/` by their path in it. */
export function monitoringFiles(): ReadonlyMap<string, string> {
  return new Map([
    ['README.md', monitoringReadme()],
    ...DASHBOARDS.map((dashboard): [string, string] => [
      `grafana/dashboards/${dashboard.uid}.json`,
      `${JSON.stringify(grafanaModel(dashboard), null, 2)}\n`,
    ]),
  ]);
}
