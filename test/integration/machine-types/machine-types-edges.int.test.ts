import { expect, onTestFinished, test } from 'vitest';
import { DO_NOT_DISRUPT_ANNOTATION } from '../../../api/names.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import { abort, pause } from '../../../workflows/messages.ts';
import { rulesOf } from '../../deploy/rights.ts';
import { createServiceAccounts, ClusterRoles, kubeconfigOf } from '../../deploy/service-accounts.ts';
import { chaosProxy, type Fate } from '../chaos-proxy.ts';
import { aFleet, namesUpTo, until, type TestWorker } from '../fleet.ts';
import { TypedVms, OLD } from './machine-types.ts';

const fleet = aFleet({ workers: 0 });

/** Starts a worker for this test only. */
async function aWorker(env: Record<string, string> = {}): Promise<TestWorker> {
  const worker = await fleet().startWorker(env);
  onTestFinished(() => worker.kill());
  return worker;
}

const throughProxy = async (fate: (method: string, path: string) => Fate | Promise<Fate>): Promise<TestWorker> =>
  aWorker({ KUBECONFIG: (await chaosProxy(fleet().workerKubeconfig, fate)).kubeconfig });

const off = { runStrategy: 'Halted' };
const isPatchOf =
  (name: string) =>
  (method: string, path: string): boolean =>
    method === 'PATCH' && path.includes(`/virtualmachines/${name}?`) && !path.includes('dryRun');

test('a VM that somebody edits just before its patch is left as they have it, and reported', async () => {
  const typedVms = await TypedVms.of(fleet(), { edited: off, other: off });
  let edits = 0;
  const isEdited = isPatchOf('edited');
  await throughProxy(async (method, path): Promise<Fate> => {
    if (isEdited(method, path) && edits++ === 0) await typedVms.setType('edited', 'pc-q35-rhel9.2.0');
    return 'pass';
  });
  const result = await (await typedVms.change()).result();
  expect(result).toMatchObject({ phase: 'Complete', patched: 1, failures: 0 });
  expect(result.skipped).toMatchObject([
    { why: 'somebody has changed its machine type meanwhile', vms: [typedVms.key('edited')] },
  ]);
  expect(await typedVms.type('edited')).toBe('pc-q35-rhel9.2.0');
  expect(await typedVms.record('edited')).toBeUndefined();
});

test('labels and annotations that somebody adds just before the first of ours stay', async () => {
  const typedVms = await TypedVms.of(fleet(), { vm: {} });
  let edits = 0;
  const isVm = isPatchOf('vm');
  await throughProxy(async (method, path): Promise<Fate> => {
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

test('patches whose answers are lost are made once, and counted once; what fails for good is told', async () => {
  const typedVms = await TypedVms.of(fleet(), { lost: off, busy: off, bad: off });
  const met = new Map<string, number>();
  await throughProxy((method, path) => {
    const name = ['lost', 'busy', 'bad'].find((one) => isPatchOf(one)(method, path));
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
    failed: [{ vm: typedVms.key('bad'), why: 'the test answers 422' }],
  });
  for (const name of ['lost', 'busy']) {
    expect(await typedVms.type(name)).toBe('q35');
    expect((await typedVms.vm(name)).metadata.generation).toBe(2);
  }
});

test('what a missing right forbids is said before anything is written', async () => {
  await createServiceAccounts(fleet().kube);
  const role = (await fleet().kube.list(ClusterRoles)).items.find(({ metadata }) => metadata.name === 'drover-worker')!;
  const rules = rulesOf(role).map((rule) =>
    rule.resources.includes('virtualmachines/restart') ? { ...rule, verbs: ['get'] } : rule,
  );
  await fleet().kube.patch(ClusterRoles, { name: 'drover-worker' }, 'merge', { rules });
  await aWorker({ KUBECONFIG: await kubeconfigOf(fleet(), 'drover-worker') });
  const typedVms = await TypedVms.of(fleet(), { runs: {}, off });
  const refused = await typedVms.change({ restartNow: true });
  expect(await refused.refusal()).toContain('update virtualmachines.subresources.kubevirt.io/restart');
  expect(await typedVms.type('off')).toBe(OLD);
  // Without restarts the permission is not needed.
  const allowed = await typedVms.change({ scope: { only: 'stopped' } });
  expect(await allowed.result()).toMatchObject({ phase: 'Complete', patched: 1 });
});

test('VMs whose owners ask that nothing disrupts them are left, and restarts wait for a window, not so the patches', async () => {
  await aWorker();
  const typedVms = await TypedVms.of(fleet(), {
    precious: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } },
    runs: {},
  });
  const vmis = await typedVms.vmis();
  // Opens on February 29 only.
  const transition = await typedVms.change({ restartNow: true, windows: [{ cron: '0 2 29 2 *', duration: '1h' }] });
  await transition.until({
    patched: 1,
    counts: { left: 1, toRestart: 1 },
    full: [expect.stringContaining('the next window opens at')],
  });
  expect(await typedVms.type('runs')).toBe('q35');
  expect(await typedVms.vmis()).toEqual(vmis);
  expect(await typedVms.type('precious')).toBe(OLD);
  // The VM's owner need not wait for the window.
  await fleet().kube.patch(VirtualMachines, { namespace: typedVms.namespace, name: 'runs' }, 'merge', {
    metadata: { labels: { restarted: 'by-hand' } },
  });
  await typedVms.power('runs', 'restart');
  expect(await transition.result()).toMatchObject({ phase: 'Complete', restarted: 0, counts: { left: 1, done: 1 } });
});

test('a history that has grown long is left behind, also with a VM in progress, and nothing is done twice', async () => {
  await aWorker();
  const names = namesUpTo('vm', 3);
  const typedVms = await TypedVms.of(fleet(), Object.fromEntries(names.map((name) => [name, {}])));
  for (const name of names)
    await typedVms.patch(name, {
      spec: { template: { metadata: { annotations: { 'sim.drover.dev/boot-time': '20s' } } } },
    });
  const transition = await typedVms.change({ restartNow: true, reason: 'rhel8 goes' });
  await transition.until({ patched: 3, inProgress: [expect.any(String)] });
  const { runId } = await transition.handle.describe();
  // Temporal suggests continue-as-new after 4 MiB. It also does after 4,096 events, but fails a workflow task if a
  // hundred signals arrive meanwhile: a slow worker would replay them again and again, and never finish.
  for (let n = 0; n < 5; n++) await transition.handle.signal(pause, { by: 'bob', why: 'x'.repeat(1_000_000) });
  await transition.handle.signal(pause, { by: 'bob' });
  await until(async () => expect((await transition.handle.describe()).runId).not.toBe(runId));
  await transition.until({
    phase: 'Paused',
    patched: 3,
    restarted: 1,
    inProgress: [],
    results: [{ from: OLD, to: 'q35' }],
    paused: { by: 'bob' },
    counts: { toRestart: 2, done: 1 },
  });
  await transition.handle.signal(abort);
  expect(await transition.result()).toMatchObject({ phase: 'Aborted', patched: 3, restarted: 1, failures: 0 });
  for (const name of names) expect(await typedVms.mark(name)).toBeUndefined();
});
