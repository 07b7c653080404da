import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { startedAt } from '../../dev/process/process-identity.ts';
import { readStackRecord } from '../../dev/stack-file.ts';
import { spawnReaped } from '../reaped.ts';
import { soakTest, testOneOf } from '../soak.ts';
import { follow, nowhere, outcomeOf, type Outcome } from './drover.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Variables that locate the tools, but no server. */
const tools = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => /^(DROVER_(?!STATE|CLUSTER)|XDG_CACHE_HOME|HOME|GO)/.test(name)),
);

function demo(args: string[], env: NodeJS.ProcessEnv = {}): { child: ChildProcess; state: string } {
  const state = mkdtempSync(join(tmpdir(), 'drover-demo-'));
  const child = spawnReaped(process.execPath, ['clients/demo.ts', '--state', state, ...args], {
    cwd: ROOT,
    env: { ...nowhere, ...tools, ...env },
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
    rmSync(state, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  });
  return { child, state };
}

/** Returns the names of the stack's processes that still run. */
const left = (state: string): string[] =>
  (readStackRecord(join(state, 'stack.json'))?.processes ?? [])
    .filter(({ pid }) => startedAt(pid) !== undefined)
    .map(({ name }) => name);

async function expectAllShown(outcome: Promise<Outcome>, state: string): Promise<void> {
  const { code, stdout, stderr } = await outcome;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  for (const shown of [
    '10/10 ready',
    '16/16 ready',
    'Giving each VM 2 cores',
    '4/4 ready, 4 total',
    `export KUBECONFIG='${state}/kubeconfig'`,
  ])
    expect(stdout).toContain(shown);
  expect(stdout).toMatch(/Temporal's Web UI {3}http:\/\/127\.0\.0\.1:\d+/);
  expect(left(state)).toEqual([]);
}

test('the demo shows all of it, says where to look, runs until Ctrl-C, and leaves nothing behind', async () => {
  const { child, state } = demo([]);
  const outcome = outcomeOf(child);
  await follow(child.stdout!)('It runs until Ctrl-C');
  child.kill('SIGINT');
  await expectAllShown(outcome, state);
});

// As above, but for the wait for Ctrl-C.
soakTest('the demo with --exit ends when it has shown all of it', async () => {
  const { child, state } = demo(['--exit']);
  await expectAllShown(outcomeOf(child), state);
});

async function interruptedAt(sign: string): Promise<void> {
  // The first demo shows that a worker bundles its workflows itself.
  const { child, state } = demo(['--exit'], { DROVER_WORKFLOW_BUNDLE: inject('programs')!.workflows });
  const outcome = outcomeOf(child);
  await follow(child.stdout!)(sign);
  child.kill('SIGINT');
  const { code, stderr } = await outcome;
  expect({ code, stderr }).toEqual({ code: 130, stderr: '' });
  expect(left(state)).toEqual([]);
}

testOneOf({
  'Ctrl-C ends all of it while it starts': () => interruptedAt('etcd is ready'),
  'Ctrl-C ends all of it while VMs come up': () => interruptedAt('Applying examples/pool.yaml'),
});

test('the demo says why it cannot start, and fails', async () => {
  const { child } = demo(['--exit', '--state', '/dev/null/state']);
  const { code, stderr } = await outcomeOf(child);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error: .*\/dev\/null\/state.*\n$/);
});
