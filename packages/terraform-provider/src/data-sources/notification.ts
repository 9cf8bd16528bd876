import { notification } from '@svc/shared/resources/notification.ts';
import type { ObjectKind } from './object-data-source.ts';

const {
  name,
  provider_type,
  monitor_ids,
  group_alerts,
  notify_unknown,
  remind_every,
  created_at,
  updated_at,
} = notification.attributes;

export const notificationDataSource: ObjectKind = {
  name: 'svc_notification',
  noun: 'notification channel',
  description: 'A notification channel, without its settings.',
  collection: '/v1/notifications',
  shown: {
    name,
    provider_type,
    monitor_ids,
    group_alerts,
    notify_unknown,
    remind_every,
    created_at,
    updated_at,
  },
};
