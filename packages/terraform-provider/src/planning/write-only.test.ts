import { DEFINITIONS, RESOURCE_KINDS } from '@svc/shared/resources/registry.ts';
import { describe, expect, test } from 'vitest';
import { EXPECTED_SETTINGS } from '../../../../test/support/channel-samples.ts';
import { channel } from '../../../../test/support/terraform/configuration-case.ts';
import { typedConfiguration } from '../../../../test/support/terraform/typed-configuration.ts';
import { type TerraformObject, UNKNOWN } from '../value.ts';
import { planResource } from './plan.ts';
import { requestBody } from './request-body.ts';
import { resourceSchema } from './resource-schema.ts';
import { stateAfterApply, stateAfterRead } from './state.ts';
import { validateConfig } from './validate.ts';
import { definitionForm, terraformDefinition } from './write-only.ts';

const page = DEFINITIONS.svc_status_page;
const notification = DEFINITIONS.svc_notification;
const PAGE = { title: 'Page', slug: 'page', access_type: 'password' };

function config(definition: typeof page | typeof notification, body: Record<string, unknown>) {
  return typedConfiguration(resourceSchema(terraformDefinition(definition)), body);
}

function told(
  definition: typeof page | typeof notification,
  body: Record<string, unknown>,
  allowsWriteOnly = true,
): string[] {
  return validateConfig(definition, config(definition, body), { allowsWriteOnly }).map(
    ({ path, detail }) => `${path?.join('.')}: ${detail}`,
  );
}

test('every sensitive attribute can be given write-only, and nothing else', () => {
  const found = RESOURCE_KINDS.flatMap((kind) => {
    const schema = resourceSchema(terraformDefinition(DEFINITIONS[kind]));
    const all = {
      [kind]: schema.attributes,
      ...Object.fromEntries(Object.entries(schema.blocks).map(([name, block]) => [name, block.attributes])),
    };
    return Object.entries(all).flatMap(([place, attributes]) =>
      Object.entries(attributes)
        .filter(([, { writeOnly }]) => writeOnly === true)
        .map(([name]) => {
          const plain = attributes[name.replace(/_wo$/, '')];
          expect(plain).toMatchObject({ sensitive: true, setting: 'optional' });
          expect(attributes[`${name}_version`]).toMatchObject({
            type: 'number',
            setting: 'optional',
            sensitive: false,
          });
          return `${place}.${name}`;
        }),
    );
  });
  expect(found).toEqual([
    'svc_http_monitor.otlp_headers_wo',
    'svc_tcp_monitor.otlp_headers_wo',
    'svc_dns_monitor.otlp_headers_wo',
    ...Object.entries(EXPECTED_SETTINGS).flatMap(([kind, settings]) =>
      [...settings.matchAll(/(\w+)[!?]\*/g)].map(([, name]) => `${kind}.${name}_wo`),
    ),
    'svc_status_page.password_wo',
  ]);
});

describe('refused:', () => {
  test.each<[string, Record<string, unknown>, string[]]>([
    ['nothing', { password_wo: 'hush', password_wo_version: 1 }, []],
    ['nothing while it is unknown', { password_wo: UNKNOWN, password_wo_version: UNKNOWN }, []],
    [
      'both forms',
      { password: 'hush', password_wo: 'hush', password_wo_version: 1 },
      ['password_wo: password_wo cannot be given beside password: remove one of them.'],
    ],
    [
      'no version',
      { password_wo: 'hush' },
      [
        'password_wo: password_wo needs password_wo_version beside it: a number that you change with the secret, because Terraform cannot see its changes.',
      ],
    ],
    [
      'a version alone',
      { password: 'hush', password_wo_version: 1 },
      ['password_wo_version: password_wo_version belongs to password_wo, which is not given.'],
    ],
    [
      'a rule that it breaks, at its place',
      { password_wo: '********', password_wo_version: 1 },
      ['password_wo: password is the mask that read tokens see: write the secret itself.'],
    ],
    ['neither form', {}, ['password: password is required when access_type is password.']],
  ])('%s', (_name, given, expected) => {
    expect(told(page, { ...PAGE, ...given })).toEqual(expected);
  });

  test('a version of Terraform that would store it', () => {
    expect(told(page, { ...PAGE, password_wo: 'hush', password_wo_version: 1 }, false)).toEqual([
      'password_wo: password_wo needs Terraform 1.11 or newer: use password.',
    ]);
  });

  test('a channel without its secret, and one whose secret is wrong', () => {
    expect(told(notification, channel('chat_a', {}))).toEqual([
      'chat_a.0.webhook_url: chat_a[0].webhook_url is required, unless its write-only form is set.',
    ]);
    const wrong = channel('chat_a', { webhook_url_wo: 'nonsense', webhook_url_wo_version: 1 });
    expect(told(notification, wrong)).toEqual([expect.stringMatching(/^chat_a\.0\.webhook_url_wo: /)]);
  });
});

describe('a write-only secret', () => {
  const definition = terraformDefinition(page);
  const given = config(page, { ...PAGE, password_wo: 'hush', password_wo_version: 1 });
  const planned = planResource(definition, { prior: null, proposed: given, config: given }).planned!;
  const answered = { id: '7', ...PAGE, password: 'hush', published: true, theme: 'system' };
  const state = stateAfterApply(definition, planned, answered);

  test('is sent, and neither planned nor stored', () => {
    expect(JSON.stringify([planned, state])).not.toContain('hush');
    expect(state).toMatchObject({ password: null, password_wo: null, password_wo_version: 1 });
    expect(requestBody(page, definitionForm(page, planned, given))).toMatchObject({ password: 'hush' });
  });

  test('stays out of the state when it is read', () => {
    expect(stateAfterRead(definition, state, answered)).toEqual(state);
  });

  test('is planned again only with a new version number', () => {
    const plan = (changes: TerraformObject) => {
      const changed = { ...given, ...changes };
      return planResource(definition, { prior: state, proposed: changed, config: changed }).planned;
    };
    expect(plan({ password_wo: 'new' })).toBe(state);
    expect(plan({ password_wo: 'new', password_wo_version: 2 })).toMatchObject({ password_wo_version: 2 });
  });

  test('of a block follows the same rules', () => {
    const form = terraformDefinition(notification);
    const hook = config(
      notification,
      channel('chat_a', { webhook_url_wo: 'https://x.example/s3cret', webhook_url_wo_version: 3 }),
    );
    const plan = planResource(form, { prior: null, proposed: hook, config: hook }).planned!;
    expect(JSON.stringify(plan)).not.toContain('s3cret');
    expect(requestBody(notification, definitionForm(notification, plan, hook))).toMatchObject({
      chat_a: { webhook_url: 'https://x.example/s3cret' },
    });
    const read = stateAfterRead(form, plan, {
      id: '1',
      provider_type: 'chat_a',
      chat_a: { webhook_url: 'https://x.example/s3cret' },
    });
    expect(read.chat_a).toEqual(plan.chat_a);
  });

  test('is removed from a state that had it in plain text', () => {
    const before = { ...state, password: 'hush', password_wo_version: null };
    const { planned: changed } = planResource(definition, { prior: before, proposed: given, config: given });
    expect(changed).toMatchObject({ password: null, password_wo_version: 1 });
  });
});
