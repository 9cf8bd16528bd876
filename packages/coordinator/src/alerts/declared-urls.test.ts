import { expect, test } from 'vitest';
import type { DeclaredUrl } from './channel.ts';
import { type UrlRules, urlRefusal, urlRules } from './declared-urls.ts';

const CHAT: DeclaredUrl = {
  attribute: 'webhook_url',
  hosts: ['chat.example.com', 'beta.example.com', 'c.example'],
};
const ANY: DeclaredUrl = { attribute: 'endpoint', hosts: 'any' };

const none = urlRules({ channelEgressAllow: [], chatHosts: [] });

function messageOf(declared: DeclaredUrl, address: string | null, rules: UrlRules = none): string | null {
  return urlRefusal(declared, { [declared.attribute]: address }, rules)?.message ?? null;
}

test('chat kinds post to the hosts of their vendor, over TLS', () => {
  expect(messageOf(CHAT, 'https://chat.example.com/hook')).toBeNull();
  expect(messageOf(CHAT, 'https://CHAT.example.com.:8443/hook')).toBeNull();
  const elsewhere =
    'must be an address on chat.example.com or beta.example.com; SVC_CHAT_HOSTS allows further hosts';
  for (const host of [
    'evil.example',
    'chat.example.com.evil.example',
    'evil-chat.example.com',
    'sub.chat.example.com',
  ])
    expect(messageOf(CHAT, `https://${host}/hook`)).toBe(elsewhere);
  expect(messageOf(CHAT, 'http://chat.example.com/hook')).toBe('must begin with https://');
});

test('the operator may allow further hosts; the guard still judges IP addresses', () => {
  const further = urlRules({ channelEgressAllow: [], chatHosts: ['mattermost.example', '127.0.0.1'] });
  expect(messageOf(CHAT, 'http://mattermost.example/hooks/x', further)).toBeNull();
  expect(messageOf(CHAT, 'https://other.example/hooks/x', further)).not.toBeNull();
  expect(messageOf(CHAT, 'http://127.0.0.1/', further)).toContain('SVC_CHANNEL_EGRESS_ALLOW');
  const any = urlRules({ channelEgressAllow: ['10.0.0.0/8'], chatHosts: ['*'] });
  expect(messageOf(CHAT, 'http://10.1.2.3/hook', any)).toBeNull();
  expect(messageOf(CHAT, 'http://192.168.1.1/hook', any)).toContain('192.168.0.0/16');
});

test('other kinds post to every host that the guard allows', () => {
  expect(messageOf(ANY, 'http://hook.example/x')).toBeNull();
  expect(messageOf(ANY, 'http://[::ffff:10.0.0.1]/s3cret')).toBe(
    'is on an address that svc may not post to (10.0.0.0/8, private); SVC_CHANNEL_EGRESS_ALLOW allows it',
  );
  expect(messageOf(ANY, null)).toBeNull();
  expect(messageOf(ANY, 'nonsense')).toBe('is not a valid URL');
  expect(urlRefusal(null, {}, none)).toBeNull();
});
