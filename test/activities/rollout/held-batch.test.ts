import { expect, test } from 'vitest';
import {
  EVACUATION_LABEL,
  MEMBERSHIP_CHANGE_ANNOTATION,
  POD_REVISION_ANNOTATION,
  REVISION_LABEL,
} from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import type { PoolSpec, RolloutStatus } from '../../../api/pool/pool.ts';
import {
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
  VirtualMachinePools,
} from '../../../api/resources.ts';
import type { BatchVm, UpdateOutcome } from '../../../decisions/owners/batch.ts';
import { newRolloutState } from '../../../decisions/rollout/state/state.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { migrationName } from '../../../decisions/views/evacuation.ts';
import { aTemplate } from '../../model/pools.ts';
import { keyOf, targetOf, World } from '../forged/world.ts';

const HOUR_MS = 3_600_000;
const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();
const BY = { by: 'ada', at: ago(HOUR_MS) };
const [OLD, NEW] = [aTemplate(), aTemplate({ version: 2 })];
const [FROM, TO] = [revisionOf(OLD), revisionOf(NEW)];

interface Hold {
  spec?: Partial<PoolSpec>;
  rollout?: Partial<RolloutStatus>;
  annotations?: Record<string, string>;
  isDeleted?: true;
}
const change = (kind: string): Hold => ({
  annotations: { [MEMBERSHIP_CHANGE_ANNOTATION]: JSON.stringify({ kind, ...BY }) },
});
const HOLDS: Record<string, Hold> = {
  nothing: {},
  'a full budget': { spec: { maxUnavailable: 1 } },
  'a pause by a user': { rollout: { paused: BY } },
  'a pause by its spec': { spec: { paused: true } },
  'a rollout that was aborted': { rollout: { halted: { ...BY, kind: 'Aborted' } } },
  'closed windows': { spec: { rollout: { windows: [{ cron: '0 2 29 2 *', duration: '1m' }] } } },
  'a release': change('release'),
  'a takeover': change('takeover'),
  'its deletion': { isDeleted: true },
};

/** A pool whose VMs get another template, and those of a batch, of which KubeVirt lets none come to its end. */
async function given({ spec, rollout, annotations, isDeleted }: Hold) {
  const world = new World();
  const { server } = world;
  const pool = world.pool('web', { replicas: 4, maxUnavailable: 4, template: NEW, ...spec }, { annotations });
  world.revision(pool, 1, OLD);
  world.revision(pool, 2, NEW);
  const status = {
    replicas: 4,
    writes: 1,
    rollout: { ...newRolloutState(TO, ago(2 * HOUR_MS)), inFlight: [1], ...rollout },
  };
  server.write(VirtualMachinePools, pool.metadata, (before) => ({ ...before, status }), 'status');
  const vmiOf = ({ metadata }: Stored): Stored => server.get(VirtualMachineInstances, metadata);
  const changeVmi = (vm: Stored, made: object, more: object = {}): Stored =>
    server.write(VirtualMachineInstances, vm.metadata, (vmi) => ({
      ...vmi,
      ...more,
      metadata: { ...vmi.metadata, ...made },
    }));

  const [ending, starting, migrating] = [1, 2, 3].map((number) => world.vm(pool, number)) as [Stored, Stored, Stored];
  const open = world.vm({ ...pool, spec: { ...pool.spec, template: OLD } }, 4);
  changeVmi(ending, { finalizers: ['shop.example/hold'], labels: { [REVISION_LABEL]: FROM } });
  server.delete(VirtualMachineInstances, ending.metadata);
  changeVmi(starting, {}, { status: { phase: 'Scheduled', nodeName: 'node-1' } });
  changeVmi(migrating, { annotations: { [POD_REVISION_ANNOTATION]: `${FROM}@node-1` } });
  if (isDeleted) server.delete(VirtualMachinePools, pool.metadata);

  const item = (vm: Stored, fields: Partial<BatchVm> = {}): BatchVm => ({
    ...targetOf(vm),
    act: 'restart',
    from: FROM,
    wasDown: false,
    ...fields,
  });
  const migration = { vmi: vmiOf(migrating).metadata.uid, attempt: 1 };
  server.create(VirtualMachineInstanceMigrations, {
    metadata: {
      namespace: pool.metadata.namespace,
      name: migrationName('update', migration.vmi, 1),
      labels: { [EVACUATION_LABEL]: migration.vmi },
    },
    spec: { vmiName: migrating.metadata.name },
    status: { phase: 'Pending' },
  });
  const begun = [item(ending), item(starting), item(migrating, { act: 'migrate', migration })];
  await world.start();
  return { world, pool, begun, open: item(open) };
}

test.each(Object.entries(HOLDS))(
  'each VM of a batch has an outcome, though its pool is held by %s',
  async (_, hold) => {
    const { world, pool, begun, open } = await given(hold);
    const ends = new Map<string, UpdateOutcome>();
    const isWaiting = ({ name }: BatchVm): boolean => !ends.has(name);
    // The batch calls again for those that have none yet.
    for (let calls = 0; calls < 3; calls++) {
      const vms = [...begun, open].filter(isWaiting);
      if (vms.length === 0) break;
      const since = Date.now() - HOUR_MS;
      const request = {
        key: keyOf(pool),
        n: 1,
        revision: TO,
        rollout: TO,
        vms,
        startedAt: since - HOUR_MS,
        begun: begun.filter(isWaiting).map(({ name }) => ({ vm: name, since, graceMs: 0 })),
        minReadyMs: 0,
        deadlineMs: 1,
        mayFail: null,
        minVersions: {},
      };
      await world.written('updateVms', [request]);
      expect(world.failure).toBeUndefined();
      for (const end of (world.answer as { outcomes: UpdateOutcome[] }).outcomes) ends.set(end.vm, end);
    }
    for (const { name } of begun) expect(ends.get(name)).toMatchObject({ end: 'Failed' });
    expect(ends.get(open.name)).toBeDefined();
  },
);
