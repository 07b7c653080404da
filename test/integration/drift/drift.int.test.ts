import { beforeAll, expect, test } from 'vitest';
import { CORRECT_DRIFT_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { PoolSpec, VmTemplate } from '../../../api/pool/pool.ts';
import { orderCorrection } from '../../../clients/drift/correct-drift.ts';
import { driftLines } from '../../../clients/drift/lines.ts';
import { readDrift } from '../../../clients/drift/read.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { crashTest } from '../../soak.ts';
import { aFleet, until, type TestWorker } from '../fleet.ts';
import { templateOf, TestPool } from '../rollout/rollouts.ts';

const fleet = aFleet();
let worker: TestWorker;
beforeAll(async () => void (worker = await fleet().worker()));
const CORRECT: Partial<PoolSpec> = { updateStrategy: { proactive: { drift: 'Correct' } } };
const PATH = 'spec.template.spec.domain.cpu.cores';

const withCores = (cores: number): object => ({ spec: { template: { spec: { domain: { cpu: { cores } } } } } });
const coresOf = async (pool: TestPool): Promise<Record<string, number | undefined>> =>
  Object.fromEntries(
    [...(await pool.vms())].map(([name, vm]) => [name, (vm.spec as Cores).template.spec.domain.cpu.cores]),
  );
const running = async (pool: TestPool): Promise<Record<string, number | undefined>> =>
  Object.fromEntries([...(await pool.vmis())].map(([name, vmi]) => [name, (vmi.spec as CpuOfVmi).domain.cpu.cores]));
interface CpuOfVmi {
  domain: { cpu: { cores: number } };
}
interface Cores {
  template: { spec: CpuOfVmi };
}

const read = async (pool: TestPool): ReturnType<typeof readDrift> => readDrift(fleet().kube, await pool.get());
const order = async (pool: TestPool): Promise<void> =>
  orderCorrection(fleet().kube, await pool.get(), { by: 'ada', dryRun: 'none' });

/** Has users change the cores of these VMs, and restart them, so that their VMIs run that. */
async function drift(pool: TestPool, names: string[], cores = 4): Promise<void> {
  for (const name of names) {
    const before = (await pool.vmi(name)).metadata.uid;
    await pool.patchVm(name, withCores(cores));
    await pool.power(name, 'restart');
    await until(async () => {
      const { metadata, status } = await pool.vmi(name);
      expect([metadata.uid === before, status?.phase]).toEqual([false, 'Running']);
    });
  }
  await pool.until({ driftedReplicas: names.length });
}

test("a user's change is reported and kept, and corrected once when users ask for that", async () => {
  const pool = await TestPool.ready(fleet(), { replicas: 4, maxUnavailable: 1 });
  expect(await pool.status()).toMatchObject({ driftedReplicas: 0 });
  expect(await pool.condition('Drifted')).toBeUndefined();
  await drift(pool, ['web-2', 'web-3']);
  const condition = await pool.condition('Drifted');
  expect(condition).toMatchObject({ status: 'True', reason: 'Kept' });
  expect(condition?.message).toContain(`web-2: ${PATH}`);
  const found = await read(pool);
  expect(found.vms.map(({ vm, fields }) => [vm, fields])).toEqual(
    ['web-2', 'web-3'].map((vm) => [vm, [{ path: PATH, wanted: 1, actual: 4 }]]),
  );
  expect(driftLines(found)[1]).toMatch(/^web-2 +[0-9a-f]+ +spec\.template\.spec\.domain\.cpu\.cores +1 +4 +False$/);

  // Another template leaves it, and restarts what it has to.
  const more = revisionOf(templateOf({ memory: '128Mi' }));
  await pool.change(templateOf({ memory: '128Mi' }));
  await pool.untilComplete(more);
  expect(await running(pool)).toEqual({ 'web-1': 1, 'web-2': 4, 'web-3': 4, 'web-4': 1 });
  await pool.until({ driftedReplicas: 2 });

  // A user asks, within the budget; VMs that have not drifted are left alone.
  const before = await pool.vmiUids();
  const watch = await pool.watched();
  await order(pool);
  await pool.until({ driftedReplicas: 0 });
  await pool.untilComplete(more);
  await until(async () => expect(await running(pool)).toEqual({ 'web-1': 1, 'web-2': 1, 'web-3': 1, 'web-4': 1 }));
  const after = await pool.vmiUids();
  expect(
    Object.keys(after)
      .filter((name) => after[name] !== before[name])
      .sort(),
  ).toEqual(['web-2', 'web-3']);
  expect(watch.log.mostUnavailable()).toBe(1);
  for (const { metadata } of (await pool.vms()).values())
    expect(metadata.annotations ?? {}).not.toHaveProperty([CORRECT_DRIFT_ANNOTATION]);

  // What drifts later is kept again.
  await drift(pool, ['web-1']);
  await pool.untilSaid({ Progressing: 'Complete', Drifted: 'Kept' });
  expect((await coresOf(pool))['web-1']).toBe(4);
});

test('Correct corrects all drift, without a restart if the VMI runs the template, and with one otherwise', async () => {
  const pool = await TestPool.ready(fleet(), { replicas: 2, ...CORRECT });
  const before = await pool.vmiUids();
  await pool.patchVm('web-1', withCores(4));
  await until(async () => expect(await coresOf(pool)).toEqual({ 'web-1': 1, 'web-2': 1 }));
  await pool.untilSaid({ Progressing: 'Complete' });
  expect(await pool.vmiUids()).toEqual(before);

  await pool.patch({ paused: true });
  await drift(pool, ['web-2']);
  expect(await pool.condition('Drifted')).toMatchObject({ reason: 'Correcting' });
  await pool.patch({ paused: false });
  await until(async () => expect(await running(pool)).toEqual({ 'web-1': 1, 'web-2': 1 }));
  await pool.untilComplete(revisionOf(templateOf()));
  expect(await pool.revisions()).toEqual({
    'web-1': [revisionOf(templateOf()), revisionOf(templateOf())],
    'web-2': [revisionOf(templateOf()), revisionOf(templateOf())],
  });
  expect((await pool.vmiUids())['web-1']).toBe(before['web-1']);
});

crashTest('corrections of drift')(
  'a worker that is killed in the middle is replaced, and users who edit meanwhile lose nothing',
  async () => {
    const pool = await TestPool.ready(fleet(), {
      replicas: 3,
      maxUnavailable: 1,
      template: templateOf({ annotations: { 'sim.drover.dev/stop-time': '1500ms' } }),
    });
    await drift(pool, ['web-1', 'web-2', 'web-3']);
    const before = await pool.vmiUids();
    await order(pool);
    const taken = await pool.waitUntilUpdating();
    await worker.kill();
    // drover keeps what users add, and what they change after the order.
    for (const name of ['web-1', 'web-2', 'web-3'])
      await pool.patchVm(name, {
        metadata: { labels: { mine: 'yes' } },
        spec: { template: { spec: { terminationGracePeriodSeconds: 7 } } },
      });
    worker = await fleet().startWorker();
    await until(async () => expect(await running(pool)).toEqual({ 'web-1': 1, 'web-2': 1, 'web-3': 1 }));
    await pool.until({ driftedReplicas: 0 });
    await pool.untilSaid({ Progressing: 'Complete' });
    for (const [name, vm] of await pool.vms()) {
      expect(vm.metadata.labels).toMatchObject({ mine: 'yes' });
      expect(vm.spec).toMatchObject({ template: { spec: { terminationGracePeriodSeconds: 7 } } });
      expect((await pool.vmi(name)).metadata.uid).not.toBe(before[name]);
    }
    expect(taken).toMatch(/^web-/);
  },
);

/** What KubeVirt's webhook writes anew: amounts, zero values, and much that is absent. */
const rich = {
  terminationGracePeriodSeconds: 0,
  evictionStrategy: 'None',
  tolerations: [{ key: 'spare', operator: 'Exists' }],
  nodeSelector: {},
  accessCredentials: [],
  readinessProbe: { exec: { command: ['true'] }, initialDelaySeconds: 0, failureThreshold: 10 },
  networks: [{ name: 'default', pod: {} }],
  volumes: [
    { name: 'root', containerDisk: { image: 'registry.example.com/root:1' } },
    { name: 'seed', cloudInitNoCloud: { userData: '#cloud-config\n', networkData: '' } },
    { name: 'scratch', emptyDisk: { capacity: '2048Mi' } },
  ],
  domain: {
    cpu: { cores: 1, dedicatedCpuPlacement: false },
    memory: { guest: '1024Mi' },
    resources: { requests: { cpu: '0.5', memory: '0.5Gi' }, limits: {} },
    features: { acpi: {}, apic: { enabled: true }, smm: { enabled: false } },
    firmware: { bootloader: { efi: { secureBoot: false } } },
    clock: { utc: {}, timer: { hpet: { present: false } } },
    devices: {
      autoattachGraphicsDevice: false,
      rng: {},
      disks: [
        { name: 'root', disk: { bus: 'virtio', readonly: false } },
        { name: 'seed', cdrom: { bus: 'sata' } },
        { name: 'scratch', disk: { bus: 'virtio' }, serial: '' },
      ],
      interfaces: [{ name: 'default', masquerade: {}, ports: [] }],
    },
  },
};

const of = (field: string): string => `spec.template.spec.${field}`;

test("VMs do not drift by KubeVirt's own writes, and each edit of theirs shows", async () => {
  const template: VmTemplate = {
    metadata: { labels: { app: 'web' }, annotations: { 'example.com/long': 'x'.repeat(500) } },
    spec: { runStrategy: 'Halted', template: { metadata: { labels: { app: 'web' } }, spec: rich } },
  };
  const pool = TestPool.of(fleet(), await fleet().namespace());
  await fleet().createPool(pool.namespace, 'web', { replicas: 2, template });
  await pool.until({ replicas: 2, updatedReplicas: 2, driftedReplicas: 0 });
  expect(await read(pool)).toMatchObject({ vms: [], unknown: [] });
  await pool.patchVm('web-1', { metadata: { annotations: { 'example.com/long': 'y'.repeat(500) } } });
  const domain = { devices: { autoattachGraphicsDevice: null, rng: null } };
  await pool.patchVm('web-2', {
    spec: { template: { spec: { tolerations: null, terminationGracePeriodSeconds: 5, domain } } },
  });
  await pool.until({ driftedReplicas: 2 });
  const found = (await read(pool)).vms.map(({ vm, fields }) => [vm, ...fields.map(({ path }) => path).sort()]);
  expect(found).toEqual([
    ['web-1', 'metadata.annotations["example.com/long"]'],
    [
      'web-2',
      of('domain.devices.autoattachGraphicsDevice'),
      of('domain.devices.rng'),
      of('terminationGracePeriodSeconds'),
      of('tolerations'),
    ],
  ]);
  // A VM that does not run is corrected at once.
  await pool.patch(CORRECT);
  await pool.until({ driftedReplicas: 0 });
  await pool.untilSaid({ Progressing: 'Complete' });
  expect(await read(pool)).toMatchObject({ vms: [] });
});
