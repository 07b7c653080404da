import { expect, onTestFinished, test } from 'vitest';
import { MACHINE_TYPE_RESTART_LABEL, MACHINE_TYPE_TRANSITION_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { VirtualMachinePools } from '../../../api/resources.ts';
import type { TransitionRecord } from '../../../decisions/views/annotations/transition-record.ts';
import { soakTest } from '../../soak.ts';
import type { Fate } from '../chaos-proxy.ts';
import { aFleet, runningTemplate, until } from '../fleet.ts';
import { aProxiedWorker } from '../proxied-worker.ts';
import { TypedVms, NEW, OLD, setAlias } from './machine-types.ts';

/** What users, controllers and other transitions do between two steps of a transition. */
const fleet = aFleet({ workers: 0 });
const throughProxy = aProxiedWorker(fleet);

const off = { runStrategy: 'Halted' };

/** Runs `act` before the worker's first matching call; `then` is the fate of this and of later matching calls. */
function justBefore(
  is: (method: string, path: string) => boolean,
  act: () => Promise<unknown>,
  then: Fate = 'pass',
): void {
  let calls = 0;
  throughProxy(async (method, path): Promise<Fate> => {
    if (!is(method, path)) return 'pass';
    if (calls++ === 0) await act();
    return then;
  });
}

const patchOf =
  ({ namespace }: TypedVms, name: string, plural = 'virtualmachines') =>
  (method: string, path: string): boolean =>
    method === 'PATCH' && path.includes(`/${namespace}/${plural}/${name}?`) && !path.includes('dryRun');
const restartOf =
  ({ namespace }: TypedVms, name: string) =>
  (method: string, path: string): boolean =>
    (method === 'DELETE' && path.includes(`/${namespace}/virtualmachineinstances/${name}`)) ||
    (method === 'PUT' && path.includes(`/${namespace}/virtualmachines/${name}/restart`));

const recordBy = (id: string): string =>
  JSON.stringify({ id, from: OLD, to: 'q35', vmiType: OLD, at: '2026-01-02T03:04:05Z' } satisfies TransitionRecord);

test('a VM that is deleted and recreated just before its patch is patched as a new VM', async () => {
  const typedVms = await TypedVms.of(fleet(), { vm: off });
  const { uid } = (await typedVms.vm('vm')).metadata;
  justBefore(patchOf(typedVms, 'vm'), async () => {
    await typedVms.remove('vm');
    await typedVms.add('vm', off);
  });
  expect(await (await typedVms.change()).result()).toMatchObject({
    phase: 'Complete',
    patched: 1,
    failures: 0,
    skipped: [],
  });
  expect((await typedVms.vm('vm')).metadata.uid).not.toBe(uid);
  expect(await typedVms.type('vm')).toBe('q35');
});

test('a VM that is deleted just before its patch, or just before its restart, is not missed', async () => {
  const typedVms = await TypedVms.of(fleet(), { vm: {}, other: {} });
  const isPatch = patchOf(typedVms, 'vm');
  const isRestart = restartOf(typedVms, 'other');
  let patches = 0;
  let restarts = 0;
  throughProxy(async (method, path): Promise<Fate> => {
    if (isPatch(method, path) && patches++ === 0) await typedVms.remove('vm');
    if (isRestart(method, path) && restarts++ === 0) await typedVms.remove('other');
    return 'pass';
  });
  expect(await (await typedVms.change({ restartNow: true })).result()).toMatchObject({
    phase: 'Complete',
    patched: 1,
    restarted: 0,
    failures: 0,
    inProgress: [],
  });
});

test('a VM that a user changes just before its patch is left, and taken up like any other if the user changes it back', async () => {
  const typedVms = await TypedVms.of(fleet(), { vm: off, runs: {} });
  justBefore(patchOf(typedVms, 'vm'), () => typedVms.setType('vm', 'pc-q35-rhel9.2.0'));
  const transition = await typedVms.change();
  await transition.until({
    patched: 1,
    skipped: [{ message: 'its machine type was changed meanwhile', vms: [typedVms.key('vm')] }],
  });
  expect([await typedVms.type('vm'), await typedVms.record('vm')]).toEqual(['pc-q35-rhel9.2.0', undefined]);
  await typedVms.setType('vm', OLD);
  await transition.until({ patched: 2, skipped: [], counts: { waiting: 1, done: 1 } });
  expect(await typedVms.type('vm')).toBe('q35');
});

soakTest('VMs that their owners stop just before their restart stay stopped, and are done', async () => {
  const strategies = { always: 'Always', once: 'Once', manual: 'Manual', rerun: 'RerunOnFailure' };
  const typedVms = await TypedVms.of(
    fleet(),
    Object.fromEntries(Object.entries(strategies).map(([name, runStrategy]) => [name, { runStrategy }])),
  );
  const left = new Set(Object.keys(strategies));
  throughProxy(async (method, path): Promise<Fate> => {
    const name = [...left].find((one) => restartOf(typedVms, one)(method, path));
    if (name === undefined) return 'pass';
    left.delete(name);
    await typedVms.power(name, 'stop');
    await until(async () => expect(await typedVms.vmi(name)).toBeUndefined());
    return 'pass';
  });
  expect(await (await typedVms.change({ restartNow: true, maxRestarts: 4 })).result()).toMatchObject({
    phase: 'Complete',
    restarted: 0,
    failures: 0,
    inProgress: [],
    counts: { done: 4 },
  });
  for (const [name, runStrategy] of Object.entries({ ...strategies, always: 'Halted', once: 'Halted' })) {
    expect([(await typedVms.vm(name)).spec.runStrategy, await typedVms.vmi(name), await typedVms.mark(name)]).toEqual([
      runStrategy,
      undefined,
      undefined,
    ]);
  }
});

test('a VM that its owner restarts just before its restart is not restarted again', async () => {
  const typedVms = await TypedVms.of(fleet(), { vm: { runStrategy: 'Always' } });
  let restarted: string | undefined;
  justBefore(restartOf(typedVms, 'vm'), async () => {
    const before = await typedVms.vmi('vm');
    await typedVms.power('vm', 'restart');
    await until(async () => {
      restarted = (await typedVms.vmi('vm'))?.metadata.uid;
      expect([undefined, before?.metadata.uid]).not.toContain(restarted);
    });
  });
  expect(await (await typedVms.change({ restartNow: true })).result()).toMatchObject({
    phase: 'Complete',
    failures: 0,
    counts: { done: 1 },
  });
  expect((await typedVms.vmi('vm'))?.metadata.uid).toBe(restarted);
});

soakTest(
  'a VM that its owner starts just before its patch is labelled all the same, since its VMI has the old type',
  async () => {
    const typedVms = await TypedVms.of(fleet(), { vm: off });
    justBefore(patchOf(typedVms, 'vm'), async () => {
      await typedVms.power('vm', 'start');
      await until(async () => expect((await typedVms.vmi('vm'))?.status?.machine?.type).toBe(OLD));
    });
    const transition = await typedVms.change();
    await transition.until({ patched: 1, counts: { waiting: 1 } });
    await until(async () => expect(await typedVms.mark('vm')).toBe(transition.id));
    expect(await typedVms.record('vm')).toMatchObject({ from: OLD, to: 'q35', vmiType: OLD });
    await typedVms.power('vm', 'restart');
    expect(await transition.result()).toMatchObject({ phase: 'Complete', counts: { done: 1 } });
  },
);

soakTest('spec.running stays as it is, for a VM that runs and for one that does not', async () => {
  const typedVms = await TypedVms.of(fleet(), { on: { running: true }, off: { running: false } });
  const vmis = await typedVms.vmis();
  expect(await (await typedVms.change({ restartNow: true })).result()).toMatchObject({
    phase: 'Complete',
    patched: 2,
    restarted: 1,
    failures: 0,
  });
  for (const [name, running] of [
    ['on', true],
    ['off', false],
  ] as const) {
    const { spec } = await typedVms.vm(name);
    expect([spec.running, spec.runStrategy]).toEqual([running, undefined]);
  }
  const after = await typedVms.vmis();
  expect(Object.keys(after)).toEqual(['on']);
  expect(after['on']).not.toBe(vmis['on']);
  expect((await typedVms.vmi('on'))?.status?.machine?.type).toBe(NEW);
});

soakTest(
  'a VM that its owner restarts while its alias still stands for an old type keeps waiting, which is reported',
  async () => {
    await setAlias(fleet(), OLD);
    onTestFinished(() => setAlias(fleet(), NEW));
    const typedVms = await TypedVms.of(fleet(), { vm: { type: 'q35' } });
    const transition = await typedVms.change();
    await transition.until({ phase: 'Waiting', counts: { waiting: 1 }, skipped: [] });
    await typedVms.power('vm', 'restart');
    const why = `it was restarted, and came back with ${OLD}: q35 still stands for that`;
    await transition.until({
      phase: 'Waiting',
      counts: { waiting: 1 },
      skipped: [{ message: why, isExcluded: false, vms: [typedVms.key('vm')] }],
    });
    expect(await typedVms.mark('vm')).toBe(transition.id);
    await setAlias(fleet(), NEW);
    await typedVms.power('vm', 'restart');
    expect(await transition.result()).toMatchObject({ phase: 'Complete', counts: { done: 1 }, skipped: [] });
  },
);

soakTest(
  'a VM that another transition takes just before its patch is left to that transition, and taken once it has ended',
  async () => {
    const typedVms = await TypedVms.of(fleet(), { paused: {}, vm: {} });
    await typedVms.vmiPower('paused', 'pause');
    await until(async () =>
      expect((await typedVms.vmi('paused'))?.status?.conditions).toContainEqual(
        expect.objectContaining({ type: 'Paused', status: 'True' }),
      ),
    );
    let other = '';
    justBefore(patchOf(typedVms, 'vm'), async () => {
      const metadata = {
        labels: { [MACHINE_TYPE_RESTART_LABEL]: other },
        annotations: { [MACHINE_TYPE_TRANSITION_ANNOTATION]: recordBy(other) },
      };
      await typedVms.patch('vm', { metadata, spec: { template: { spec: { domain: { machine: { type: 'q35' } } } } } });
    });
    // The transition has written nothing yet, so others can't know of it.
    const first = await typedVms.change({ scope: { names: ['paused'] } });
    await first.until({ counts: { deferred: 1 } });
    other = first.id;
    const second = await typedVms.change({ scope: { names: ['vm'] } });
    const why = `operation ${typedVms.key(first.operation.key.name)} is changing it, until that ends or is aborted`;
    await second.until({ counts: { deferred: 1 }, skipped: [{ message: why, vms: [typedVms.key('vm')] }] });
    expect([await typedVms.mark('vm'), (await typedVms.record('vm'))?.id]).toEqual([first.id, first.id]);
    await first.set({ aborted: true });
    await second.until({ counts: { deferred: 0, waiting: 1 }, skipped: [] });
    expect([await typedVms.mark('vm'), (await typedVms.record('vm'))?.id]).toEqual([second.id, second.id]);
    expect(await typedVms.record('vm')).toMatchObject({ from: OLD, vmiType: OLD });
  },
);

soakTest(
  'the label of a transition that is deleted when nobody carries it out is removed by the next one',
  async () => {
    const typedVms = await TypedVms.of(fleet(), { vm: {}, apart: {} });
    const first = await typedVms.change();
    await first.until({ counts: { waiting: 2 } });
    await first.handle.terminate();
    await first.operation.delete();
    for (const name of ['vm', 'apart']) await typedVms.power(name, 'restart');
    await until(async () => {
      for (const name of ['vm', 'apart']) expect((await typedVms.vmi(name))?.status?.machine?.type).toBe(NEW);
    });
    await typedVms.add('late', off);
    expect(await (await typedVms.change({ scope: { exclude: ['apart'] } })).result()).toMatchObject({
      phase: 'Complete',
      patched: 1,
    });
    expect([await typedVms.mark('vm'), await typedVms.mark('apart')]).toEqual([undefined, first.id]);
  },
);

test('a pool that a user annotates just before its template is changed is changed all the same', async () => {
  const typedVms = await TypedVms.empty(fleet());
  const { namespace } = typedVms;
  const template = structuredClone(runningTemplate.spec);
  Object.assign((template.template as { spec: { domain: object } }).spec.domain, { machine: { type: OLD } });
  await fleet().createPool(namespace, 'web', { replicas: 0, template: { spec: template } });
  // That is a patch too: the next one is to be the transition's.
  await until(async () => expect((await fleet().pool(namespace, 'web'))?.metadata.finalizers).toBeDefined());
  justBefore(patchOf(typedVms, 'web', 'virtualmachinepools'), async () => {
    const annotations = { [MACHINE_TYPE_TRANSITION_ANNOTATION]: 'what nobody can read' };
    await fleet().kube.patch(VirtualMachinePools, { namespace, name: 'web' }, 'merge', { metadata: { annotations } });
  });
  expect(await (await typedVms.change()).result()).toMatchObject({ phase: 'Complete', failures: 0, skipped: [] });
  const { spec, metadata } = (await fleet().pool(namespace, 'web'))!;
  expect(JSON.stringify(spec)).not.toContain(OLD);
  expect(metadata.annotations?.[MACHINE_TYPE_TRANSITION_ANNOTATION]).toContain(OLD);
});

test('a webhook that refuses one VM with 500 keeps no other from being changed', async () => {
  const typedVms = await TypedVms.of(fleet(), { bad: off, good: off });
  const denied = 'admission webhook "virtualmachine-validator.kubevirt.io" denied the request: no such preference';
  justBefore(patchOf(typedVms, 'bad'), () => Promise.resolve(), { status: 500, message: denied });
  const result = await (await typedVms.change()).result();
  expect(result).toMatchObject({
    phase: 'Failed',
    patched: 1,
    failures: 1,
    failed: [{ vm: typedVms.key('bad'), message: denied }],
  });
  expect(await typedVms.type('good')).toBe('q35');
});

test('a VM whose label can no longer be removed is reported, and holds up no other', async () => {
  const typedVms = await TypedVms.of(fleet(), { vm: {}, other: {} });
  const isPatch = patchOf(typedVms, 'vm');
  let patches = 0;
  throughProxy(async (method, path): Promise<Fate> =>
    isPatch(method, path) && patches++ > 0 ? { status: 403, message: 'a policy of the test' } : 'pass',
  );
  const transition = await typedVms.change();
  await transition.until({ counts: { waiting: 2 } });
  await typedVms.power('vm', 'restart');
  const why = 'its label could not be removed: a policy of the test';
  await transition.until({
    phase: 'Waiting',
    failures: 1,
    failed: [{ vm: typedVms.key('vm'), message: why }],
    counts: { waiting: 1, done: 0 },
  });
  const tries = patches;
  await typedVms.power('other', 'restart');
  expect(await transition.result()).toMatchObject({ phase: 'Failed', failures: 1, counts: { waiting: 0, done: 1 } });
  expect(await typedVms.mark('other')).toBeUndefined();
  // The transition tries once more when it ends.
  expect(patches).toBe(2 * tries - 1);
});

test('a transition whose preflight does not end can be aborted', async () => {
  const typedVms = await TypedVms.of(fleet(), { vm: off });
  throughProxy((_method, path): Promise<Fate> => Promise.resolve(path.includes('dryRun') ? { status: 503 } : 'pass'));
  const transition = await typedVms.change();
  await transition.until({ phase: 'Checking' });
  await transition.set({ paused: true });
  await transition.set({ aborted: true });
  expect(await transition.result()).toMatchObject({
    phase: 'Aborted',
    aborted: { reason: 'spec.aborted is true' },
    patched: 0,
  });
  expect(await typedVms.record('vm')).toBeUndefined();
});

test('an abort in the middle of the patches leaves no label, and what is changed by then can be undone', async () => {
  const typedVms = await TypedVms.of(fleet(), { a: {}, b: {}, c: off });
  const aborted = Promise.withResolvers<() => Promise<void>>();
  justBefore(patchOf(typedVms, 'a'), async () => (await aborted.promise)());
  const transition = await typedVms.change({ restartNow: true });
  aborted.resolve(() => transition.set({ aborted: true }));
  const vmis = await typedVms.vmis();
  const { patched, ...result } = await transition.result();
  expect(result).toMatchObject({ phase: 'Aborted', restarted: 0, failures: 0, inProgress: [] });
  const names = ['a', 'b', 'c'];
  const records = await Promise.all(names.map((name) => typedVms.record(name)));
  expect(records.filter((record) => record?.id === transition.id)).toHaveLength(patched);
  expect(patched).toBeGreaterThan(0);
  for (const name of names) expect(await typedVms.mark(name)).toBeUndefined();
  expect(await (await typedVms.change({ scope: { glob: '*', undoes: transition.id } })).result()).toMatchObject({
    phase: 'Complete',
    patched,
  });
  for (const name of names) expect(await typedVms.type(name)).toBe(OLD);
  expect(await typedVms.vmis()).toEqual(vmis);
});

soakTest("labels and annotations that a user adds just before drover's first ones stay", async () => {
  const typedVms = await TypedVms.of(fleet(), { vm: {} });
  let edits = 0;
  const isVm = patchOf(typedVms, 'vm');
  throughProxy(async (method, path): Promise<Fate> => {
    if (isVm(method, path) && edits++ === 0)
      await typedVms.patch('vm', { metadata: { labels: { tier: 'web' }, annotations: { note: 'mine' } } });
    return 'pass';
  });
  const transition = await typedVms.change();
  await transition.until({ counts: { waiting: 1 } });
  const { metadata } = await typedVms.vm('vm');
  expect(metadata.labels).toMatchObject({ tier: 'web' });
  expect(metadata.annotations).toMatchObject({ note: 'mine' });
  expect(await typedVms.mark('vm')).toBe(transition.id);
});

test('patches whose answers are lost are made once, and counted once; a permanent failure is reported', async () => {
  const typedVms = await TypedVms.of(fleet(), { lost: off, busy: off, bad: off });
  const met = new Map<string, number>();
  throughProxy((method, path) => {
    const name = ['lost', 'busy', 'bad'].find((one) => patchOf(typedVms, one)(method, path));
    if (name === undefined) return 'pass';
    const times = (met.get(name) ?? 0) + 1;
    met.set(name, times);
    if (name === 'bad') return { status: 422 };
    return times > 2 ? 'pass' : name === 'busy' ? { status: 503 } : 'drop-answer';
  });
  const result = await (await typedVms.change()).result();
  expect(result).toMatchObject({
    phase: 'Failed',
    patched: 2,
    failures: 1,
    failed: [{ vm: typedVms.key('bad'), message: 'the test answers 422' }],
  });
  for (const name of ['lost', 'busy']) {
    expect(await typedVms.type(name)).toBe('q35');
    expect((await typedVms.vm(name)).metadata.generation).toBe(2);
  }
});
