/** Secrets that Terraform does not keep. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningApi } from '../../support/api.ts';
import { providerFor, startApiWithoutLimit } from '../../support/terraform/api.ts';
import { describeTerraform } from '../../support/terraform/describe-terraform.ts';
import {
  apply,
  applyForGood,
  changesIn,
  destroy,
  expectNothingToDo,
} from '../../support/terraform/expectations.ts';
import { type Body, type Configuration, ref } from '../../support/terraform/runner.ts';

let api: RunningApi;
beforeAll(async () => {
  api = await startApiWithoutLimit();
});
afterAll(() => api.dispose());

describeTerraform('a token that only reads', (terraform) => {
  test('gets the URL without its user information, and its plan shows no differences', async () => {
    const workspace = await terraform.workspace(providerFor(api));
    const resource = (url: string): Configuration => ({
      resource: {
        svc_http_monitor: {
          one: { name: 'One', url: `https://user:s3cret@${url}?key=s3cret`, periodicity: '1m' },
          two: { name: 'Two', url: `https://${url}`, periodicity: '1m' },
        },
      },
    });
    const reading = { provider: { svc: { base_url: api.url, api_token: api.reader } } };
    await applyForGood(workspace, resource('example.com/a'));
    const { id } = (await workspace.state())['svc_http_monitor.one'] ?? {};
    const seen = await api.call('GET', `/v1/monitors/${String(id)}`, undefined, {
      authorization: `Bearer ${api.reader}`,
    });
    expect(seen.body).toMatchObject({ url: 'https://example.com/a?********' });

    await workspace.configure({ ...resource('example.com/a'), ...reading });
    await expectNothingToDo(workspace);
    // The plan shows a change outside of Terraform of the part that is not secret: the address.
    const { body } = await api.call('GET', `/v1/monitors/${String(id)}`);
    await api.call('PUT', `/v1/monitors/${String(id)}`, {
      ...(body as object),
      url: 'https://user:s3cret@example.com/b?key=s3cret',
    });
    expect(await changesIn(workspace)).toEqual([{ address: 'svc_http_monitor.one', action: 'update' }]);
    await workspace.configure(resource('example.com/a'));
    await destroy(workspace);
    await workspace.dispose();
  });
});

describeTerraform('write-only secrets', (terraform) => {
  const slug = 'wo';
  const configuration = (secret: string, version: number, more: Body = {}): Configuration => ({
    resource: {
      svc_status_page: {
        page: {
          title: 'Page',
          slug,
          access_type: 'password',
          password_wo: `page-${secret}`,
          password_wo_version: version,
          ...more,
        },
      },
      svc_notification: {
        chat: {
          provider_type: 'incident_a',
          incident_a: [{ integration_key_wo: `key-${secret}`, integration_key_wo_version: version }],
        },
      },
      svc_tcp_monitor: {
        port: {
          name: 'Port',
          uri: 'example.com:443',
          periodicity: '1m',
          otlp_endpoint: 'https://otlp.example.com',
          otlp_headers_wo: { authorization: `otlp-${secret}` },
          otlp_headers_wo_version: version,
        },
      },
    },
    output: { page: { value: ref('svc_status_page.page.id') } },
  });

  test('reach the service but not the state, and change with their version', async () => {
    const workspace = await terraform.workspace(providerFor(api));
    await applyForGood(workspace, configuration('first', 1));
    const state = await workspace.state();
    expect(JSON.stringify(state)).not.toContain('first');
    const at = (address: string, path: string) => `${path}/${String(state[address]?.id)}`;
    const kept = async () => [
      (await api.call('GET', at('svc_status_page.page', '/v1/status-pages'))).body,
      (await api.call('GET', at('svc_notification.chat', '/v1/notifications'))).body,
      (await api.call('GET', at('svc_tcp_monitor.port', '/v1/monitors'))).body,
    ];
    const holding = (secret: string) => [
      { password: `page-${secret}` },
      { incident_a: { integration_key: `key-${secret}` } },
      { otlp_headers: { authorization: `otlp-${secret}` } },
    ];
    expect(await kept()).toMatchObject(holding('first'));

    // With the same version, Terraform cannot know that the secret has changed.
    await workspace.configure(configuration('second', 1));
    expect(await changesIn(workspace)).toEqual([]);
    await applyForGood(workspace, configuration('second', 2));
    expect(await kept()).toMatchObject(holding('second'));

    // An update of another attribute sends the configured secret, so that it is not lost.
    await applyForGood(workspace, configuration('second', 2, { title: 'Renamed' }));
    expect(await kept()).toMatchObject(holding('second'));
    await destroy(workspace);
    await workspace.dispose();
  });

  test('take the place of secrets that the state held', async () => {
    const workspace = await terraform.workspace(providerFor(api));
    const page = { title: 'Page', slug, access_type: 'password' };
    await applyForGood(workspace, {
      resource: { svc_status_page: { page: { ...page, password: 'open-secret' } } },
    });
    const writeOnly = { ...page, password_wo: 'open-secret', password_wo_version: 1 };
    await workspace.configure({ resource: { svc_status_page: { page: writeOnly } } });
    expect(await changesIn(workspace)).toEqual([{ address: 'svc_status_page.page', action: 'update' }]);
    await apply(workspace);
    await expectNothingToDo(workspace);
    expect(JSON.stringify(await workspace.state())).not.toContain('open-secret');
    await destroy(workspace);
    await workspace.dispose();
  });
});
