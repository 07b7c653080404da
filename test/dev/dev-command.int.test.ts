import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { VirtualMachines } from '../../api/resources.ts';
import { findStack } from '../../dev/find-stack.ts';
import { readStackRecord } from '../../dev/stack-file.ts';
import { childrenOf, outcomeOf, type Outcome } from '../clients/drover.ts';
import { droverHere } from '../clients/in-process.ts';
import { sample, testOneOf } from '../soak.ts';
import { PATIENCE_MS } from '../wait-for.ts';
import { ConfigMaps, configMap, kubeOf, living, stateFolder } from './stacks.ts';

const BIN = join(import.meta.dirname, '../../clients/bin.js');
const SERVERS_ONLY = ['--no-simulator', '--no-worker'];
const READY_WITHIN = { timeout: PATIENCE_MS };
/** A dead supervisor can't end its processes; the reaper gives them two seconds. */
const REAPED_WITHIN = { timeout: PATIENCE_MS };

const spawnDrover = (args: string[]): ChildProcess =>
  spawn(process.execPath, [BIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });

const drover = (...args: string[]): Promise<Outcome> => outcomeOf(spawnDrover(args));

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
  await expect.poll(() => stderr, READY_WITHIN).toMatch(/ready: Temporal's Web UI is at http/);
  return { child, stdout, stderr: () => stderr };
}

// A start takes seconds of CPU, so each of these tests continues from what the one before has left in the folder.
describe('a stack in a folder', () => {
  let state: string;
  beforeAll(() => {
    state = mkdtempSync(join(tmpdir(), 'drover-dev-'));
    return async () => {
      await droverHere(['dev', 'stop', '--state', state]);
      rmSync(state, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    };
  });

  test('has all its parts, whatever Temporal the shell is set up for, and ends with its supervisor', async () => {
    vi.stubEnv('TEMPORAL_API_KEY', 'of another server');
    vi.stubEnv('TEMPORAL_TLS', 'true');
    vi.stubEnv('DROVER_WORKFLOW_BUNDLE', inject('programs')!.workflows);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { child } = await foreground('--state', state);
    const parts = ['etcd', 'kube-apiserver', 'simulator', 'temporal', 'worker'];
    expect(readStackRecord(join(state, 'stack.json'))?.names.sort()).toEqual(parts);
    const kube = kubeOf({ kubeconfig: join(state, 'kubeconfig') });
    const vm = {
      metadata: { name: 'a', namespace: 'default' },
      spec: { runStrategy: 'Always', template: { spec: { domain: { devices: {}, memory: { guest: '64Mi' } } } } },
    };
    await kube.create(VirtualMachines, vm);
    const statusOf = async (): Promise<unknown> =>
      (await kube.get(VirtualMachines, { namespace: 'default', name: 'a' }))['status'];
    await expect.poll(statusOf, { timeout: PATIENCE_MS }).toMatchObject({ ready: true });
    await kube.create(ConfigMaps, configMap('kept'));
    const pids = pidsIn(state);
    expect(living(pids)).toHaveLength(5);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(findStack(state)).toBeUndefined();
    expect((await drover('dev', 'status', '--state', state)).code).toBe(1);
    await expect.poll(() => living(pids), REAPED_WITHIN).toEqual([]);
  });

  test('ends what is left of a supervisor and a reaper that were killed, and has the data', async () => {
    const killed = spawnDrover(['dev', ...SERVERS_ONLY, '--state', state]);
    onTestFinished(() => void killed.kill('SIGKILL'));
    await expect.poll(() => living(pidsIn(state)).length, { timeout: PATIENCE_MS, interval: 5 }).toBe(3);
    const left = pidsIn(state);
    const reaper = childrenOf(killed.pid!).filter((pid) => !left.includes(pid));
    // The supervisor must not start another.
    killed.kill('SIGSTOP');
    for (const pid of reaper) process.kill(pid, 'SIGKILL');
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    expect(living(left)).toEqual(left);

    const starting = spawnDrover(['dev', '--detach', ...SERVERS_ONLY, '--state', state]);
    const met: number[] = [];
    starting.stderr!.on('data', () => void met.push(...living(left)));
    const started = await outcomeOf(starting);
    expect(met).toEqual([]);
    expect(started).toMatchObject({ code: 0, stderr: expect.stringContaining('kube-apiserver is ready') });
    expect(started.stdout).toBe(readFileSync(join(state, 'env'), 'utf8'));
    await kubeOf(findStack(state)!).get(ConfigMaps, { namespace: 'default', name: 'kept' });
  });

  test('runs on after a detached command, reports its status, and stops when asked to', async () => {
    const stack = findStack(state)!;
    const status = await droverHere(['dev', 'status', '--state', state]);
    expect(status).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`the stack in ${state} is ready (pid ${stack.pid})`),
    });
    const { code, stdout } = await droverHere(['dev', 'status', '-o', 'json', '--state', state]);
    expect(code).toBe(0);
    const { processes, ...rest } = JSON.parse(stdout) as { processes: { name: string; pid: number }[] };
    const { pid, temporalAddress, kubeconfig } = stack;
    expect(rest).toMatchObject({ state, phase: 'ready', pid, temporalAddress, kubeconfig });
    expect(processes.map(({ name }) => name).sort()).toEqual(['etcd', 'kube-apiserver', 'temporal']);

    const second = await droverHere(['dev', ...SERVERS_ONLY, '--state', state]);
    expect(second).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`error: a stack runs in ${state} (pid ${pid}, Web UI at`),
    });
    const other = stateFolder();
    const port = temporalAddress.split(':')[1]!;
    const failed = await drover('dev', '--detach', ...SERVERS_ONLY, '--state', other, '--temporal-port', port);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(
      new RegExp(`^error: port ${port} on 127.0.0.1 is taken; free it, or give another with --temporal-port$`, 'm'),
    );
    expect(existsSync(join(other, 'lock'))).toBe(false);

    expect(await droverHere(['dev', 'stop', '--state', state])).toMatchObject({ code: 0, stdout: 'stopped\n' });
    expect(living([pid, ...processes.map((one) => one.pid)])).toEqual([]);
    for (const [command, exitCode] of [
      ['status', 1],
      ['stop', 0],
    ] as const)
      expect(await drover('dev', command, '--state', state)).toMatchObject({
        code: exitCode,
        stdout: `no stack runs in ${state}\n`,
      });
  });

  test('ends in order with Ctrl-C, and has written to stdout only what a shell can read', async () => {
    const { child, stdout, stderr } = await foreground(...SERVERS_ONLY, '--state', state);
    const pids = pidsIn(state);
    expect(living(pids)).toHaveLength(3);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(living(pids)).toEqual([]);
    expect(await stdout).toBe(readFileSync(join(state, 'env'), 'utf8'));
    expect(stderr()).not.toMatch(/ended|starts again/);
  });
});

async function failsInOneSentence(...flags: string[]): Promise<void> {
  const state = stateFolder();
  const broken = join(state, 'broken-etcd');
  writeFileSync(broken, '#!/bin/sh\necho "no such flag" >&2\necho "usage: etcd" >&2\nexit 3\n', { mode: 0o755 });
  vi.stubEnv('DROVER_ETCD', broken);
  onTestFinished(() => void vi.unstubAllEnvs());
  const failed = await drover('dev', ...flags, ...SERVERS_ONLY, '--state', state);
  expect(failed).toMatchObject({ code: 1, stdout: '' });
  expect(failed.stderr).toContain(`the last lines of ${state}/logs/etcd.log:\n  no such flag\n  usage: etcd\n`);
  expect(failed.stderr.trimEnd().split('\n').at(-1)).toBe('error: etcd ended before it was ready (exit code 3)');
}

testOneOf({
  'reports a process that fails at the start in one sentence, with its log above': () => failsInOneSentence(),
  'reports a process that fails at the start in one sentence, with its log above, also if it is to be detached': () =>
    failsInOneSentence('--detach'),
});

test.each(sample(['SIGTERM', 'SIGHUP'] as const))(
  '%s before it is ready ends what has been started',
  async (signal) => {
    const state = stateFolder();
    const child = spawnDrover(['dev', ...SERVERS_ONLY, '--state', state]);
    onTestFinished(() => void child.kill('SIGKILL'));
    const said = text(child.stderr!);
    await expect.poll(() => pidsIn(state).length, { timeout: PATIENCE_MS, interval: 5 }).toBeGreaterThan(0);
    const pids = pidsIn(state);
    child.kill(signal);
    expect(await once(child, 'exit')).toEqual([1, null]);
    expect(await said).toContain(`error: ${signal} came before the stack was ready; it was stopped`);
    expect(living(pids)).toEqual([]);
    expect(existsSync(join(state, 'lock'))).toBe(false);
  },
);

test.each([
  [['--temporal-port', '0'], 'Give a port, from 1 to 65535.'],
  [['--kubeconfig', 'x'], 'drover dev starts its own servers: leave out --kubeconfig'],
  [['--address', 'x:1'], 'drover dev starts its own servers: leave out --address'],
])('wrong usage %j is refused before anything is started', async (args, sentence) => {
  const state = stateFolder();
  expect(await droverHere(['dev', '--state', state, ...args])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(sentence),
  });
  expect(existsSync(join(state, 'stack.json'))).toBe(false);
});
