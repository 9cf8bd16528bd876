import { CHANNEL_BLOCKS, CHANNEL_KINDS, type ChannelKind } from '@svc/shared/channels/settings.ts';
import { notification } from '@svc/shared/resources/notification.ts';
import { CHANNEL } from '../../api/routes/notifications.ts';
import { formOf } from '../forms/fields.ts';
import { firstPhrase } from '../forms/labels.ts';
import type { DashboardPage, DashboardRequest } from '../page.ts';
import { type Editor, openExisting, openNew, sent } from '../resources/editor.ts';
import { kindChoice } from '../resources/kind-choice.ts';
import { type ChannelView, channelName } from './channel-state.ts';

export const CHANNEL_FORM = formOf(notification);

/** The pages on which channels are made and changed. */
export const channelForms: readonly DashboardPage[] = [
  {
    method: 'GET',
    path: '/channels/new',
    scope: 'write',
    async handle(request) {
      const kind = kindIn(request);
      return kind === null ? chooseKind() : openNew(request, editorOf(kind));
    },
  },
  {
    method: 'POST',
    path: '/channels/new',
    scope: 'write',
    async handle(request) {
      const kind = kindIn(request);
      return kind === null ? chooseKind() : sent(request, editorOf(kind), null);
    },
  },
  {
    method: 'GET',
    path: '/channels/{id}/edit',
    scope: 'write',
    handle: (request) => openExisting(request, editorOf(null), request.ids.id ?? 0),
  },
  {
    method: 'POST',
    path: '/channels/{id}/edit',
    scope: 'write',
    handle: (request) => sent(request, editorOf(null), request.ids.id ?? 0),
  },
];

function kindIn({ query }: DashboardRequest): ChannelKind | null {
  return CHANNEL_KINDS.find((kind) => kind === query.get('type')) ?? null;
}

/** @param kind of a new channel; null: the form is of an existing one */
function editorOf(kind: ChannelKind | null): Editor {
  return {
    form: CHANNEL_FORM,
    objects: CHANNEL,
    noun: 'channel',
    list: { href: '/channels', label: 'Channels' },
    nameOf: (channel) => channelName(channel as unknown as ChannelView),
    newTitle: kind === null ? 'New channel' : `New channel: ${nameOfKind(kind)}`,
    initial: { provider_type: kind, ...(kind === null ? {} : { [kind]: {} }) },
    newPath: `/channels/new?type=${kind ?? 'email'}`,
    editPath: (id) => `/channels/${id}/edit`,
    after: (id) => (id === null ? '/channels' : `/channels/${id}`),
  };
}

/** What people call a kind: `Custom HTTP endpoint`. */
export function nameOfKind(kind: ChannelKind): string {
  return firstPhrase(CHANNEL_BLOCKS[kind].description);
}

function chooseKind() {
  return kindChoice({
    title: 'New channel',
    question: 'Where are alerts to be sent?',
    kinds: CHANNEL_KINDS.map((kind) => ({
      href: `/channels/new?type=${kind}`,
      label: nameOfKind(kind),
      help: '',
      name: kind,
    })),
    cancel: '/channels',
  });
}
