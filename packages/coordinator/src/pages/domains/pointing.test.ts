import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type DomainAnswers, pointingOf, type ServicePlace } from './pointing.ts';

const DOMAIN = 'status.example.org';
const NAMED: ServicePlace = { name: 'svc.example.com', addresses: ['192.0.2.1', '2001:db8::1'] };
const BY_ADDRESS: ServicePlace = { name: null, addresses: ['192.0.2.1'] };
const answers = (addresses: string[], aliases: string[] = []): DomainAnswers => ({ aliases, addresses });

describe('a domain points here', () => {
  test.each<[string, DomainAnswers, ServicePlace]>([
    ['by an alias', answers([], ['svc.example.com']), NAMED],
    ['by an alias in another spelling', answers([], ['SVC.Example.com.']), NAMED],
    [
      'by a chain of aliases',
      answers(['198.51.100.7'], ['pages.example.org', 'svc.example.com', 'lb.example']),
      NAMED,
    ],
    ['by its address', answers(['192.0.2.1']), NAMED],
    ['by all its addresses', answers(['2001:0DB8:0::1', '192.0.2.1']), NAMED],
    ['by the address of a service without a name', answers(['192.0.2.1']), BY_ADDRESS],
  ])('%s', (_how, found, service) => {
    expect(pointingOf(DOMAIN, found, service)).toEqual({ is: 'here' });
  });

  test('if it is the service’s own name', () => {
    expect(pointingOf('svc.example.com', answers([]), NAMED)).toEqual({ is: 'here' });
  });
});

describe('the problem of a domain', () => {
  const todo =
    'add a CNAME record for status.example.org with svc.example.com, or address records with 192.0.2.1, 2001:db8::1';
  test.each<[string, DomainAnswers, ServicePlace, string]>([
    ['no record', answers([]), NAMED, `status.example.org has no address in the DNS: ${todo}`],
    [
      'an alias of nothing',
      answers([], ['gone.example']),
      NAMED,
      `status.example.org is an alias of gone.example, which has no address in the DNS: ${todo}`,
    ],
    [
      'another host',
      answers(['198.51.100.7']),
      NAMED,
      `status.example.org points to 198.51.100.7, which is not this service: ${todo}`,
    ],
    [
      'a second host',
      answers(['192.0.2.1', '198.51.100.7']),
      NAMED,
      `status.example.org points to this service and also to 198.51.100.7: ${todo}`,
    ],
    [
      'a service without a name',
      answers([]),
      BY_ADDRESS,
      'status.example.org has no address in the DNS: add an address record for status.example.org with 192.0.2.1',
    ],
    [
      'a name that only ends like ours',
      answers([], ['evilsvc.example.com']),
      NAMED,
      `status.example.org is an alias of evilsvc.example.com, which has no address in the DNS: ${todo}`,
    ],
  ])('%s', (_what, found, service, problem) => {
    expect(pointingOf(DOMAIN, found, service)).toEqual({ is: 'elsewhere', problem });
  });

  test('silence leaves it unknown', () => {
    expect(pointingOf(DOMAIN, 'silent', NAMED)).toMatchObject({ is: 'not-known' });
  });
});

test('without an alias a domain is verified exactly if it has addresses and all are ours', () => {
  const address = fc.constantFrom('192.0.2.1', '2001:db8::1', '2001:db8:0::1', '198.51.100.7', '203.0.113.9');
  fc.assert(
    fc.property(fc.array(address, { maxLength: 5 }), (addresses) => {
      const isOurs = (each: string) => each === '192.0.2.1' || each.startsWith('2001:db8:');
      const isHere = addresses.length > 0 && addresses.every(isOurs);
      expect(pointingOf(DOMAIN, answers(addresses), NAMED).is).toBe(isHere ? 'here' : 'elsewhere');
    }),
  );
});
