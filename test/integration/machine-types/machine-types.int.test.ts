import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { MACHINE_TYPE_RESTART_LABEL } from '../../../api/labels-and-annotations.ts';
import { DroverCluster, DroverNamespaces, DroverPhase } from '../../../workflows/lib/search-attributes.ts';
import { needs } from '../../cluster/given/needs.ts';
import { rulesOf } from '../../deploy/rights.ts';
import { ClusterRoles, createServiceAccounts, kubeconfigOf } from '../../deploy/service-accounts.ts';
import { testOneOf } from '../../soak.ts';
import { aFleet, namesUpTo, neverReady, until, type TestWorker } from '../fleet.ts';
import { untilContinuedAsNew } from '../long-history.ts';
import { ReadinessWatch } from '../readiness-watch.ts';
import { TypedVms, NEW, OLD } from './machine-types.ts';

const fleet = aFleet();
let worker: TestWorker;
beforeAll(async () => {
  worker = await fleet().worker();
});

test('stopped VMs have their type cleared, and are done, in whatever state they are, and no others are changed', async () => {
  const off = { runStrategy: 'Halted' };
  const typedVms = await TypedVms.of(fleet(), {
    plain: off,
    labelled: { ...off, labels: { tier: 'web' }, annotations: { note: 'mine' } },
    'by-hand': { runStrategy: 'Halted', labels: { [MACHINE_TYPE_RESTART_LABEL]: 'deadbeef' } },
    newer: { ...off, type: 'pc-q35-rhel9.2.0' },
  });
  const transition = await typedVms.change({ reason: 'rhel8 goes' });
  const result = await transition.result();
  expect(result).toMatchObject({
    action: 'MachineType',
    phase: 'Complete',
    patched: 3,
    restarted: 0,
    failures: 0,
    failed: [],
    inProgress: [],
  });
  expect(result.counts).toMatchObject({ toPatch: 0, waiting: 0, done: 3 });
  expect(result.results).toMatchObject([{ from: OLD, to: 'q35', fault: null }]);
  for (const name of ['plain', 'labelled', 'by-hand']) {
    expect(await typedVms.type(name)).toBe('q35');
    expect(await typedVms.record(name)).toEqual({
      id: transition.id,
      by: transition.operation.key.name,
      from: OLD,
      to: 'q35',
      vmiType: null,
      at: expect.any(String),
    });
    expect(await typedVms.mark(name)).toBeUndefined();
  }
  const { metadata } = await typedVms.vm('labelled');
  expect(metadata.labels).toEqual({ tier: 'web' });
  expect(metadata.annotations).toMatchObject({ note: 'mine' });
  expect(await typedVms.type('newer')).toBe('pc-q35-rhel9.2.0');
  const { typedSearchAttributes } = await transition.handle.describe();
  expect(typedSearchAttributes.get(DroverPhase)).toBe('Complete');
  expect(typedSearchAttributes.get(DroverCluster)).toBe('default');
  expect(typedSearchAttributes.get(DroverNamespaces)).toEqual([typedVms.namespace]);
});

test('a running VM is changed and labelled, its owner restarts it or stops it, the label goes, and the transition ends', async () => {
  const typedVms = await TypedVms.of(fleet(), { one: {}, two: {}, off: { runStrategy: 'Halted' } });
  const vmis = await typedVms.vmis();
  const transition = await typedVms.change();
  await transition.until({ phase: 'Waiting', patched: 3, counts: { waiting: 2, done: 1, toPatch: 0 } });
  expect(await typedVms.vmis()).toEqual(vmis);
  for (const name of ['one', 'two']) {
    expect(await typedVms.type(name)).toBe('q35');
    expect(await typedVms.mark(name)).toBe(transition.id);
    expect(await typedVms.record(name)).toMatchObject({ id: transition.id, from: OLD, to: 'q35', vmiType: OLD });
  }
  expect(await typedVms.mark('off')).toBeUndefined();
  await until(async () =>
    expect(Object.keys(await typedVms.events('MachineTypeChanged')).sort()).toEqual(['one', 'two']),
  );
  await typedVms.power('one', 'restart');
  await until(async () => expect(await typedVms.mark('one')).toBeUndefined());
  expect((await typedVms.vmi('one'))?.status?.machine?.type ?? NEW).toBe(NEW);
  await transition.until({ phase: 'Waiting', counts: { waiting: 1, done: 2 } });
  await typedVms.power('two', 'stop');
  expect(await transition.result()).toMatchObject({
    phase: 'Complete',
    patched: 3,
    restarted: 0,
    counts: { waiting: 0, done: 3 },
  });
  expect(await typedVms.mark('two')).toBeUndefined();
});

test('VMs of every run strategy are restarted with restartNow within the limit, each once and verified, and keep their strategy', async () => {
  const strategies = { always: 'Always', once: 'Once', manual: 'Manual', rerun: 'RerunOnFailure', off: 'Halted' };
  const shapes = Object.fromEntries(Object.entries(strategies).map(([name, runStrategy]) => [name, { runStrategy }]));
  const typedVms = await TypedVms.of(fleet(), shapes);
  const before = await typedVms.vmis();
  const watch = await ReadinessWatch.start(fleet().kube, typedVms.namespace);
  onTestFinished(() => watch.stop());
  await watch.startRecording();
  const transition = await typedVms.change({ restartNow: true, maxRestarts: 2 });
  const result = await transition.result();
  expect(result).toMatchObject({
    phase: 'Complete',
    patched: 5,
    restarted: 4,
    maxRestarts: 2,
    failures: 0,
    inProgress: [],
    counts: { done: 5, restarting: 0, toRestart: 0 },
  });
  await watch.caughtUp();
  expect(watch.log.mostUnavailable()).toBeLessThanOrEqual(2);
  const after = await typedVms.vmis();
  expect(Object.keys(after).sort()).toEqual(Object.keys(before).sort());
  for (const [name, runStrategy] of Object.entries(strategies)) {
    const { spec } = await typedVms.vm(name);
    expect(spec).toMatchObject({ runStrategy, template: { spec: { domain: { machine: { type: 'q35' } } } } });
    expect(await typedVms.mark(name)).toBeUndefined();
    if (name === 'off') continue;
    expect(after[name]).not.toBe(before[name]);
    expect((await typedVms.vmi(name))?.status?.machine?.type).toBe(NEW);
    expect((await typedVms.events('Restarted'))[name]).toHaveLength(1);
    expect(watch.log.restartsOf(name)).toHaveLength(1);
  }
});

test('a VMI that never ran, since no node has the requested type, is restarted and runs', async () => {
  needs('machine types on nodes');
  const typedVms = await TypedVms.empty(fleet());
  await typedVms.add('vm', { type: 'pc-q35-rhel7.6.0' });
  await until(async () =>
    expect((await typedVms.vm('vm')).status).toMatchObject({ printableStatus: 'ErrorUnschedulable' }),
  );
  const transition = await typedVms.change({ scope: { glob: '*rhel7.*' }, restartNow: true });
  expect(await transition.result()).toMatchObject({
    phase: 'Complete',
    patched: 1,
    restarted: 1,
    failures: 0,
    counts: { done: 1 },
  });
  expect((await typedVms.vmi('vm'))?.status?.machine?.type).toBe(NEW);
});

testOneOf({
  'VMs that come to match later are taken up until it ends': async () => {
    const typedVms = await TypedVms.of(fleet(), { first: {} });
    const transition = await typedVms.change();
    await transition.until({ counts: { waiting: 1 } });
    await typedVms.add('late', { runStrategy: 'Halted' });
    await typedVms.add('changed', { runStrategy: 'Halted', type: NEW });
    await typedVms.setType('changed', 'pc-q35-rhel8.4.0');
    await until(async () => {
      expect(await typedVms.type('late')).toBe('q35');
      expect(await typedVms.record('changed')).toMatchObject({ from: 'pc-q35-rhel8.4.0' });
    });
    await typedVms.power('first', 'restart');
    expect(await transition.result()).toMatchObject({ phase: 'Complete', patched: 3, counts: { done: 3 } });
  },
  'a transition with a long history continues in a new run, even with a VM in progress, and does nothing twice':
    async () => {
      const names = namesUpTo('vm', 3);
      const typedVms = await TypedVms.of(fleet(), Object.fromEntries(names.map((name) => [name, {}])));
      for (const name of names) await typedVms.patch(name, neverReady);
      const transition = await typedVms.change({ restartNow: true, reason: 'rhel8 goes' });
      await transition.until({ patched: 3, inProgress: [expect.any(String)] });
      const [inProgress] = (await transition.progress()).inProgress;
      await transition.set({ paused: true });
      await untilContinuedAsNew(transition.handle);
      await fleet().letBecomeReady(inProgress!);
      await transition.until({
        phase: 'Paused',
        patched: 3,
        restarted: 1,
        inProgress: [],
        results: [{ from: OLD, to: 'q35' }],
        paused: { reason: 'spec.paused is true' },
        counts: { toRestart: 2, done: 1 },
      });
      await transition.set({ aborted: true });
      expect(await transition.result()).toMatchObject({ phase: 'Aborted', patched: 3, restarted: 1, failures: 0 });
      for (const name of names) expect(await typedVms.mark(name)).toBeUndefined();
    },
});

// The last test: it ends the worker of the others.
test('a missing right is reported before anything is written', async () => {
  needs('a worker that writes in all namespaces');
  await worker.kill();
  await createServiceAccounts(fleet().kube);
  const role = (await fleet().kube.list(ClusterRoles)).items.find(({ metadata }) => metadata.name === 'drover-worker')!;
  const rules = rulesOf(role).map((rule) =>
    rule.resources.includes('virtualmachines/restart') ? { ...rule, verbs: ['get'] } : rule,
  );
  await fleet().kube.patch(ClusterRoles, { name: 'drover-worker' }, 'merge', { rules });
  await fleet().startWorker({ KUBECONFIG: await kubeconfigOf(fleet(), 'drover-worker') });
  const typedVms = await TypedVms.of(fleet(), { runs: {}, off: { runStrategy: 'Halted' } });
  const refused = await typedVms.change({ restartNow: true });
  expect(await refused.refusal()).toContain('update virtualmachines.subresources.kubevirt.io/restart');
  expect(await typedVms.type('off')).toBe(OLD);
  // Without restarts the permission is not needed.
  const allowed = await typedVms.change({ scope: { only: 'stopped' } });
  expect(await allowed.result()).toMatchObject({ phase: 'Complete', patched: 1 });
});
