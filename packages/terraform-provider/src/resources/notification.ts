import { notification } from '@svc/shared/resources/notification.ts';
import type { Answered, ResourceAtApi } from './resource-at-api.ts';

export const notificationAtApi: ResourceAtApi = {
  definition: notification,
  noun: 'notification channel',
  idAttributes: ['id'],
  importShape: '<notification_id>',
  warnings: failing,
};

function failing({ state, state_reason: reason }: Answered): readonly string[] {
  if (state !== 'failing') return [];
  return [`No alert can be delivered${typeof reason === 'string' ? `: ${reason}` : ''}`];
}
