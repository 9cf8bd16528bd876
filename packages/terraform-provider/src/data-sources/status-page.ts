import { statusPage } from '@svc/shared/resources/status-page.ts';
import type { ObjectKind } from './object-data-source.ts';

const { id: _id, password, ...others } = statusPage.attributes;

export const statusPageDataSource: ObjectKind = {
  name: 'svc_status_page',
  noun: 'status page',
  description: 'A status page.',
  collection: '/v1/status-pages',
  shown: {
    ...others,
    password: { ...password, description: 'Password of the page; null with a token of scope read.' },
  },
};
