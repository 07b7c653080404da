import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { Namespaces, VirtualMachines } from '../../api/resources.ts';
import { aFleet, until } from '../integration/fleet.ts';
import { testOneOf } from '../soak.ts';
import { PATIENCE_MS } from '../wait-for.ts';
import { ClusterRoleBindings, ClusterRoles } from './given/ownership.ts';

const fleet = aFleet({ workers: 0 });
const PROJECT = resolve(import.meta.dirname, '../..');
const labelSelector = 'drover.dev/test-run';

/** Runs `npm run test:cluster` on this file's servers, as if they were a user's. */
function clusterTests(...args: string[]) {
  const program = join(PROJECT, 'test/cluster/run.ts');
  const temporary = mkdtempSync(join(tmpdir(), 'drover-test-'));
  const child = spawn(process.execPath, [program, '--kubeconfig', fleet().stack.kubeconfig, ...args], {
    cwd: PROJECT,
    env: { ...process.env, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = Promise.all([text(child.stdout), text(child.stderr)]).then((both) => both.join(''));
  const ended = once(child, 'exit').then(async ([code]) => ({
    code: code as number | null,
    said: await said,
    left: readdirSync(temporary),
  }));
  // A run that a failed test leaves behind would fail the next ones.
  onTestFinished(async () => {
    child.kill('SIGINT');
    await ended;
    rmSync(temporary, { recursive: true });
  });
  return { child, ended };
}

/** `files`: those in the run's folder for temporary files. */
async function expectNothingLeft(files: string[]): Promise<void> {
  expect(files).toEqual([]);
  const left = await Promise.all(
    [Namespaces, ClusterRoles, ClusterRoleBindings].map(
      async (kind) => (await fleet().kube.list(kind, { labelSelector })).items,
    ),
  );
  expect(left.flat().map(({ metadata }) => metadata.name)).toEqual([]);
}

testOneOf({
  'a run that is interrupted removes what it made': async () => {
    const run = clusterTests('test/integration/pool/scale.int.test.ts');
    await until(async () => expect((await fleet().kube.list(VirtualMachines)).items).not.toEqual([]), PATIENCE_MS);
    run.child.kill('SIGINT');
    const { code, said, left } = await run.ended;
    expect(said).toContain('interrupted');
    expect(code).toBe(130);
    await expectNothingLeft(left);
  },
  'a test that needs the simulator is skipped, with its reason': async () => {
    const { code, said, left } = await clusterTests(
      'test/integration/healing/healing.int.test.ts',
      '-t',
      'waits for a node',
    ).ended;
    expect(said).toContain('it asks the simulator for');
    expect(code).toBe(0);
    await expectNothingLeft(left);
  },
});

test('a cluster with pools of others is refused, and nothing is touched', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 0 });
  const { code, said, left } = await clusterTests().ended;
  expect(said).toContain(`the cluster has 1 of drover's pools and sets (${namespace}/web)`);
  expect(code).toBe(1);
  await expectNothingLeft(left);
});
