import { expect, test } from 'vitest';
import type { KubeObject } from '../../../api/objects.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { healView, type HealView } from '../../../clients/healing/view.ts';
import type { Act } from '../../../decisions/history/act.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import type { VirtualMachine } from '../../../simulator/objects/kubevirt.ts';
import { aFleet, runningTemplate, until } from '../../integration/fleet.ts';
import { withFastStarts } from '../../integration/healing/healings.ts';
import { testOneOf } from '../../soak.ts';
import { nowhere, outcomeOf, start, type Outcome } from '../drover.ts';
import { droverHere as run } from '../in-process.ts';

const fleet = aFleet();

withFastStarts(fleet);

const env = (): NodeJS.ProcessEnv => ({ ...nowhere, ...fleet().stack.env, DROVER_REQUESTED_BY: 'ada@desk' });

/** Creates a pool with a back-off so long that no test waits for it. */
async function aPool(spec: Partial<PoolSpec> = {}): Promise<string> {
  const namespace = await fleet().namespace();
  const autohealing = {
    startupFailureThreshold: 2,
    backoff: { initial: '1h', max: '1h', jitter: 0 },
    preserveStorage: false,
  };
  await fleet().createPool(namespace, 'web', { replicas: 3, template: runningTemplate, autohealing, ...spec });
  await until(async () => expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({ readyReplicas: 3 }));
  return namespace;
}

/** Runs `drover heal …` in one namespace, as a user who reaches no Temporal: nothing listens there. */
const healIn =
  (namespace: string) =>
  (...words: string[]): Promise<Outcome> =>
    run(['heal', ...words, '-n', namespace], { ...env(), TEMPORAL_ADDRESS: '127.0.0.1:1' });

/** What `drover heal status` would show: cheaper to wait for than by the command. */
const viewIn = async (namespace: string): Promise<HealView> => healView((await fleet().pool(namespace, 'web'))!);

/** Makes every start of this VM fail; a replacement is not affected. */
async function makeFail(namespace: string, name: string): Promise<void> {
  const metadata = { annotations: { 'sim.drover.dev/fail-starts': 'always' } };
  await fleet().kube.patch(VirtualMachines, { namespace, name }, 'merge', { spec: { template: { metadata } } });
  await endVmi(namespace, name);
}

/** Deletes the VM's VMI; the next one uses the VM's current spec. */
async function endVmi(namespace: string, name: string): Promise<void> {
  // KubeVirt may start the old spec until it has observed the new one.
  await until(async () => {
    const { metadata, status } = await fleet().kube.get<VirtualMachine & KubeObject>(VirtualMachines, {
      namespace,
      name,
    });
    expect(status?.desiredGeneration).toBe(metadata.generation);
  });
  await ignoreNotFound(fleet().kube.delete(VirtualMachineInstances, { namespace, name }));
}

/** Breaks the VM; resolves when its replacement waits for its back-off. */
async function breakUntilWaiting(namespace: string, name: string): Promise<void> {
  await makeFail(namespace, name);
  await until(async () =>
    expect((await fleet().pool(namespace, 'web'))?.status?.healing?.cycles).toMatchObject([
      { vm: name, phase: 'Waiting' },
    ]),
  );
}

const matching = (pattern: RegExp): string => expect.stringMatching(pattern) as string;

test('a user sees a VM that is being replaced, pauses that, ends its delay, and leaves another', async () => {
  const namespace = await aPool();
  const heal = healIn(namespace);
  expect(await heal('status')).toMatchObject({
    code: 0,
    stderr: '',
    stdout: `${namespace}/web\n  NothingToHeal: no VM is unhealthy\n`,
  });

  await breakUntilWaiting(namespace, 'web-2');
  expect(JSON.parse((await heal('status', 'pool', 'web', '-o', 'json')).stdout)).toMatchObject({
    autohealing: true,
    phase: 'ReplacingVms',
    notReplaced: [],
    notListed: 0,
    cycles: [{ vm: 'web-2', attempt: 1, nextAt: matching(/Z$/) }],
  });
  expect((await heal('status', 'pool/web')).stdout).toMatch(
    /^ {2}VM +ATTEMPT .*\n {2}web-2 +1 +Waiting +in \d+m \(\S+Z\) +\d+s +\S/m,
  );

  expect(await heal('pause', 'pool', 'web', '--reason', 'lunch')).toMatchObject({
    code: 0,
    stderr: '',
    stdout: matching(/^virtualmachinepool\.drover\.dev\/web healing paused\n.*\n {2}paused by admin \d+s ago: lunch\n/),
  });
  expect(await heal('pause', 'pool', 'web')).toMatchObject({
    code: 1,
    stderr: matching(/^error: the healing of pool web is already paused, by admin \d+s ago: lunch\n$/),
  });

  // Works in spite of the pause, since a user has asked.
  expect(await heal('now', 'pool', 'web', 'web-2', '--reason', 'fixed')).toMatchObject({
    code: 0,
    stderr: '',
    stdout: matching(/^virtualmachine\.kubevirt\.io\/web-2 no longer waits\n {2}\S/),
  });
  await until(async () =>
    expect(await viewIn(namespace)).toMatchObject({
      cycles: [],
      finished: [{ vm: 'web-2', attempts: 1, end: 'Healed' }],
    }),
  );
  expect(await heal('resume', 'pool', 'web')).toMatchObject({
    code: 0,
    stdout: matching(/healing resumed\n {2}NothingToHeal: no VM is unhealthy\n$/),
  });
  expect(await heal('resume', 'pool', 'web')).toMatchObject({
    code: 1,
    stderr: 'error: the healing of pool web is not paused: nothing to resume\n',
  });

  // drover forgets the skip as soon as the replacement is available; delay that.
  await fleet().patchPool(namespace, 'web', { rollout: { minReadySeconds: 60 } });
  await breakUntilWaiting(namespace, 'web-3');
  // A VM without a cycle doesn't affect the other one.
  expect(await heal('skip', 'pool', 'web', 'web-3', 'web-1', '--reason', 'why not')).toMatchObject({
    code: 1,
    stdout: matching(
      /^virtualmachine\.kubevirt\.io\/web-3 skipped\n {2}skipped after 1 replacement: skipped by admin \(why not\)\n$/,
    ),
    stderr:
      'error: no replacement of vm web-1 is in progress, and by the rules of pool web it is not unhealthy: `drover heal status pool web` lists unhealthy VMs\n',
  });

  const history = async (): Promise<Act[]> =>
    JSON.parse((await run(['history', 'pool', 'web', '-n', namespace, '-o', 'json'], env())).stdout) as Act[];
  // Temporal's lists lag a little.
  await until(async () => {
    const told = (await history())
      .filter(({ action }) => action.startsWith('heal'))
      .map(({ action, vms, end, requestedBy }) => [action, vms.join(), end, requestedBy]);
    expect(told).toEqual([
      ['heal', 'web-2', 'Healed', 'drover'],
      ['heal pause', '', 'Done', 'admin'],
      ['heal now', 'web-2', 'Done', 'admin'],
      ['heal resume', '', 'Done', 'admin'],
      ['heal', 'web-3', 'Skipped', 'drover'],
      ['heal skip', 'web-3', 'Done', 'admin'],
    ]);
  });
  const ofVm = JSON.parse(
    (await run(['history', 'vm', 'web-2', '-n', namespace, '-o', 'json'], env())).stdout,
  ) as Act[];
  expect(ofVm.map(({ action, vms, end }) => [action, vms.join(), end])).toEqual([
    ['create', 'web-2', 'Done'],
    ['heal', 'web-2', 'Healed'],
    ['heal now', 'web-2', 'Done'],
    ['create', 'web-2', 'Done'],
  ]);
});

testOneOf({
  'a VM that is still being removed has its delay ended, once its cycle has heard of it': async () => {
    const namespace = await aPool();
    const key = { namespace, name: 'web-2' };
    const held = 'example.com/held';
    const setFinalizers = async (ofOthers: (one: string) => boolean, ...more: string[]): Promise<void> => {
      const { finalizers = [] } = (await fleet().kube.get(VirtualMachines, key)).metadata;
      const metadata = { finalizers: [...finalizers.filter(ofOthers), ...more] };
      await fleet().kube.patch(VirtualMachines, key, 'merge', { metadata });
    };
    await setFinalizers(() => true, held);
    await makeFail(namespace, 'web-2');
    const isRemoved = { cycles: [{ vm: 'web-2', phase: 'Removing' }] };
    await until(async () => expect(await viewIn(namespace)).toMatchObject(isRemoved));
    expect(await healIn(namespace)('now', 'pool', 'web', 'web-2')).toMatchObject({
      code: 0,
      stdout: matching(
        / no longer waits, and is recreated once it and its VMI are gone\n {2}replacement 1, Removing: /,
      ),
    });
    await setFinalizers((one) => one !== held);
    const isHealed = { cycles: [], finished: [{ vm: 'web-2', end: 'Healed' }] };
    await until(async () => expect(await viewIn(namespace)).toMatchObject(isHealed));
  },
  'a VM that was given up is healed again when a user asks': async () => {
    const namespace = await aPool({
      autohealing: {
        startupFailureThreshold: 2,
        maxAttempts: 1,
        backoff: { initial: '1h', max: '1h', jitter: 0 },
        preserveStorage: false,
      },
    });
    const heal = healIn(namespace);
    await breakUntilWaiting(namespace, 'web-2');
    // The replacement fails as well.
    const startsFail = structuredClone(runningTemplate);
    const { metadata } = startsFail.spec.template as { metadata: { annotations: Record<string, string> } };
    metadata.annotations['sim.drover.dev/fail-starts'] = 'always';
    await fleet().patchPool(namespace, 'web', { template: startsFail, updateStrategy: { unmanaged: {} } });
    await until(async () => expect((await heal('now', 'pool', 'web', 'web-2')).code).toBe(0));
    await until(async () =>
      expect(await viewIn(namespace)).toMatchObject({ finished: [{ vm: 'web-2', end: 'GivenUp' }] }),
    );
    expect(await heal('skip', 'pool', 'web', 'web-2')).toMatchObject({
      code: 1,
      stderr: matching(
        /^error: vm web-2 is left as it is already \(given up after 1 replacement: .*\): `drover heal now pool web web-2` heals it again\n$/,
      ),
    });
    expect(await heal('now', 'pool', 'web', 'web-2')).toMatchObject({
      code: 0,
      stdout: matching(
        /^virtualmachine\.kubevirt\.io\/web-2 is healed again, counting attempts from one \(given up after 1 replacement: /,
      ),
    });
    await until(async () =>
      expect(await viewIn(namespace)).toMatchObject({ cycles: [{ vm: 'web-2', attempt: 1, phase: 'Waiting' }] }),
    );
  },
});

test('an unhealthy VM that has to wait is reported with what it waits for', async () => {
  const namespace = await aPool();
  const heal = healIn(namespace);
  await heal('pause', 'pool', 'web');
  await makeFail(namespace, 'web-1');
  await until(async () =>
    expect((await viewIn(namespace)).notReplaced).toMatchObject([{ vm: 'web-1', waitsFor: 'healing is paused' }]),
  );
  for (const command of ['now', 'skip']) {
    expect(await heal(command, 'pool', 'web', 'web-1')).toMatchObject({
      code: 1,
      stderr: matching(
        /^error: no replacement of vm web-1 has begun: web-1 is unhealthy \(\d+ starts in a row have failed.*\): healing is paused\n$/,
      ),
    });
  }
  const unschedulable = {
    spec: { template: { metadata: { annotations: { 'sim.drover.dev/unschedulable': 'true' } } } },
  };
  await fleet().kube.patch(VirtualMachines, { namespace, name: 'web-2' }, 'merge', unschedulable);
  await endVmi(namespace, 'web-2');
  const waits = 'it waits (ErrorUnschedulable), and a new one would wait as well';
  await until(async () =>
    expect((await viewIn(namespace)).notReplaced).toContainEqual({ vm: 'web-2', message: waits }),
  );
  expect(await heal('now', 'pool', 'web', 'web-2')).toMatchObject({
    code: 1,
    stderr: `error: vm web-2 is not replaced: ${waits}\n`,
  });
  expect((await run(['status', 'pool', 'web', '-n', namespace], env())).stdout).toMatch(
    /^ {2}HealingSuspended: PausedByUser: by admin\n {2}Healing: Waiting: web-1 is unhealthy .*$/m,
  );
});

test('an impossible request is refused in one sentence', async () => {
  const namespace = await fleet().namespace();
  const heal = healIn(namespace);
  await fleet().createPool(namespace, 'web', { replicas: 1 });
  await fleet().createPool(namespace, 'sick', { replicas: 1, autohealing: {} });
  await fleet().settled(namespace, 'sick', ['sick-1']);
  await fleet().kube.patch(VirtualMachines, { namespace, name: 'sick-1' }, 'merge', {
    metadata: { annotations: { 'drover.dev/do-not-disrupt': 'true' } },
  });
  await fleet().settled(namespace, 'web', ['web-1']);
  const sentences: [string[], string][] = [
    [['now', 'pool', 'nope', 'web-1'], 'virtualmachinepools.drover.dev "nope" not found'],
    [['now', 'pool', 'web', 'web-1'], 'pool web has no autohealing: `autohealing: {}` in its spec turns it on'],
    [['pause', 'pool', 'web'], 'pool web has no autohealing: `autohealing: {}` in its spec turns it on'],
    [
      ['skip', 'pool/sick', 'sick-9'],
      `there is no vm sick-9 in ${namespace}, and pool sick is not replacing a VM of that name`,
    ],
    [['skip', 'pool/sick', 'web-1'], 'vm web-1 does not belong to pool sick'],
    [
      ['now', 'pool/sick', 'sick-1'],
      'vm sick-1 will not be replaced: its owner opted out of disruption (drover.dev/do-not-disrupt)',
    ],
  ];
  for (const [words, sentence] of sentences)
    expect(await heal(...words)).toMatchObject({ code: 1, stdout: '', stderr: `error: ${sentence}\n` });
  expect((await heal('status', 'pool', 'web')).stdout).toContain('the pool has no spec.autohealing');
});

test('the view with --watch runs until Ctrl-C', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 1, autohealing: {} });
  const child = start(['heal', 'status', '--watch', '-n', namespace], env());
  const ended = outcomeOf(child);
  let shown = '';
  child.stdout!.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  await until(async () => expect(shown).toContain('NothingToHeal'));
  expect(await healIn(namespace)('pause', 'pool', 'web')).toMatchObject({ code: 0 });
  await until(async () => expect(shown).toContain('paused by admin'));
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 130, stderr: '' });
});
