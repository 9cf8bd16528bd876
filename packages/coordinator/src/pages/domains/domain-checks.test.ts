import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../../test/support/configured-store.ts';
import { createResource, replaceResource } from '../../../../../test/support/declared-resources.ts';
import { insertWorkspace } from '../../store/declaration/workspaces.ts';
import { checkedDomain } from '../../store/pages/page-domains.ts';
import { DomainChecks } from './domain-checks.ts';
import { DomainDirectory } from './domains.ts';
import type { DomainAnswers } from './pointing.ts';

const DOMAIN = 'status.example.org';
const HERE: DomainAnswers = { aliases: ['svc.example.com'], addresses: ['192.0.2.1'] };
const ELSEWHERE: DomainAnswers = { aliases: [], addresses: ['198.51.100.7'] };
const MINUTE_MS = 60_000;

let parts: ConfiguredStore;
let checks: DomainChecks;
let directory: DomainDirectory;
let pageId: number;
/** The answers of name servers by domain. */
let answers: Map<string, DomainAnswers>;
let asked: string[];

beforeEach(async () => {
  parts = await configuredStore();
  answers = new Map([[DOMAIN, HERE]]);
  asked = [];
  checks = new DomainChecks({
    ...parts,
    log: silentLog,
    ask: async (domain) => {
      asked.push(domain);
      return answers.get(domain) ?? { aliases: [], addresses: [] };
    },
    service: async () => ({ name: 'svc.example.com', addresses: ['192.0.2.1'] }),
  });
  directory = new DomainDirectory(parts);
  pageId = await createResource(parts, 'svc_status_page', { custom_domain: DOMAIN });
});
afterEach(async () => {
  await checks.stop();
  await parts.dispose();
});

const state = async () => (await checkedDomain(parts.store, pageId))?.state ?? null;
const check = () => checks.checkDomain(pageId, DOMAIN);
/** Finds the page of a host, after the time for which the directory reuses answers. */
async function pageOf(host: string): Promise<number | null> {
  parts.clock.advance(2_000);
  return (await directory.findPageOf(host))?.pageId ?? null;
}

describe('a custom domain', () => {
  test('is served once it points here', async () => {
    expect(await pageOf(DOMAIN)).toBeNull();
    expect(await check()).toMatchObject({ state: 'verified', problem: null });
    expect(await pageOf(DOMAIN)).toBe(pageId);
    expect(await pageOf(`${DOMAIN.toUpperCase()}.`)).toBe(pageId);
    for (const host of ['', 'example.org', `www.${DOMAIN}`, `${DOMAIN}.evil.example`, 'svc.example.com']) {
      expect(await pageOf(host), host).toBeNull();
    }
  });

  test('that points elsewhere is not served, and the check says what is wrong', async () => {
    answers.set(DOMAIN, ELSEWHERE);
    const checked = await check();
    expect(checked.state).toBe('pending');
    expect(checked.problem).toContain('points to 198.51.100.7');
    expect(await pageOf(DOMAIN)).toBeNull();
  });

  test('that is verified is served until it is found elsewhere three times in a row', async () => {
    await check();
    answers.set(DOMAIN, ELSEWHERE);
    await check();
    await check();
    expect(await state()).toBe('verified');
    answers.set(DOMAIN, HERE);
    await check();
    answers.set(DOMAIN, ELSEWHERE);
    await check();
    await check();
    expect(await pageOf(DOMAIN)).toBe(pageId);
    await check();
    expect(await pageOf(DOMAIN)).toBeNull();
  });

  test('whose name servers are silent stays as it was', async () => {
    answers.set(DOMAIN, 'silent');
    expect((await check()).state).toBe('pending');
    answers.set(DOMAIN, HERE);
    await check();
    answers.set(DOMAIN, 'silent');
    for (let n = 0; n < 5; n += 1) expect((await check()).state).toBe('verified');
  });

  test('that is declared again starts as pending, even after a verified one', async () => {
    await check();
    await replaceResource(parts, 'svc_status_page', pageId, { custom_domain: 'new.example.org' });
    expect(await state()).toBeNull();
    expect(await pageOf(DOMAIN)).toBeNull();
    expect(await pageOf('new.example.org')).toBeNull();
  });

  test('is not written for a page that has another domain by now', async () => {
    const checking = check();
    await replaceResource(parts, 'svc_status_page', pageId, { custom_domain: 'new.example.org' });
    await checking;
    expect(await pageOf(DOMAIN)).toBeNull();
  });

  describe('that a page of another workspace also declares', () => {
    let other: number;
    let theirs: ConfiguredStore;
    beforeEach(async () => {
      const id = await parts.store.transaction((tx) => insertWorkspace(tx, 'Theirs', parts.clock.wall()));
      theirs = { ...parts, workspaceId: id ?? 0 };
      other = await createResource(theirs, 'svc_status_page', { slug: 'theirs', custom_domain: DOMAIN });
    });

    test("is held by the first verified page, and the other page's check says so until that one gives it up", async () => {
      expect(await checks.checkDomain(other, DOMAIN)).toMatchObject({ state: 'verified' });
      const told = {
        state: 'pending',
        problem: `${DOMAIN} points here, but another status page holds it, because that page was verified first: this page gets the domain when the other one gives it up`,
      };
      expect(await check()).toMatchObject(told);
      expect(await pageOf(DOMAIN)).toBe(other);
      expect(await check()).toMatchObject(told);
      await replaceResource(theirs, 'svc_status_page', other, { slug: 'theirs', custom_domain: null });
      expect(await check()).toMatchObject({ state: 'verified', problem: null });
      expect(await pageOf(DOMAIN)).toBe(pageId);
    });

    test('is verified for one of two pages that are checked at the same time', async () => {
      const states = (await Promise.all([check(), checks.checkDomain(other, DOMAIN)])).map(
        ({ state }) => state,
      );
      expect(states.toSorted()).toEqual(['pending', 'verified']);
    });

    test('is free again after it was found elsewhere for the holder', async () => {
      await check();
      answers.set(DOMAIN, ELSEWHERE);
      for (let n = 0; n < 3; n += 1) await check();
      answers.set(DOMAIN, HERE);
      expect(await checks.checkDomain(other, DOMAIN)).toMatchObject({ state: 'verified' });
    });
  });

  test('of an unpublished page is not served', async () => {
    await check();
    await parts.configuration.transaction({ workspaceId: parts.workspaceId, actor: 'api' }, (change) =>
      change.setAppearance(pageId, { published: false }, {}),
    );
    expect(await pageOf(DOMAIN)).toBeNull();
  });

  test('with other letters is looked up and found in its ASCII form', async () => {
    const id = await createResource(parts, 'svc_status_page', { slug: 'b', custom_domain: 'bücher.example' });
    answers.set('xn--bcher-kva.example', HERE);
    expect(await checks.checkDomain(id, 'bücher.example')).toMatchObject({
      domain: 'xn--bcher-kva.example',
      state: 'verified',
    });
    expect(await pageOf('xn--bcher-kva.example')).toBe(id);
  });
});

describe('the checks in the background', () => {
  const minute = async () => {
    parts.clock.advance(MINUTE_MS);
    await checks.roundEnded();
  };

  test('check a pending domain every minute, and a verified one every hour', async () => {
    answers.set(DOMAIN, ELSEWHERE);
    checks.start();
    await checks.roundEnded();
    expect(asked).toHaveLength(1);
    await minute();
    expect(asked).toHaveLength(2);
    answers.set(DOMAIN, HERE);
    await minute();
    expect(await state()).toBe('verified');
    for (let n = 0; n < 59; n += 1) await minute();
    expect(asked).toHaveLength(3);
    await minute();
    expect(asked).toHaveLength(4);
  });

  test('check a domain once at a time', async () => {
    await Promise.all([check(), check(), check()]);
    expect(asked).toHaveLength(1);
  });
});
