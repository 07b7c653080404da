import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { nowhere } from '../drover.ts';
import { droverHere } from '../in-process.ts';

const home = mkdtempSync(join(tmpdir(), 'drover-config-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const file = join(home, '.config', 'drover', 'config.yaml');
mkdirSync(join(home, '.config', 'drover'), { recursive: true });
writeFileSync(file, 'cluster: east\nkubeconfig: ~/nowhere\nworker: { burst: 3, namespaces: [shop, bank] }\n');
/** Commands leave what the file says in their environment: each has one of its own. */
const env = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({ ...nowhere, HOME: home, ...more });

interface Shown {
  file?: string;
  items: { setting: string; value?: string; from: string }[];
}
async function shown(args: string[], given: NodeJS.ProcessEnv = env()): Promise<Shown> {
  const { stdout, stderr } = await droverHere(['config', '-o', 'json', ...args], given);
  expect(stderr).toBe('');
  return JSON.parse(stdout) as Shown;
}

test('config shows the settings of commands, and where each is from', async () => {
  const { items, file: read } = await shown(['--address', 'temporal:1'], env({ TEMPORAL_NAMESPACE: 'vms' }));
  expect(read).toBe(file);
  expect(items).toEqual([
    { setting: 'cluster', value: 'east', from: `${file}:1` },
    { setting: 'kubeconfig', value: join(home, 'nowhere'), from: `${file}:2` },
    { setting: 'context', from: 'default' },
    { setting: 'temporal.address', value: 'temporal:1', from: '--address' },
    { setting: 'temporal.namespace', value: 'vms', from: 'TEMPORAL_NAMESPACE' },
    { setting: 'temporal.ui', from: 'default' },
    { setting: 'dataConverter', from: 'default' },
    { setting: 'requestedBy', from: 'default' },
    { setting: 'state', value: nowhere['DROVER_STATE'], from: 'DROVER_STATE' },
  ]);
});

test('config --worker shows those of a worker, too', async () => {
  const { items } = await shown(['--worker', '--cluster', 'west']);
  expect(items).toEqual(
    expect.arrayContaining([
      { setting: 'cluster', value: 'west', from: '--cluster' },
      { setting: 'worker.burst', value: '3', from: `${file}:3` },
      { setting: 'worker.namespaces', value: 'shop,bank', from: `${file}:3` },
      { setting: 'worker.slots', value: '200', from: 'default' },
    ]),
  );
});

test('config shows variables of others without what is secret in them, also if they cannot be used together', async () => {
  const { items } = await shown(
    [],
    env({
      TEMPORAL_API_KEY: 'hidden',
      TEMPORAL_TLS_CLIENT_KEY_DATA: 'hidden',
      TEMPORAL_TLS_CLIENT_KEY_PATH: '/key',
      ALL_PROXY: 'http://ada:hidden@proxy:1080',
      HTTPS_PROXY: 'http://ada:hidden@proxy:3128',
    }),
  );
  const told = items.find(({ setting }) => setting === 'temporal.address')!.from;
  expect(told).toMatch(/^Temporal's configuration cannot be read: /);
  expect(items.slice(9)).toEqual([
    { setting: 'ALL_PROXY', value: 'http://(secret)@proxy:1080', from: 'ALL_PROXY' },
    { setting: 'HTTPS_PROXY', value: 'http://(secret)@proxy:3128', from: 'HTTPS_PROXY' },
    { setting: 'TEMPORAL_API_KEY', value: '(secret)', from: 'TEMPORAL_API_KEY' },
    { setting: 'TEMPORAL_TLS_CLIENT_KEY_DATA', value: '(secret)', from: 'TEMPORAL_TLS_CLIENT_KEY_DATA' },
    { setting: 'TEMPORAL_TLS_CLIENT_KEY_PATH', value: '/key', from: 'TEMPORAL_TLS_CLIENT_KEY_PATH' },
  ]);
});

test.each([
  ['HTTPS_PROXY', 'ada:hidden@proxy:3128', '(secret)@proxy:3128'],
  ['HTTPS_PROXY', 'http://ada:hid@den@proxy:3128', 'http://(secret)@proxy:3128'],
  ['TEMPORAL_UI', 'https://ada:hid/den@ui', 'https://(secret)@ui'],
  ['TEMPORAL_UI', 'https://ui?key=hidden', 'https://ui?(secret)'],
  ['TEMPORAL_CODEC_AUTH', 'Bearer hidden', '(secret)'],
  ['DROVER_REQUESTED_BY', 'ada@example.com', 'ada@example.com'],
])('config shows %s=%s as %s', async (name, value, told) => {
  const { items } = await shown([], env({ [name]: value }));
  expect(items.find(({ from }) => from === name)?.value).toBe(told);
});

test("Temporal's own profile is named where its settings are used", async () => {
  const profile = join(home, 'temporal.toml');
  writeFileSync(profile, '[profile.default]\naddress = "profile:7233"\nnamespace = "of-profile"\n');
  const { items } = await shown([], env({ TEMPORAL_CONFIG_FILE: profile }));
  expect(items.filter(({ from }) => from === "Temporal's profile")).toEqual([
    { setting: 'temporal.address', value: 'profile:7233', from: "Temporal's profile" },
    { setting: 'temporal.namespace', value: 'of-profile', from: "Temporal's profile" },
  ]);
});

test('a table shows the settings to users', async () => {
  const { stdout, stderr } = await droverHere(['config'], env());
  expect(stderr).toBe(`settings file: ${file}\n`);
  expect(stdout).toMatch(/^SETTING +VALUE +FROM\ncluster +east +\S+config.yaml:1\n/);
});

test('commands use the file, and a flag or a variable counts for more', async () => {
  const read = async (args: string[], given = env()): Promise<string> =>
    (await droverHere(['status', 'pools', ...args], given)).stderr;
  expect(await read([])).toContain(join(home, 'nowhere'));
  expect(await read(['--kubeconfig', '/by/flag'])).toContain('/by/flag');
  expect(await read([], env({ KUBECONFIG: '/by/variable' }))).toContain('/by/variable');
});

test('a flag that has a variable takes the value of the file', async () => {
  const given = env();
  await droverHere(['status', 'pools'], given);
  expect(given).toMatchObject({ DROVER_CLUSTER: 'east', DROVER_BURST: '3' });
  const bad = join(home, 'bad.yaml');
  writeFileSync(bad, 'cluster: East\n');
  expect(await droverHere(['version', '--client', '--config', bad], env())).toMatchObject({
    code: 1,
    stderr: `error: ${bad}:1: cluster: must be at most 63 lower-case letters, digits, "-" and ".", found the text "East"\n`,
  });
});

test('help and completion do without a file that cannot be used', async () => {
  const given = { DROVER_CONFIG: '/dev/null/none' };
  expect(await droverHere(['scale', '--help'], env(given))).toMatchObject({ code: 0, stderr: '' });
  expect(await droverHere(['complete', '--', 'sca'], env(given))).toMatchObject({ code: 0, stderr: '' });
  expect(await droverHere(['status', 'pools'], env(given))).toMatchObject({ code: 1 });
});
