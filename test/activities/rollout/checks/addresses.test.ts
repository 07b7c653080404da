import { expect, test } from 'vitest';
import { isAllowed } from '../../../../activities/rollout/checks/addresses.ts';

const ALLOWED = ['http://prometheus.monitoring:9090', 'https://thanos.example/tenant-a/'];

test.each([
  'http://prometheus.monitoring:9090',
  'http://prometheus.monitoring:9090/',
  'http://PROMETHEUS.monitoring:9090/prometheus',
  'https://thanos.example/tenant-a',
  'https://thanos.example:443/tenant-a/more',
])('%s may be asked', (address) => expect(isAllowed(address, ALLOWED)).toBe(true));

test.each([
  'https://prometheus.monitoring:9090',
  'http://prometheus.monitoring',
  'http://prometheus.monitoring:9090.example',
  'http://prometheus.monitoring:9090@example',
  'http://user:word@prometheus.monitoring:9090',
  'http://prometheus.monitoring:9090?query=up',
  'http://prometheus.monitoring:9090#here',
  // The path of the query would come after the sign, which only the pattern of the definition refuses besides.
  'http://prometheus.monitoring:9090/-/quit#',
  'http://prometheus.monitoring:9090/-/quit?',
  'https://thanos.example/tenant-b',
  'https://thanos.example/tenant-abc',
  'https://thanos.example/tenant-a/../tenant-b',
  'https://thanos.example/tenant-a/%2e%2e/tenant-b',
  'https://thanos.example/tenant-a/..%2ftenant-b',
  'http://169.254.169.254/latest',
  'file:///etc/passwd',
  'prometheus',
])('%s may not be asked', (address) => expect(isAllowed(address, ALLOWED)).toBe(false));

// What follows the scheme is then the host, and nothing of the path is left.
test.each(['http:', 'http://'])('%s asks no host that is named as the query is', (address) =>
  expect(isAllowed(address, ['http://api'])).toBe(false),
);

test('no address may be asked unless the workers say so', () => expect(isAllowed('http://a', [])).toBe(false));
