import { expect, test } from 'vitest';
import type { Fate } from '../chaos-proxy.ts';
import { aFleet, until } from '../fleet.ts';
import { aProxiedWorker } from '../proxied-worker.ts';
import { TypedVms, OLD } from './machine-types.ts';

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
