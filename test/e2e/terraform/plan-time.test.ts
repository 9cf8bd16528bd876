/** Errors and values that a plan already shows, before anything is changed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningApi } from '../../support/api.ts';
import { providerFor, startApiWithoutLimit } from '../../support/terraform/api.ts';
import { describeTerraform } from '../../support/terraform/describe-terraform.ts';
import { apply, applyForGood, changesIn, destroy, errorsOf } from '../../support/terraform/expectations.ts';
import { type Configuration, ref } from '../../support/terraform/runner.ts';

const WEB = { name: 'Web', url: 'https://example.com', periodicity: '1m' };

let api: RunningApi;
let elsewhere: string;
beforeAll(async () => {
  api = await startApiWithoutLimit();
  const workspace = await api.call('POST', '/v1/workspaces', { name: 'Elsewhere' });
  const { id } = workspace.body as { id: string };
  const token = await api.call('POST', '/v1/tokens', { name: 'other', scope: 'write', workspace_id: id });
  elsewhere = (token.body as { token: string }).token;
});
afterAll(() => api.dispose());

describeTerraform('at plan time', (terraform) => {
  const web: Configuration = { resource: { svc_http_monitor: { web: WEB } } };
  const withToken = (token: string): Configuration => ({
    ...web,
    provider: { svc: { base_url: api.url, api_token: token } },
  });

  test('a token that the API does not accept', async () => {
    const workspace = await terraform.workspace(providerFor(api, { api_token: 'not-a-token-of-this-svc' }));
    await workspace.configure(web);
    const errors = errorsOf(await workspace.plan());
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(/The API does not accept the token/);
    await workspace.dispose();
  });

  test('a token of another workspace', async () => {
    const workspace = await terraform.workspace(providerFor(api));
    await applyForGood(workspace, web);
    await workspace.configure(withToken(elsewhere));
    const errors = errorsOf(await workspace.plan());
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(
      /belongs to workspace \d+, and the token, which comes from .*, to workspace \d+/,
    );
    expect(await workspace.state()).toHaveProperty(['svc_http_monitor.web']);
    // An object that is gone in the workspace of the state is created again, as usual.
    await workspace.configure(web);
    const id = String((await workspace.state())['svc_http_monitor.web']?.id);
    await api.call('DELETE', `/v1/monitors/${id}`);
    expect(await changesIn(workspace)).toEqual([{ address: 'svc_http_monitor.web', action: 'create' }]);
    await apply(workspace);
    await destroy(workspace);
    await workspace.dispose();
  });

  test('two provider blocks beside a provider_type that is not known yet', async () => {
    const workspace = await terraform.workspace(providerFor(api));
    const channel = {
      provider_type: ref('svc_http_monitor.web.id'),
      sms: [{ phone_number: '+4915112345678' }],
      email: [{ email: 'a@example.com' }],
    };
    await workspace.configure({
      resource: { svc_http_monitor: { web: WEB }, svc_notification: { two: channel } },
    });
    const errors = errorsOf(await workspace.plan());
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(/must be the only provider block/);
    await workspace.dispose();
  });

  test('published and theme stay known, so that resources that use them do not change', async () => {
    const workspace = await terraform.workspace(providerFor(api));
    const page = (title: string): Configuration => ({
      resource: { svc_status_page: { page: { title, slug: 'known' } } },
      output: { published: { value: ref('svc_status_page.page.published') } },
    });
    await applyForGood(workspace, page('One'));
    await applyForGood(workspace, page('Two'));
    expect((await workspace.state())['svc_status_page.page']).toMatchObject({
      published: true,
      theme: 'system',
    });
    expect(await workspace.outputs()).toEqual({ published: true });
    await destroy(workspace);
    await workspace.dispose();
  });

  test('256 characters are counted as 256, whatever they are', async () => {
    const workspace = await terraform.workspace(providerFor(api));
    const named = (name: string) => ({ resource: { svc_http_monitor: { web: { ...WEB, name } } } });
    await workspace.configure(named('🙂'.repeat(257)));
    expect(errorsOf(await workspace.plan())[0]).toMatch(/has 257 characters, but at most 256 are allowed/);
    await applyForGood(workspace, named('🙂'.repeat(256)));
    await destroy(workspace);
    await workspace.dispose();
  });
});
