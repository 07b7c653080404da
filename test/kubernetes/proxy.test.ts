import { expect, test } from 'vitest';
import { proxyFor } from '../../kubernetes/proxy.ts';

const HTTPS_PROXY = 'http://proxy.example:3128';
const of = (server: string, env: NodeJS.ProcessEnv = { HTTPS_PROXY }): string | undefined =>
  proxyFor(new URL(server), env);

test('an API server is reached through the proxy of the environment', () => {
  expect(of('https://api.example:6443')).toBe(HTTPS_PROXY);
  expect(of('https://api.example:6443', { https_proxy: 'proxy.example:3128' })).toBe(HTTPS_PROXY);
  expect(of('http://api.example', { HTTPS_PROXY })).toBeUndefined();
  expect(of('http://api.example', { HTTP_PROXY: HTTPS_PROXY })).toBe(HTTPS_PROXY);
  expect(of('https://api.example', {})).toBeUndefined();
});

test.each(['https://127.0.0.1:6443', 'https://localhost:6443', 'https://[::1]:6443', 'https://127.8.8.8'])(
  'loopback addresses never use the proxy: %s',
  (server) => {
    expect(of(server)).toBeUndefined();
  },
);

test.each([
  ['*', 'https://api.example'],
  ['api.example', 'https://api.example:6443'],
  ['example', 'https://api.example:6443'],
  ['.example', 'https://api.example:6443'],
  ['*.example', 'https://api.example:6443'],
  ['other, api.example:6443', 'https://api.example:6443'],
  ['10.0.0.0/8', 'https://10.96.0.1'],
  ['10.96.0.1', 'https://10.96.0.1:443'],
  ['fd00:10::/32', 'https://[fd00:10:96::1]'],
  ['fd00:10:96::1', 'https://[fd00:10:96:0::1]:443'],
  ['[fd00:10:96::1]:443', 'https://[fd00:10:96::1]'],
])('NO_PROXY %s excludes %s', (NO_PROXY, server) => expect(of(server, { HTTPS_PROXY, NO_PROXY })).toBeUndefined());

test.each([
  ['ample', 'https://api.example'],
  ['.api.example', 'https://api.example'],
  ['api.example:443', 'https://api.example:6443'],
  ['10.0.0.0/8', 'https://11.0.0.1'],
  ['10.0.0.0/99', 'https://10.0.0.1'],
  ['fd00:11::/32', 'https://[fd00:10:96::1]'],
  ['::/0', 'https://10.0.0.1'],
  ['0.0.0.0/0', 'https://[fd00::1]'],
  ['fd00::/x', 'https://[fd00::1]'],
  ['[fd00:10:96::1]:6443', 'https://[fd00:10:96::1]'],
])('NO_PROXY %s does not exclude %s', (NO_PROXY, server) =>
  expect(of(server, { HTTPS_PROXY, NO_PROXY })).toBe(HTTPS_PROXY),
);
