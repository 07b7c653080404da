import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { VirtualMachines } from '../../api/resources.ts';
import { findStack } from '../../dev/find-stack.ts';
import { choosePorts } from '../../dev/process/ports.ts';
import { readStackRecord } from '../../dev/stack-file.ts';
import { ConfigMaps, configMap, kubeOf, living, servers, stateFolder } from './stacks.ts';

const BIN = join(import.meta.dirname, '../../clients/bin.js');
/** A dead supervisor can't end its processes; the leash gives them two seconds. */
const LEASH_ENDS_WITHIN = { timeout: 20_000 };

const spawnDrover = (args: string[]): ChildProcess =>
  spawn(process.execPath, [BIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });

async function drover(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawnDrover(args);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}

/** Returns a state folder whose stack is stopped if the test fails. */
function ownState(): string {
  const state = stateFolder();
  onTestFinished(async () => void (await drover('dev', 'stop', '--state', state)));
  return state;
}

const pidsIn = (state: string): number[] =>
  (readStackRecord(join(state, 'stack.json'))?.processes ?? []).map(({ pid }) => pid);

/** Runs `drover dev` in the foreground; resolves when it reports that it is ready. */
async function foreground(
  ...args: string[]
): Promise<{ child: ChildProcess; stdout: Promise<string>; stderr: () => string }> {
  const child = spawnDrover(['dev', ...args]);
  onTestFinished(() => void child.kill('SIGKILL'));
  let stderr = '';
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const stdout = text(child.stdout!);
  await expect.poll(() => stderr, { timeout: 60_000 }).toMatch(/ready: Temporal's Web UI is at http/);
  return { child, stdout, stderr: () => stderr };
}

test('a detached stack is ready when the command returns, tells its status, and stops when told', async () => {
  const state = ownState();
  const started = await drover('dev', '--detach', '--no-simulator', '--no-worker', '--state', state);
  expect(started).toMatchObject({ code: 0, stderr: expect.stringContaining('kube-apiserver is ready') });
  expect(started.stdout).toBe(readFileSync(join(state, 'env'), 'utf8'));
  const stack = findStack(state)!;
  await kubeOf(stack).create(ConfigMaps, configMap('here'));

  const status = await drover('dev', 'status', '--state', state);
  expect(status).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`the stack in ${state} is ready (pid ${stack.pid})`),
  });
  const { code, stdout } = await drover('dev', 'status', '-o', 'json', '--state', state);
  expect(code).toBe(0);
  const { processes, ...rest } = JSON.parse(stdout) as { processes: { name: string; pid: number }[] };
  expect(rest).toMatchObject({
    state,
    phase: 'ready',
    pid: stack.pid,
    temporalAddress: stack.temporalAddress,
    kubeconfig: stack.kubeconfig,
  });
  expect(processes.map(({ name }) => name).sort()).toEqual(['etcd', 'kube-apiserver', 'temporal']);

  const second = await drover('dev', '--no-simulator', '--no-worker', '--state', state);
  expect(second).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`error: a stack runs in ${state} (pid ${stack.pid}, Web UI at`),
  });

  expect(await drover('dev', 'stop', '--state', state)).toMatchObject({ code: 0, stdout: 'stopped\n' });
  expect(living([stack.pid, ...processes.map(({ pid }) => pid)])).toEqual([]);
  expect(await drover('dev', 'status', '--state', state)).toMatchObject({
    code: 1,
    stdout: `no stack runs in ${state}\n`,
  });
  expect(await drover('dev', 'stop', '--state', state)).toMatchObject({
    code: 0,
    stdout: `no stack runs in ${state}\n`,
  });
});

test('a detached stack that can not start says why, and leaves nothing', async () => {
  const { temporal } = await choosePorts(['temporal'], {}, {});
  await servers({ ephemeral: true, ports: { temporal: temporal! } });
  const state = ownState();
  const failed = await drover(
    'dev',
    '--detach',
    '--no-simulator',
    '--no-worker',
    '--state',
    state,
    '--temporal-port',
    String(temporal),
  );
  expect(failed.code).toBe(1);
  expect(failed.stderr).toMatch(
    new RegExp(`^error: port ${temporal} on 127.0.0.1 is taken; free it, or give another with --temporal-port$`, 'm'),
  );
  expect(existsSync(join(state, 'lock'))).toBe(false);
});

test.each([[[]], [['--detach']]])(
  'a process that fails at the start %j is one sentence, with its log above',
  async (flags) => {
    const state = ownState();
    const broken = join(state, 'broken-etcd');
    writeFileSync(broken, '#!/bin/sh\necho "no such flag" >&2\necho "usage: etcd" >&2\nexit 3\n', { mode: 0o755 });
    vi.stubEnv('DROVER_ETCD', broken);
    onTestFinished(() => void vi.unstubAllEnvs());
    const failed = await drover('dev', ...flags, '--no-simulator', '--no-worker', '--state', state);
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toContain(`the last lines of ${state}/logs/etcd.log:\n  no such flag\n  usage: etcd\n`);
    expect(failed.stderr.trimEnd().split('\n').at(-1)).toBe('error: etcd ended before it was ready (exit code 3)');
  },
);

test('Ctrl-C ends the stack in order, and stdout has had only what a shell can read', async () => {
  const state = ownState();
  const { child, stdout, stderr } = await foreground('--no-simulator', '--no-worker', '--state', state);
  const pids = pidsIn(state);
  expect(living(pids)).toHaveLength(3);
  child.kill('SIGINT');
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(living(pids)).toEqual([]);
  expect(await stdout).toBe(readFileSync(join(state, 'env'), 'utf8'));
  expect(stderr()).not.toMatch(/ended|starts again/);
});

test.each(['SIGTERM', 'SIGHUP'] as const)('%s before it is ready ends what has been started', async (signal) => {
  const state = ownState();
  const child = spawnDrover(['dev', '--no-simulator', '--no-worker', '--state', state]);
  const said = text(child.stderr!);
  await expect.poll(() => pidsIn(state).length, { timeout: 30_000, interval: 5 }).toBeGreaterThan(0);
  const pids = pidsIn(state);
  child.kill(signal);
  expect(await once(child, 'exit')).toEqual([1, null]);
  expect(await said).toContain(`error: ${signal} came before the stack was ready; it was stopped`);
  expect(living(pids)).toEqual([]);
  expect(existsSync(join(state, 'lock'))).toBe(false);
});

test('when its supervisor is killed, its processes end too, and the next start goes on from the data', async () => {
  const state = ownState();
  const { child } = await foreground('--no-simulator', '--no-worker', '--state', state);
  await kubeOf({ kubeconfig: join(state, 'kubeconfig') }).create(ConfigMaps, configMap('kept'));
  const pids = pidsIn(state);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(findStack(state)).toBeUndefined();
  expect((await drover('dev', 'status', '--state', state)).code).toBe(1);
  await expect.poll(() => living(pids), LEASH_ENDS_WITHIN).toEqual([]);

  const next = await servers({ state });
  await kubeOf(next).get(ConfigMaps, { namespace: 'default', name: 'kept' });
});

test('a start right after its supervisor was killed waits for what that has left', async () => {
  const state = ownState();
  const { child } = await foreground('--no-simulator', '--no-worker', '--state', state);
  const pids = pidsIn(state);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const met: number[] = [];
  const next = await servers({ state, onProgress: () => void met.push(...living(pids)) });
  expect(met).toEqual([]);
  expect(living(next.processes.map(({ pid }) => pid))).toHaveLength(3);
});

test('the leash itself may be killed: another takes its place', async () => {
  const state = ownState();
  const { child } = await foreground('--no-simulator', '--no-worker', '--state', state);
  const shells = (): number[] => childrenOf(child.pid!).filter((pid) => !pidsIn(state).includes(pid));
  const [leash] = shells();
  process.kill(leash!, 'SIGKILL');
  const successors = (): number[] => shells().filter((pid) => pid !== leash);
  await expect.poll(successors, { timeout: 20_000 }).toHaveLength(1);
  const pids = pidsIn(state);
  child.kill('SIGKILL');
  await expect.poll(() => living(pids), LEASH_ENDS_WITHIN).toEqual([]);
});

test('with simulator and worker, all of it is there, whatever Temporal the shell is set up for, and ends with its supervisor', async () => {
  const state = ownState();
  vi.stubEnv('TEMPORAL_API_KEY', 'of another server');
  vi.stubEnv('TEMPORAL_TLS', 'true');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { child } = await foreground('--ephemeral', '--state', state);
  expect(readStackRecord(join(state, 'stack.json'))?.names.sort()).toEqual([
    'etcd',
    'kube-apiserver',
    'simulator',
    'temporal',
    'worker',
  ]);
  const kube = kubeOf({ kubeconfig: join(state, 'kubeconfig') });
  const vm = {
    metadata: { name: 'a', namespace: 'default' },
    spec: { runStrategy: 'Always', template: { spec: { domain: { devices: {}, memory: { guest: '64Mi' } } } } },
  };
  await kube.create(VirtualMachines, vm);
  const isReady = async (): Promise<unknown> =>
    (await kube.get(VirtualMachines, { namespace: 'default', name: 'a' }))['status'];
  await expect.poll(isReady, { timeout: 20_000 }).toMatchObject({ ready: true });
  const pids = pidsIn(state);
  expect(living(pids)).toHaveLength(5);
  child.kill('SIGKILL');
  await expect.poll(() => living(pids), LEASH_ENDS_WITHIN).toEqual([]);
});

test.each([
  [['--temporal-port', '0'], 'Give a port, from 1 to 65535.'],
  [['--kubeconfig', 'x'], 'drover dev starts servers of its own: leave out --kubeconfig'],
  [['--address', 'x:1'], 'drover dev starts servers of its own: leave out --address'],
])('wrong usage %j is refused before anything is started', async (args, sentence) => {
  const state = stateFolder();
  expect(await drover('dev', '--state', state, ...args)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(sentence),
  });
  expect(existsSync(join(state, 'stack.json'))).toBe(false);
});

test.each([['dev'], ['dev', 'stop'], ['dev', 'status']])('%s %s --help has examples', async (...command) => {
  const help = await drover(...command.filter((word) => word !== undefined), '--help');
  expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('\nExamples:\n') });
});

/** Returns the living direct children, as the kernel lists them. */
function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? [] : living(children.split(' ').map(Number));
}
