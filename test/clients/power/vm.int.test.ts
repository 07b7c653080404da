import { beforeAll, describe, expect, test } from 'vitest';
import { RESTARTED_AT_ANNOTATION, REVISION_LABEL } from '../../../api/labels-and-annotations.ts';
import type { KubeObject } from '../../../api/objects.ts';
import { ClusterVirtualMachineOperations, VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import type { PendingVm } from '../../../clients/power/pending.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { VirtualMachine } from '../../../simulator/objects/kubevirt.ts';
import { givenCluster } from '../../cluster/given/given.ts';
import { aFleet, namesUpTo, neverReady, runningTemplate, until } from '../../integration/fleet.ts';
import { follow, nowhere, outcomeOf, start, type Outcome } from '../drover.ts';
import { droverHere as run } from '../in-process.ts';

const fleet = aFleet();

const env = (): NodeJS.ProcessEnv => ({ ...nowhere, ...fleet().stack.env, DROVER_REQUESTED_BY: 'ada@desk' });
const vm = (...words: string[]): Promise<Outcome> => run(['vm', ...words], env());

/** Creates VMs without an owner in a namespace of their own; resolves when they are ready. */
async function someVms(names: string[], annotations: Record<string, string> = {}): Promise<string> {
  const namespace = await fleet().namespace();
  const metadata = {
    annotations: { 'sim.drover.dev/boot-time': '100ms', 'sim.drover.dev/stop-time': '100ms', ...annotations },
  };
  for (const name of names) {
    const spec = {
      runStrategy: 'Always',
      template: { metadata, spec: { domain: { devices: {}, memory: { guest: '64Mi' } } } },
    };
    await fleet().kube.create(VirtualMachines, { metadata: { namespace, name, labels: { tier: name } }, spec });
  }
  await until(async () => {
    const { items } = await fleet().kube.list(VirtualMachines, { namespace });
    expect(items.map(({ status }) => (status as { ready?: boolean }).ready)).toEqual(names.map(() => true));
  });
  await olderThanNow();
  return namespace;
}

/** Operations are about VMs and VMIs that are older, by whole seconds. */
async function olderThanNow(): Promise<void> {
  const second = Math.floor(Date.now() / 1_000);
  await until(async () => expect(Math.floor(Date.now() / 1_000)).toBeGreaterThan(second));
}

/** Changes a VM's spec so that it needs a restart. */
async function change(namespace: string, name: string): Promise<void> {
  await fleet().kube.patch(VirtualMachines, { namespace, name }, 'merge', {
    spec: { template: { spec: { hostname: 'other' } } },
  });
  await until(async () => {
    const { status } = await fleet().kube.get<VirtualMachine & KubeObject>(VirtualMachines, { namespace, name });
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'RestartRequired', status: 'True' }));
  });
}

async function makeNeverReady(namespace: string, names: string[]): Promise<void> {
  for (const name of names) await fleet().kube.patch(VirtualMachines, { namespace, name }, 'merge', neverReady);
}

async function vmisOf(namespace: string, names: string[]): Promise<string[]> {
  const vmis = await Promise.all(names.map((name) => fleet().kube.get(VirtualMachineInstances, { namespace, name })));
  return vmis.map(({ metadata }) => metadata.uid);
}

const annotate = (namespace: string, name: string, annotations: Record<string, string>): Promise<unknown> =>
  fleet().kube.patch(VirtualMachines, { namespace, name }, 'merge', { metadata: { annotations } });

describe('a VM that waits for a restart', () => {
  let namespace: string;
  beforeAll(async () => {
    namespace = await someVms(['db-1', 'db-2', 'db-3']);
  });

  test('is listed, without Temporal, with its owner and the reason', async () => {
    const none = { code: 0, signal: null, stdout: '', stderr: `no VM in namespace ${namespace} waits for a restart\n` };
    expect(await vm('pending', '-n', namespace)).toEqual(none);
    expect(await vm('restart', '--pending', '-n', namespace)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'nothing to restart\n',
    });
    await change(namespace, 'db-2');
    await change(namespace, 'db-3');
    const kubeOnly = { ...nowhere, KUBECONFIG: fleet().stack.kubeconfig, TEMPORAL_ADDRESS: '127.0.0.1:1' };
    const { stdout, stderr } = await run(['vm', 'pending', '-n', namespace], kubeOnly);
    expect(stderr).toBe('');
    const why = 'a non-live-updatable field was changed in the template spec';
    const [headers, ...rows] = stdout.split('\n');
    expect(headers).toMatch(/^NAMESPACE +NAME +OWNER +SINCE +WHY$/);
    expect(rows).toEqual([
      expect.stringMatching(new RegExp(`^${namespace} +db-2 +<none> +\\S+ +${why}$`)),
      expect.stringContaining(' db-3 '),
      '',
    ]);
    expect((await vm('pending', '-n', namespace, '-o', 'name')).stdout).toBe(
      'virtualmachine.kubevirt.io/db-2\nvirtualmachine.kubevirt.io/db-3\n',
    );
    const wide = await vm('pending', '-n', namespace, '-l', 'tier=db-3', '-o', 'wide');
    expect(wide.stdout).toMatch(
      /^NAMESPACE .* RUN STRATEGY +NODE +LEFT ALONE +WHY\n\S+ +db-3 .* Always +\S+ +no .*\n$/,
    );
    const { items } = JSON.parse((await vm('pending', '-A', '-o', 'json')).stdout) as { items: PendingVm[] };
    const [vmi] = await vmisOf(namespace, ['db-2']);
    expect(items.filter((one) => one.namespace === namespace)).toMatchObject([
      { name: 'db-2', owner: null, message: why, vmi },
      { name: 'db-3' },
    ]);
  });

  test('is restarted, and waits no more', async () => {
    const before = await vmisOf(namespace, ['db-1', 'db-2', 'db-3']);
    const dry = await vm('restart', '--pending', '-n', namespace, '--dry-run');
    expect(dry).toMatchObject({ code: 0, stderr: '' });
    const lines = [
      `${namespace}/db-2 would be restarted: a non-live.*`,
      `${namespace}/db-3 .*`,
      '2 VMs, 1 at a time \\(server dry run\\)',
    ];
    expect(dry.stdout).toMatch(new RegExp(`^${lines.join('\n')}\n$`));
    const done = await vm('restart', '--pending', '-n', namespace, '--reason', 'a new hostname');
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toMatch(new RegExp(`^operation ${namespace}/restart-\\w{5} started: 2 VMs, 1 at a time\n`));
    expect(done.stdout).toMatch(/2\/2 restarted: Complete\n.*\n\n2 of 2 VMs restarted\n$/);
    expect(await vm('pending', '-n', namespace)).toMatchObject({ code: 0, stdout: '' });
    const after = await vmisOf(namespace, ['db-1', 'db-2', 'db-3']);
    expect(after.map((uid, index) => uid === before[index])).toEqual([true, false, false]);
  });

  test("may be a pool's VM whose VMI runs an older revision, which the pool leaves to users", async () => {
    const namespace = await fleet().namespace();
    const updated = (): Promise<void> =>
      until(async () =>
        expect((await fleet().pool(namespace, 'web'))!.status).toMatchObject({ readyReplicas: 2, updatedReplicas: 2 }),
      );
    const updateStrategy = { proactive: { disruption: 'Live' } } as const;
    await fleet().createPool(namespace, 'web', { replicas: 2, template: runningTemplate, updateStrategy });
    await updated();
    const template = structuredClone(runningTemplate);
    const { annotations } = (template.spec.template as { metadata: { annotations: Record<string, string> } }).metadata;
    annotations[RESTARTED_AT_ANNOTATION] = '2026-01-01T00:00:00Z';
    await fleet().patchPool(namespace, 'web', { template });
    await until(async () => {
      const revisions = (await fleet().vms(namespace)).map(({ metadata }) => metadata.labels?.[REVISION_LABEL]);
      expect(revisions).toEqual([revisionOf(template), revisionOf(template)]);
    });
    expect((await vm('pending', '-n', namespace)).stdout).toMatch(
      / web-1 +VirtualMachinePool\/web +<unknown> +its VMI runs revision \w+, its spec is of \w+\n.* web-2 /,
    );
    await olderThanNow();
    const restarted = await vm('restart', '--pending', '-n', namespace);
    expect(restarted).toMatchObject({ code: 0, stdout: expect.stringMatching(/2 of 2 VMs restarted\n$/) as string });
    expect(await vm('pending', '-n', namespace)).toMatchObject({ code: 0, stdout: '' });
    await updated();
  });
});

describe('named VMs', () => {
  test('are restarted, unless they do not run or opted out', async () => {
    const namespace = await someVms(['db-1', 'db-2']);
    await annotate(namespace, 'db-2', { 'drover.dev/do-not-disrupt': 'true' });
    const spec = { runStrategy: 'Halted', template: { spec: { domain: { devices: {}, memory: { guest: '64Mi' } } } } };
    await fleet().kube.create(VirtualMachines, { metadata: { namespace, name: 'off' }, spec });
    const done = await vm('restart', 'db-1', 'db-2', 'off', '-n', namespace, '--max-unavailable', '100%');
    expect(done).toMatchObject({
      code: 0,
      stderr: `vm off does not run: nothing to restart\nexcluded: ${namespace}/db-2: its owner opted out of disruption\n`,
    });
    expect(done.stdout).toMatch(/started: 2 VMs, 2 at a time\n[^]*\n1 of 2 VMs restarted\n$/);
    const unknown = await vm('restart', 'nobody', '-n', namespace);
    expect(unknown).toMatchObject({ code: 1, stderr: 'error: virtualmachines.kubevirt.io "nobody" not found\n' });
  });

  test('fail the restart if they do not come back, and the others are left', async () => {
    const namespace = await someVms(['db-1', 'db-2']);
    await makeNeverReady(namespace, ['db-1', 'db-2']);
    const done = await vm('restart', 'db-1', 'db-2', '-n', namespace, '--deadline', '2s');
    expect(done.code).toBe(1);
    const failed = `error: ${namespace}/db-\\d failed: not ready in time: .*\n`;
    expect(done.stderr).toMatch(
      new RegExp(`^${failed}error: 1 VM is not done: too many have failed \\(--max-failures 0\\)\n$`),
    );
  });
});

test('VMs of a pool are stopped and started by their labels, which its history shows', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 3, template: runningTemplate });
  const isReady = (count: number): Promise<void> =>
    until(async () => expect((await fleet().pool(namespace, 'web'))!.status).toMatchObject({ readyReplicas: count }));
  await isReady(3);
  await olderThanNow();
  for (const name of ['web-1', 'web-3'])
    await fleet().kube.patch(VirtualMachines, { namespace, name }, 'merge', {
      metadata: { labels: { tier: 'spare' } },
    });
  const spares = ['--pool', 'web', '-l', 'tier=spare', '-n', namespace];
  const dry = await vm('stop', ...spares, '--dry-run');
  expect(dry).toMatchObject({ code: 0, stderr: '' });
  expect(dry.stdout).toBe(
    `${namespace}/web-1 would be stopped\n${namespace}/web-3 would be stopped\n2 VMs, 2 at a time (server dry run)\n`,
  );
  const stopped = await vm('stop', ...spares, '--reason', 'the sale is over');
  expect(stopped).toMatchObject({ code: 0, stderr: '' });
  expect(stopped.stdout).toMatch(/^operation \S+\/stop-\w{5} started: 2 VMs, 2 at a time\n[^]*\n2 of 2 VMs stopped\n$/);
  await isReady(1);
  const started = await vm('start', 'web-1', 'web-2', 'web-3', '-n', namespace, '--at-once', '1');
  expect(started).toMatchObject({ code: 0, stderr: 'vm web-2 runs already: nothing to start\n' });
  expect(started.stdout).toMatch(/started: 2 VMs, 1 at a time\n[^]*\n2 of 2 VMs started\n$/);
  await isReady(3);
  expect(await vm('stop', '--pool', 'nothing', '-n', namespace)).toMatchObject({
    code: 1,
    stderr: 'error: virtualmachinepools.drover.dev "nothing" not found\n',
  });
  expect((await run(['operations', '-n', namespace], env())).stdout).toMatch(
    / stop +Complete +2 +2 +0 .* the sale is over\n/,
  );
  const { stdout } = await run(['history', 'vm', 'web-1', '-n', namespace], env());
  expect(stdout).toMatch(/ stop +web-1 .* \S+ +Stopped +the sale is over\n\S+ +start +web-1 .* \S+ +Started *\n/);
});

test('a restart continues without the command, and is listed, shown, paused, resumed and aborted', async () => {
  const names = namesUpTo('vm', 3);
  const namespace = await someVms(names);
  // Each restart waits for the test.
  await makeNeverReady(namespace, names);
  const child = start(['vm', 'restart', ...names, '-n', namespace, '--reason', 'leaks'], env());
  const outcome = outcomeOf(child);
  const untilShown = follow(child.stdout!);
  await untilShown('1 in progress');
  child.kill('SIGINT');
  const { code, stdout, stderr } = await outcome;
  const whole = /\S+\/restart-\w{5}/.exec(stdout)![0];
  const name = whole.slice(namespace.length + 1);
  const hint = (verb: string, flag = ''): string => `\`drover operations ${verb} ${name} -n ${namespace}${flag}\``;
  const goesOn = `${whole} is still running: ${hint('describe', ' --watch')} shows it, ${hint('abort')} ends it`;
  expect({ code, stderr }).toEqual({ code: 130, stderr: `\n${goesOn}\n` });

  // None of these needs Temporal.
  const kubeOnly = { ...env(), TEMPORAL_ADDRESS: '127.0.0.1:1' };
  const operations = (...words: string[]): Promise<Outcome> => run(['operations', ...words, '-n', namespace], kubeOnly);
  expect(await operations('pause', name, '--reason', 'lunch')).toMatchObject({
    code: 0,
    stdout: `operation ${whole} paused\n`,
    stderr: '',
  });
  const status = async (): Promise<StoredOperation['status'] & object> =>
    (JSON.parse((await operations('describe', name, '-o', 'json')).stdout) as StoredOperation).status!;
  const finishRestart = async (): Promise<void> =>
    fleet().letBecomeReady(`${namespace}/${(await status()).inProgress![0]!}`);
  // Once its status says so, the run has been told.
  const stands = (reason: string): Promise<void> =>
    until(async () => expect((await status()).conditions).toContainEqual(expect.objectContaining({ reason })));
  await stands('PausedBySpec');
  await until(async () => expect((await status()).inProgress).toHaveLength(1));
  await finishRestart();
  await until(async () => expect(await status()).toMatchObject({ vms: { chosen: 3, done: 1, inProgress: 0 } }));
  expect((await operations('describe')).stdout).toMatch(
    /1\/3 restarted, 2 to go: Paused\n {2}paused by (?!its object)\S+ \d+s ago: lunch\n/,
  );
  const listed = JSON.parse((await operations('get', '-o', 'json')).stdout) as { items: KubeObject[] };
  expect(listed).toMatchObject({ kind: 'List', items: [{ kind: 'VirtualMachineOperation', metadata: { name } }] });
  expect(listed.items[0]!.metadata).not.toHaveProperty('managedFields');
  expect((await operations()).stdout).toMatch(
    new RegExp(`^NAMESPACE +NAME +ACTION +STATE .*\n${namespace} +${name} +restart +Paused +3 +1 +0 .* leaks\n$`),
  );

  expect(await operations('resume', name)).toMatchObject({
    code: 0,
    stdout: `operation ${whole} resumed\n`,
  });
  const watching = operations('describe', name, '--watch');
  await until(async () => expect((await status()).vms!.inProgress).toBe(1));
  expect(await operations('abort', name)).toMatchObject({ code: 0, stdout: `operation ${whole} aborted\n` });
  await stands('Aborting');
  await finishRestart();
  const watched = await watching;
  expect(watched.code).toBe(1);
  expect(watched.stderr).toMatch(/^error: 1 VM is not done: the run was aborted by (?!its object)\S+\n$/);
  expect(await operations('abort', name)).toMatchObject({
    code: 1,
    stderr: `error: operation ${whole} has already ended\n`,
  });
});

test('the object that would be made is printed, and requested in a dry run, without Temporal', async () => {
  const namespace = await someVms(['db-1']);
  const kubeOnly = { ...env(), TEMPORAL_ADDRESS: '127.0.0.1:1' };
  const { stdout } = await run(
    ['vm', 'stop', '-l', 'tier=db-1', '--deadline', '90s', '-n', namespace, '-o', 'json'],
    kubeOnly,
  );
  expect(JSON.parse(stdout)).toMatchObject({
    kind: 'VirtualMachineOperation',
    metadata: { namespace, generateName: 'stop-' },
    spec: { action: 'Stop', vms: { selector: { matchLabels: { tier: 'db-1' } } }, atOnce: '100%', deadline: '90s' },
  });
  const emptyPool = await vm('restart', '--pool', '', '-l', 'tier=db-1', '-n', namespace, '--dry-run');
  expect(emptyPool).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('"" is not a valid object name') as string,
  });
  expect(await run(['vm', 'restart', 'db-1', '-n', namespace, '--dry-run=server'], kubeOnly)).toMatchObject({
    code: 0,
    stdout: `${namespace}/db-1 would be restarted\n1 VM, 1 at a time (server dry run)\n`,
  });
  const listed = await run(['operations', '-n', namespace], kubeOnly);
  expect(listed.stdout).not.toContain(namespace);
  // A given cluster may have cluster-wide operations of other tests.
  if (givenCluster() === undefined) expect(listed.stderr).toBe('there is no operation\n');

  // In all namespaces, it is one cluster-wide operation, which the same commands steer.
  const everywhere = ['vm', 'stop', '-l', `in=${namespace}`, '-A', '-o', 'json'];
  await fleet().kube.patch(VirtualMachines, { namespace, name: 'db-1' }, 'merge', {
    metadata: { labels: { in: namespace } },
  });
  const made = JSON.parse((await run(everywhere, kubeOnly)).stdout) as StoredOperation;
  expect(made).toMatchObject({ kind: 'ClusterVirtualMachineOperation', metadata: { generateName: 'stop-' } });
  expect(made.metadata).not.toHaveProperty('namespace');
  const paused = { ...made, metadata: { name: namespace }, spec: { ...made.spec, paused: true } };
  await fleet().kube.create(ClusterVirtualMachineOperations, paused);
  const operations = async (...words: string[]): Promise<string> =>
    (await run(['operations', ...words, '-n', namespace], kubeOnly)).stdout;
  expect(await operations()).toMatch(new RegExp(`^NAMESPACE .*\n<cluster> +${namespace} +stop `));
  expect(await operations('-o', 'name')).toBe(`clustervirtualmachineoperation.drover.dev/${namespace}\n`);
  expect(await operations('describe', `cvmop/${namespace}`)).toContain(`${namespace} `);
  expect(await operations('abort', namespace)).toBe(`operation ${namespace} aborted\n`);
  await fleet().kube.delete(ClusterVirtualMachineOperations, { name: namespace });
});

test('a change is planned: the difference, the need, the VMs it does not apply to, and what KubeVirt refuses', async () => {
  const namespace = await someVms(['db-1', 'db-2', 'db-3']);
  const { kube } = fleet();
  await kube.patch(VirtualMachines, { namespace, name: 'db-2' }, 'merge', { spec: { runStrategy: 'Halted' } });
  const disks = [{ name: 'root', disk: { bus: 'virtio' } }];
  const volumes = [{ name: 'root', containerDisk: { image: 'root' } }];
  await kube.patch(VirtualMachines, { namespace, name: 'db-3' }, 'merge', {
    spec: { template: { spec: { volumes, domain: { devices: { disks } } } } },
  });
  await until(async () => expect(await vmisOf(namespace, ['db-1', 'db-3'])).toHaveLength(2));
  await until(() => expect(vmisOf(namespace, ['db-2'])).rejects.toThrow('not found'));
  const versions = async () =>
    (await kube.list(VirtualMachines, { namespace })).items.map(({ metadata }) => metadata.generation);
  const before = await versions();
  const kubeOnly = { ...env(), TEMPORAL_ADDRESS: '127.0.0.1:1' };
  const plan = (...words: string[]): Promise<Outcome> =>
    run(['change', 'plan', '-l', 'tier', '-n', namespace, ...words], kubeOnly);

  expect(await plan('--set', 'spec.template.spec.domain.cpu.model=host-model')).toEqual({
    code: 0,
    signal: null,
    stdout: [
      `1 VM: takes effect at the next start: ${namespace}/db-2`,
      '  spec.template.spec.domain.cpu.model: <none> -> host-model',
      `2 VMs: takes effect with a restart: ${namespace}/db-1, ${namespace}/db-3`,
      '  spec.template.spec.domain.cpu.model: <none> -> host-model\n',
    ].join('\n'),
    stderr: '',
  });
  const cache = await plan('--set', 'spec.template.spec.domain.devices.disks[name=root].cache=none', '-o', 'json');
  expect(JSON.parse(cache.stdout)).toMatchObject({
    groups: [{ need: 'Restart', vms: [`${namespace}/db-3`], kubevirt: { is: 'taken' } }],
    skipped: [{ vms: [`${namespace}/db-1`, `${namespace}/db-2`] }],
  });
  const refused = await plan('--set', 'spec.template.spec.domain.machine.type=pc-none');
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/error: KubeVirt would refuse 1 VM \(.*db-2\): .* is not supported: pc-none/);
  expect(await plan('--set', 'spec.runStrategy=Halted')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('spec.runStrategy starts and stops VMs') as string,
  });
  expect(await versions()).toEqual(before);

  // The same change, and back, by operations: the restart that it needs is asked for by its own command.
  const change = (...words: string[]): Promise<Outcome> => run(['change', ...words, '-n', namespace], kubeOnly);
  const set = ['--set', 'spec.template.spec.domain.cpu.model=host-model', '--set', 'metadata.labels.tier=gold'];
  const object = JSON.parse(
    (await change('apply', 'db-1', 'db-2', ...set, '--restart', '-o', 'json')).stdout,
  ) as object;
  expect(object).toMatchObject({
    metadata: { namespace, generateName: 'patch-' },
    spec: { action: 'Patch', vms: { names: ['db-1', 'db-2'] }, patch: { restart: true }, atOnce: '5%' },
  });
  expect(await change('apply', 'db-1', 'db-2', ...set, '--dry-run=server')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/2 VMs, 1 at a time \(server dry run\)\n$/) as string,
  });
  expect(await versions()).toEqual(before);
  const applied = await change('apply', 'db-1', 'db-2', ...set, '--reason', 'new hosts');

  expect(applied).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /\n2 of 2 VMs patched; 1 need a restart before it takes effect; 1 get it at their next start\n$/,
    ) as string,
  });
  expect(applied.stderr).toContain('1 VM to be restarted: `drover vm restart --pending`');
  const [id] = /patch-\w{5}/.exec(applied.stdout)!;
  expect(applied.stderr).toContain(`\`drover change undo ${id} -n ${namespace}\` reverts it`);
  await until(async () =>
    expect((await run(['vm', 'pending', '-n', namespace, '-o', 'name'], kubeOnly)).stdout).toContain('/db-1'),
  );
  expect((await change('list')).stdout).toMatch(new RegExp(`^CHANGE .*\n${id} +2 .*new hosts\n$`));
  await kube.patch(VirtualMachines, { namespace, name: 'db-2' }, 'merge', { metadata: { labels: { tier: 'lead' } } });
  const everywhere = await run(['change', 'undo', id, '-A', '-o', 'json'], kubeOnly);
  expect(JSON.parse(everywhere.stdout)).toMatchObject({
    kind: 'ClusterVirtualMachineOperation',
    metadata: { generateName: 'undo-' },
    spec: { vms: { selector: {} }, patch: { undo: id } },
  });
  const undone = await change('undo', id);
  expect(undone).toMatchObject({ code: 0, stdout: expect.stringContaining('1 of 2 VMs patched') as string });
  expect(undone.stderr).toContain(`${namespace}/db-2: it was changed since: metadata.labels.tier`);
  const { items } = await kube.list<VirtualMachine & KubeObject>(VirtualMachines, { namespace });
  expect(items.map(({ metadata, spec }) => [metadata.labels!['tier'], spec.template.spec.domain?.cpu])).toEqual([
    ['db-1', undefined],
    ['lead', undefined],
    ['db-3', undefined],
  ]);
});
