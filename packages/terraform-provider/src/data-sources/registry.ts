import type { Connection } from '../connection.ts';
import type { DataSource } from '../provider.ts';
import { monitorDataSource } from './monitor.ts';
import { MonitorsDataSource } from './monitors.ts';
import { notificationDataSource } from './notification.ts';
import { ObjectDataSource } from './object-data-source.ts';
import { statusPageDataSource } from './status-page.ts';

export function dataSources(connection: Connection): Readonly<Record<string, DataSource>> {
  return {
    svc_monitor: new ObjectDataSource(monitorDataSource, connection),
    svc_monitors: new MonitorsDataSource(connection),
    svc_notification: new ObjectDataSource(notificationDataSource, connection),
    svc_status_page: new ObjectDataSource(statusPageDataSource, connection),
  };
}
