import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { readConfig } from '../../workers/config.ts';
import { eachSetting } from '../../workers/settings/settings.ts';
import composeSchema from '../fixtures/compose-spec/compose-spec.json' with { type: 'json' };
import { composeText, readCompose, type ComposeService } from './compose.ts';
import { imageEnvironment, lastOf } from './dockerfile.ts';

const run = promisify(execFile);
const textOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

// ajv doesn't know the schema's URL of its draft; it is draft 7, ajv's default.
const { $schema: _, ...schema } = composeSchema;
const isCompose = new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(schema);
const problemsOf = (file: object): string[] =>
  isCompose(file) ? [] : isCompose.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`);

const FILES = ['docker-compose.yml', 'deploy/compose.host-network.yml'];
const { services } = readCompose('docker-compose.yml');
const { worker, setup } = services as Record<'worker' | 'setup', ComposeService>;
const each = Object.entries(services);
const goesOn = (service: ComposeService): boolean => service.restart === 'unless-stopped';

test.each(FILES)('%s conforms to the Compose Specification', (file) => {
  expect(problemsOf(readCompose(file))).toEqual([]);
});

test('the schema finds a fault if there is one', () => {
  const { postgres, ...others } = services;
  const problems = problemsOf({
    services: {
      ...others,
      postgres: { ...postgres, depends_on: { temporal: { condition: 'is_well' } }, healtcheck: {} },
    },
  });
  expect(problems.join('\n')).toMatch(/postgres\/depends_on/);
  expect(problems.join('\n')).toMatch(/postgres must NOT have additional properties/);
});

test.each(each)('%s has an image of an exact version', (_name, { image, build }) => {
  expect(image).toMatch(/^[a-z/-]+:\d+\.\d+(\.\d+)?(-[a-z0-9.-]+)?$/);
  if (build !== undefined) expect(image).toBe(`drover:${packageJson.version}`);
});

test("Temporal and its Web UI have the embedded stack's versions", () => {
  const goModules = textOf('dev/tools/temporal/go.mod');
  const versionOf = (module: string): string => new RegExp(`${module} v(\\S+)`).exec(goModules)![1]!;
  const server = versionOf('go.temporal.io/server');
  expect(services['temporal']!.image).toBe(`temporalio/server:${server}`);
  expect(services['temporal-schema']!.image).toMatch(new RegExp(`^temporalio/admin-tools:${server}-`));
  expect(services['temporal-namespace']!.image).toBe(services['temporal-schema']!.image);
  expect(services['temporal-ui']!.image).toBe(`temporalio/ui:${versionOf('github.com/temporalio/ui-server/v2')}`);
});

test('Temporal begins with more shards of its history than its default, which could never be changed', () => {
  expect(services['temporal']!.environment).toMatchObject({ NUM_HISTORY_SHARDS: '512' });
});

test.each(each)('%s reports when it is healthy, or ends and is tried again', (_name, service) => {
  if (goesOn(service)) expect(service.healthcheck?.test?.[0]).toBe('CMD');
  else expect(service.restart).toMatch(/^on-failure:\d+$/);
});

test.each(each)('%s waits until what it needs is healthy or has ended well', (_name, service) => {
  for (const [needed, { condition }] of Object.entries(service.depends_on ?? {})) {
    expect([needed, condition]).toEqual([
      needed,
      goesOn(services[needed]!) ? 'service_healthy' : 'service_completed_successfully',
    ]);
  }
});

test('each service starts after what it uses, from the database to the worker', () => {
  const needs = (name: string): string[] =>
    Object.keys(services[name]!.depends_on ?? {}).flatMap((needed) => [needed, ...needs(needed)]);
  expect(needs('worker')).toEqual(['setup', 'temporal-namespace', 'temporal', 'temporal-schema', 'postgres']);
});

test('only this machine reaches the ports, and each can be changed', () => {
  expect(each.flatMap(([, { ports = [] }]) => ports)).toEqual(['127.0.0.1:7233:7233', '127.0.0.1:8080:8080']);
  const moved = readCompose('docker-compose.yml', { TEMPORAL_PORT: '1', TEMPORAL_UI_PORT: '2' });
  expect(Object.values(moved.services).flatMap(({ ports = [] }) => ports)).toEqual([
    '127.0.0.1:1:7233',
    '127.0.0.1:2:8080',
  ]);
});

test("the database's data outlives its container, and its password can be set", () => {
  const given = readCompose('docker-compose.yml', { POSTGRES_PASSWORD: 'given' });
  const { postgres, 'temporal-schema': schema, temporal } = given.services;
  expect(postgres!.volumes).toEqual(['postgres-data:/var/lib/postgresql/data']);
  expect(given.volumes).toHaveProperty('postgres-data');
  expect(postgres!.environment).toMatchObject({ POSTGRES_PASSWORD: 'given' });
  expect(schema!.environment).toMatchObject({ SQL_PASSWORD: 'given' });
  expect(temporal!.environment).toMatchObject({ POSTGRES_PWD: 'given' });
});

test.each(FILES)('every variable in %s has a default', (file) => {
  const variables = composeText(file)
    .replaceAll(/^\s*#.*$/gm, '')
    .replaceAll('$$', '')
    .match(/\$.*?[}\s]/g)!;
  for (const variable of variables) expect(variable).toMatch(/^\$\{[A-Z_]+:-.+\}$/);
});

test("a worker's settings are its own defaults, and can be changed", () => {
  const own = readConfig({});
  const { environment } = readCompose('docker-compose.yml').services['worker']!;
  const { burst, slots, waitSlots, cachedWorkflows } = readConfig(environment as NodeJS.ProcessEnv);
  expect({ burst, slots, waitSlots, cachedWorkflows }).toEqual({
    burst: own.burst,
    slots: own.slots,
    waitSlots: own.waitSlots,
    cachedWorkflows: own.cachedWorkflows,
  });
  const given = { DROVER_BURST: '1', DROVER_SLOTS: '2', DROVER_WAIT_SLOTS: '3', DROVER_CACHED_WORKFLOWS: '4' };
  expect(readCompose('docker-compose.yml', given).services['worker']!.environment).toMatchObject(given);
});

test('cluster, namespace and port of the Web UI are the given ones, for all services that name them', () => {
  const drovers = { DROVER_CLUSTER: 'east', TEMPORAL_NAMESPACE: 'vms' };
  const given = readCompose('docker-compose.yml', { ...drovers, TEMPORAL_UI_PORT: '2' }).services;
  for (const name of ['setup', 'worker']) expect(given[name]!.environment).toMatchObject(drovers);
  expect(given['temporal-namespace']!.environment).toMatchObject({ TEMPORAL_NAMESPACE: 'vms' });
  const ui = { TEMPORAL_DEFAULT_NAMESPACE: 'vms', TEMPORAL_CORS_ORIGINS: 'http://localhost:2' };
  expect(given['temporal-ui']!.environment).toMatchObject(ui);
});

test('a worker that is asked to end gets the time that it needs for that', () => {
  const grace = Number(/const GRACE = '(\d+)s'/.exec(textOf('workers/create-workers.ts'))![1]);
  expect(worker.stop_grace_period).toMatch(/^\d+s$/);
  expect(parseInt(worker.stop_grace_period!, 10)).toBeGreaterThan(grace);
});

test.each([
  ['setup', setup],
  ['worker', worker],
])('%s may do nothing to the machine', (_name, service) => {
  expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
});

test('drover gets the kubeconfig at its usual place, read-only, as the user that the image names', () => {
  for (const service of [setup, worker]) {
    expect(service.volumes).toEqual([
      {
        type: 'bind',
        source: '~/.kube/config',
        target: service.environment!['KUBECONFIG'],
        read_only: true,
        bind: { create_host_path: false },
      },
    ]);
    expect(service.user).toBe(lastOf('USER'));
  }
  expect(readCompose('docker-compose.yml', { KUBECONFIG: '/k' }).services['worker']!.volumes![0]).toMatchObject({
    source: '/k',
  });
});

test('the worker understands its environment, and reports its health where it is probed', () => {
  const environment = { ...imageEnvironment(), ...worker.environment };
  const known = eachSetting().map(([, { variable }]) => variable);
  for (const name of Object.keys(environment)) {
    expect(name).toMatch(/^(KUBECONFIG|TEMPORAL_(ADDRESS|NAMESPACE)|DROVER_\w+|LOG_LEVEL|NODE_ENV|MALLOC_\w+)$/);
    if (name.startsWith('DROVER_')) expect(known).toContain(name);
  }
  expect(readConfig(environment)).toMatchObject({ cluster: 'default', health: { address: '0.0.0.0', port: 8080 } });
  expect(worker.healthcheck!.test).toEqual([
    'CMD',
    ...(JSON.parse(lastOf('HEALTHCHECK').split(' CMD ')[1]!) as string[]),
  ]);
});

test.each([
  ['setup', setup],
  ['worker', worker],
])('drover has the command that %s runs', async (_name, { command }) => {
  const { stdout } = await run(process.execPath, ['clients/bin.js', ...command!, '--help']);
  expect(stdout).toContain(`drover ${command![0]}`);
});

test("drover on the host's network reaches Temporal by its published port", () => {
  const variables = { TEMPORAL_PORT: '17233' };
  const published = readCompose('docker-compose.yml', variables).services['temporal']!.ports![0]!.replace(/:7233$/, '');
  const onTop = readCompose('deploy/compose.host-network.yml', variables).services;
  expect(Object.keys(onTop)).toEqual(['setup', 'worker']);
  for (const service of Object.values(onTop)) {
    expect(service.network_mode).toBe('host');
    expect(service.environment!['TEMPORAL_ADDRESS']).toBe(published);
  }
  expect(onTop['worker']!.environment!['DROVER_HEALTH_ADDRESS']).toBe('127.0.0.1');
});
