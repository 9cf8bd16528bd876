import type { ApiParts } from './api-parts.ts';
import type { AuditTrail } from './audit.ts';
import type { ServedEndpoint } from './endpoint.ts';
import { loginLinkEndpoints, tokenEndpoints, workspaceEndpoints } from './routes/access.ts';
import { auditEndpoints } from './routes/audit.ts';
import { componentEndpoints, namedComponentEndpoints } from './routes/components.ts';
import { declarationEndpoints } from './routes/declaration.ts';
import { deliveryEndpoints } from './routes/deliveries.ts';
import { exportEndpoints } from './routes/exports.ts';
import { healthEndpoints } from './routes/health.ts';
import { incidentEndpoints } from './routes/incidents.ts';
import { maintenanceEndpoints } from './routes/maintenance.ts';
import { monitorEndpoints, monitorStateEndpoints, monitorUsesEndpoints } from './routes/monitors.ts';
import { muteEndpoints } from './routes/mutes.ts';
import { notificationEndpoints } from './routes/notifications.ts';
import { regionEndpoints } from './routes/regions.ts';
import { checkEndpoints, resultEndpoints, transitionEndpoints } from './routes/results.ts';
import { seriesEndpoints } from './routes/series.ts';
import {
  pageArrangementEndpoints,
  pageDomainEndpoints,
  pagePreviewEndpoints,
  statusPageEndpoints,
  subscriberEndpoints,
} from './routes/status-pages.ts';
import { summaryEndpoints } from './routes/summary.ts';
import { whatIfEndpoints } from './routes/what-if.ts';

/** All endpoints of the API, in the order of the documentation. */
export function apiEndpoints(parts: ApiParts, trail: AuditTrail): ServedEndpoint[] {
  return [
    ...monitorEndpoints(parts),
    ...monitorStateEndpoints(parts),
    ...monitorUsesEndpoints(parts),
    ...resultEndpoints(parts),
    ...summaryEndpoints(parts),
    ...seriesEndpoints(parts),
    ...transitionEndpoints(parts),
    ...checkEndpoints(parts),
    ...muteEndpoints(parts),
    ...whatIfEndpoints(parts),
    ...exportEndpoints(parts),
    ...notificationEndpoints(parts),
    ...deliveryEndpoints(parts),
    ...statusPageEndpoints(parts),
    ...pageArrangementEndpoints(parts),
    ...pagePreviewEndpoints(parts),
    ...componentEndpoints(parts),
    ...namedComponentEndpoints(parts),
    ...incidentEndpoints(parts),
    ...maintenanceEndpoints(parts),
    ...declarationEndpoints(parts),
    ...pageDomainEndpoints(parts),
    ...subscriberEndpoints(parts),
    ...regionEndpoints(parts),
    ...tokenEndpoints(parts),
    ...loginLinkEndpoints(parts),
    ...workspaceEndpoints(parts),
    ...auditEndpoints(parts, trail),
    ...healthEndpoints(parts),
  ];
}
