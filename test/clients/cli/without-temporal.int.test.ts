import type { Command } from 'commander';
import { expect, test } from 'vitest';
import type { KubeObject } from '../../../api/objects.ts';
import { Nodes, VirtualMachineOperations, VirtualMachinePools } from '../../../api/resources.ts';
import { droverProgram } from '../../../clients/program.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { needs } from '../../cluster/given/needs.ts';
import { aFleet, namesUpTo, runningTemplate, until } from '../../integration/fleet.ts';
import { Opened } from '../dashboard/opened.ts';
import { nowhere, type Outcome } from '../drover.ts';
import { droverHere } from '../in-process.ts';

const fleet = aFleet();

/** Words of each command of drover that does something. */
function commandsOf(command: Command, words: string[] = []): string[] {
  const own = '_actionHandler' in command && command['_actionHandler'] !== null ? [words.join(' ')] : [];
  return [...own, ...command.commands.flatMap((one) => commandsOf(one, [...words, one.name()]))];
}

/** Of these, Temporal is a part: they set it up, start it, or run what it calls. */
const OF_TEMPORAL = ['setup', 'worker', 'doctor', 'dev', 'dev stop', 'dev status'];
/** For these, there is nothing to do here: they say so, once they have asked Kubernetes. */
const REFUSED = [
  'rollout promote',
  'rollout abort',
  'heal now',
  'heal skip',
  'takeover',
  'release',
  'disks adopt',
].concat(
  ['plan', 'update', 'status', 'pause', 'resume', 'abort', 'undo', 'report'].map((one) => `machine-types ${one}`),
);

test('every command but those that are about Temporal works for a user who does not reach it', async () => {
  // Its machine types, and pools of KubeVirt.
  needs('an embedded stack');
  const namespace = await fleet().namespace();
  const env = { ...nowhere, KUBECONFIG: fleet().stack.kubeconfig, TEMPORAL_ADDRESS: '127.0.0.1:1' };
  const left = new Set(commandsOf(droverProgram()).filter((words) => !OF_TEMPORAL.includes(words)));
  const wrong: string[] = [];
  const drover = async (command: string, args: string[] = [], input = ''): Promise<Outcome> => {
    const words = command.split(' ');
    const outcome = await droverHere([...words, '-n', namespace, ...args], env, input);
    // What is refused is refused for another reason.
    const isRight = REFUSED.includes(command) ? !/Temporal|127\.0\.0\.1:1/.test(outcome.stderr) : outcome.code === 0;
    if (!isRight) wrong.push(`${command} ${args.join(' ')}: ${outcome.stderr}`);
    left.delete(command);
    return outcome;
  };
  const each = async (group: string, commands: Record<string, string[]>): Promise<void> => {
    for (const [name, args] of Object.entries(commands)) await drover(`${group} ${name}`, args);
  };
  const ready = (replicas: number): Promise<void> =>
    until(async () =>
      expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({ readyReplicas: replicas }),
    );
  const newest = async (): Promise<string> => {
    const { items } = await fleet().kube.list(VirtualMachineOperations, { namespace });
    const [last] = items.toSorted((a, b) => Number(b.metadata.resourceVersion) - Number(a.metadata.resourceVersion));
    return last!.metadata.name;
  };
  const change = async (): Promise<string> => {
    const { items } = await fleet().kube.list<StoredOperation>(VirtualMachineOperations, { namespace });
    return items.find(({ spec }) => spec.action === 'Patch')!.metadata.name;
  };
  /** An operation that waits. */
  const held = async (): Promise<string> => {
    const metadata = { namespace, generateName: 'held-' } as unknown as { name: string };
    const held = { action: 'Restart', vms: { names: ['web-1'] }, paused: true };
    return (await fleet().kube.create<KubeObject>(VirtualMachineOperations, { metadata, spec: held })).metadata.name;
  };

  const spec = { replicas: 2, autohealing: {}, template: runningTemplate };
  const pool = JSON.stringify({
    apiVersion: 'drover.dev/v1alpha1',
    kind: 'VirtualMachinePool',
    metadata: { name: 'web' },
    spec,
  });
  await drover('apply', ['-f', '-', '--no-vm-check'], pool);
  await fleet().settled(namespace, 'web', namesUpTo('web', 2));
  await ready(2);
  await drover('diff', ['-f', '-'], pool);
  await drover('status');
  await drover('budgets');
  await drover('drift', ['pool', 'web']);
  await fleet().kube.patch(VirtualMachinePools, { namespace, name: 'web' }, 'merge', { spec: { replicas: 3 } });
  await fleet().settled(namespace, 'web', namesUpTo('web', 3));
  await ready(3);
  await each('rollout', {
    status: ['pool', 'web'],
    history: ['pool', 'web'],
    pause: ['pool', 'web'],
    resume: ['pool', 'web'],
    promote: ['pool', 'web'],
    abort: ['pool', 'web'],
    restart: ['pool', 'web', '--dry-run=server'],
    undo: ['pool', 'web', '--to-revision', '1', '--dry-run=server'],
    diff: ['pool', 'web'],
  });
  const on = ['pool', 'web'];
  await each('heal', { status: on, pause: on, resume: on, now: [...on, 'web-1'], skip: [...on, 'web-1'] });
  await drover('history', on);
  const [node] = (await fleet().kube.list(Nodes)).items;
  await drover('drain status', [node!.metadata.name]);
  await each('drain', {
    start: [node!.metadata.name, '--dry-run=server'],
    cancel: [node!.metadata.name, '--dry-run=server'],
  });
  await each('disks', { prune: ['--pool', 'web', '--dry-run=server'], adopt: ['--pool', 'web', '--dry-run=server'] });
  await drover('scale', ['pool', 'web', '--remove', 'web-3', '--dry-run=server']);
  await drover('detach', ['web-3', '--decrement']);
  await drover('attach', ['web-3', '--pool', 'web']);
  await drover('detach', ['web-3', '--decrement']);
  await drover('adopt', ['pool', 'web', 'web-3']);
  await drover('detach', ['web-3', '--decrement']);
  await drover('takeover', ['vmpool', 'none']);
  await drover('release', ['pool', 'none']);

  await drover('vm pending');
  await drover('vm migrate', ['--pool', 'web', '--outdated', '--dry-run=server']);
  await drover('vm stop', ['web-1']);
  await drover('vm start', ['web-1']);
  await drover('vm restart', ['web-1']);
  await drover('vm stop', ['web-1', '--schedule', '0 0 1 1 *', '--name', 'night']);
  await each('schedules', {
    suspend: ['night'],
    resume: ['night'],
    run: ['night', '--no-wait'],
  });
  await drover('change plan', ['web-3', '--set', 'metadata.labels.tier=gold']);
  await drover('change list');
  await drover('change apply', ['web-3', '--set', 'metadata.labels.tier=gold']);
  await drover('change undo', [await change()]);
  await drover('operations get');
  await drover('operations describe', [await newest()]);
  await drover('operations logs', [await newest()]);
  const [kept, ended] = [await held(), await held()];
  await each('operations', { pause: [kept], resume: [kept], abort: [ended] });
  const types = ['--which-matches-glob', 'none-*', '--to', 'pc-q35-9.2'];
  await each('machine-types', { types: [], list: [], plan: types, update: types });
  for (const one of ['status', 'pause', 'resume', 'abort', 'undo', 'report'])
    await drover(`machine-types ${one}`, ['none']);
  await drover('version');
  await drover('completion', ['bash']);
  await drover('complete', ['--', 'status', '']);
  // It runs until Ctrl-C.
  await using dashboard = await Opened.start(env.KUBECONFIG, { namespace });
  await until(async () => expect(dashboard.isSynced).toBe(true));
  left.delete('dashboard');
  expect({ wrong, left: [...left] }).toEqual({ wrong: [], left: [] });
});
