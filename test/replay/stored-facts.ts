import {
  CHANGES_ANNOTATION,
  DISKS_FINALIZER,
  EVACUATION_LABEL,
  KEPT_DISK,
  MACHINE_TYPE_TRANSITION_ANNOTATION,
  MEMBER_OF_ANNOTATION,
  NOT_YET_RUN_ANNOTATION,
  POWER_ANNOTATION,
  REMOVING_ANNOTATION,
  ROLLOUT_REQUEST_ANNOTATION,
  STANDBY_ANNOTATION,
  UID_ANNOTATION,
} from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { activeClaims } from '../../decisions/disruption-budget/claims.ts';
import { keptClaimView } from '../../decisions/from-object/kept-claim.ts';
import { migrationView, type VirtualMachineInstanceMigration } from '../../decisions/from-object/migration.ts';
import { ownerView, poolView } from '../../decisions/from-object/owner.ts';
import { revisionView, type ControllerRevision } from '../../decisions/from-object/revision.ts';
import { vmView } from '../../decisions/from-object/vm.ts';
import { asObject, field, listOf, parsedObject } from '../../decisions/lib/json.ts';
import { roleIn } from '../../decisions/membership/roles.ts';
import { isRestored, needsWorkflow } from '../../decisions/operations/lifetime.ts';
import { failuresIn } from '../../decisions/operations/status.ts';
import { answerTo, digestOf } from '../../decisions/owners/request.ts';
import { onRecord, RESTORED, type GivenInput } from '../../decisions/pool/on-record.ts';
import { isUnderWay } from '../../decisions/rollout/state/state.ts';
import { effectiveSince } from '../../decisions/schedules/since.ts';
import { timesOf } from '../../decisions/schedules/times.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../decisions/views/stored-schedule.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import { aVm, given, quiet } from '../decisions/fixtures/fleets.ts';

/** Something that later releases must read in an object as the release did that stored it. */
interface Fact {
  kinds: readonly string[];
  what: string;
  /** Read by the fields of 0.1.0: this never changes. Undefined, false or empty in an object that does not show it. */
  stored: (object: Stored) => unknown;
  /** The same by today's code. */
  read: (object: Stored) => unknown;
}

const at = (object: Stored, path: string): unknown => field(object, ...path.split('.'));
const all = (object: Stored, path: string, ...fields: string[]): unknown[] =>
  listOf(at(object, path)).map((one) => fields.map((name) => field(one, name)));

const recordOf = (object: Stored, more: Partial<GivenInput> = {}) =>
  onRecord({ ...given({ ...quiet, pool: poolView(object), vms: [], burst: 250 }), ...more }).input;
const isRolling = (object: Stored): boolean => {
  const { completedAt, halted, revision } = asObject(at(object, 'status.rollout'));
  return revision !== undefined && completedAt === undefined && (!halted || field(halted, 'kind') === 'Undoing');
};
const isPausedByUser = (object: Stored): boolean => {
  const paused = at(object, 'status.rollout.paused');
  return paused !== undefined && field(paused, 'bySignal') !== true;
};
const writesOf = (object: Stored): number => Number(at(object, 'status.writes') ?? 0);
const isObserved = (object: Stored): boolean => at(object, 'status.observedGeneration') === object.metadata.generation;
const requestOf = (object: Stored): string | undefined => object.metadata.annotations?.[ROLLOUT_REQUEST_ANNOTATION];

const OF_POOLS: readonly Omit<Fact, 'kinds'>[] = [
  {
    what: 'that a rollout is in progress',
    stored: isRolling,
    read: (pool) => {
      const { rollout } = recordOf(pool);
      return rollout !== null && isUnderWay(rollout);
    },
  },
  {
    what: 'who has paused a rollout',
    stored: (pool) => at(pool, 'status.rollout.paused.by'),
    read: (pool) => recordOf(pool).rollout?.paused?.by,
  },
  {
    what: 'why a rollout is halted',
    stored: (pool) => at(pool, 'status.rollout.halted.kind'),
    read: (pool) => recordOf(pool).rollout?.halted?.kind,
  },
  {
    what: 'how many steps a rollout has passed',
    stored: (pool) => at(pool, 'status.rollout.step'),
    read: (pool) => recordOf(pool).rollout?.step,
  },
  {
    what: 'VMs that have failed in a rollout',
    stored: (pool) => all(pool, 'status.rollout.failures', 'vm', 'at'),
    read: (pool) => (recordOf(pool).rollout?.failures ?? []).map((one) => [one.vm, one.at]),
  },
  {
    what: 'batches that may act',
    stored: (pool) => at(pool, 'status.rollout.inFlight') ?? [],
    read: (pool) => {
      const last = Number(at(pool, 'status.rollout.lastBatch') ?? 0);
      const known = { revision: '', rollout: '', vms: [], startedAt: 0 };
      const batches = Array.from({ length: last + 1 }, (_, index) => ({ ...known, n: index + 1 }));
      return recordOf(pool, { batches }).batches.map(({ n }) => n);
    },
  },
  {
    what: 'that a restored etcd pauses a rollout',
    stored: (pool) => isRolling(pool) && !isPausedByUser(pool),
    read: (pool) => recordOf(pool, { writes: writesOf(pool) + 1 }).rollout?.paused?.reason === RESTORED,
  },
  {
    what: 'requests that were answered',
    stored: (pool) => {
      const { id } = asObject(parsedObject(requestOf(pool)));
      return listOf(at(pool, 'status.rollout.handledRequests')).some((one) => field(one, 'id') === id);
    },
    read: (pool) =>
      requestOf(pool) !== undefined &&
      answerTo(digestOf(requestOf(pool)!), recordOf(pool).rollout?.handledRequests) !== undefined,
  },
  {
    what: 'VMs that are being replaced',
    stored: (pool) => all(pool, 'status.healing.cycles', 'vm', 'uid', 'attempt', 'phase'),
    read: (pool) => recordOf(pool).healing.cycles.map((one) => [one.vm, one.uid, one.attempt, one.phase]),
  },
  {
    what: 'how often VMs were replaced',
    stored: (pool) => all(pool, 'status.healing.finished', 'vm', 'attempts', 'end'),
    read: (pool) => recordOf(pool).healing.finished.map((one) => [one.vm, one.attempts, one.end]),
  },
  {
    what: 'who has paused healing',
    stored: (pool) => at(pool, 'status.healing.paused.by'),
    read: (pool) => recordOf(pool).healing.paused?.by,
  },
  {
    what: 'places in the budget that are claimed',
    stored: (pool) => all(pool, 'status.disruptedVMs', 'vm', 'by'),
    read: (pool) => {
      const claims = activeClaims({ pool: poolView(pool), vms: [], vmiOf: () => undefined }, () => false);
      return claims.map(({ claim }) => [claim.vm, claim.by]);
    },
  },
  {
    what: 'VMs that are no replicas',
    stored: (pool) => all(pool, 'status.roles', 'vm', 'role'),
    read: (pool) =>
      (poolView(pool).status?.roles ?? []).map(({ vm, role, uid = '', at: since }) => [
        vm,
        roleIn(poolView(pool), aVm(vm, { uid, roleLabel: role, createdAt: Date.parse(since) })),
      ]),
  },
  {
    what: 'the revision of its template, so that no upgrade rolls it out',
    stored: (pool) => isObserved(pool) && at(pool, 'status.updateRevision'),
    read: (pool) => isObserved(pool) && revisionOf(poolTemplate(poolView(pool).spec)),
  },
];

const ofOperation = (object: Stored): StoredOperation => object as unknown as StoredOperation;
const OF_OPERATIONS: readonly Omit<Fact, 'kinds'>[] = [
  {
    what: 'that it is over',
    stored: (operation) => at(operation, 'status.completionTime') !== undefined,
    read: (operation) => !needsWorkflow(ofOperation({ ...operation, spec: {} })),
  },
  {
    what: 'VMs that have failed',
    stored: (operation) => all(operation, 'status.failures', 'message'),
    read: (operation) => failuresIn(ofOperation(operation)).map(({ message }) => [message]),
  },
  {
    what: 'that a copy of it was begun',
    stored: ({ metadata }) => metadata.annotations?.[UID_ANNOTATION] !== undefined,
    read: (operation) => isRestored(ofOperation({ ...operation, metadata: { ...operation.metadata, uid: 'new' } })),
  },
];

const ofSchedule = (object: Stored): StoredSchedule => object as unknown as StoredSchedule;
const OF_SCHEDULES: readonly Omit<Fact, 'kinds'>[] = [
  {
    what: 'since when its times count',
    stored: (schedule) => isObserved(schedule) && Date.parse(String(at(schedule, 'status.effectiveSince'))),
    read: (schedule) => isObserved(schedule) && effectiveSince(ofSchedule(schedule)),
  },
  {
    what: 'the last time for which it has made an operation',
    stored: (schedule) => Date.parse(String(at(schedule, 'status.lastScheduleTime'))) || null,
    read: (object) => {
      const schedule = ofSchedule(object);
      return timesOf({ schedule, operations: [], ranUntil: null, now: Date.now() }, false).last;
    },
  },
];

/** A label, an annotation or a finalizer on an object of another kind, and whether today's code reads it. */
const marked = (kind: string, mark: string, of: 'labels' | 'annotations' | 'finalizers', read: Fact['read']): Fact => ({
  kinds: [kind],
  what: `the mark ${mark}`,
  stored: ({ metadata }) =>
    of === 'finalizers' ? (metadata.finalizers ?? []).includes(mark) : metadata[of]?.[mark] !== undefined,
  read,
});
const markedVm = (mark: string, read: (vm: VmView) => boolean): Fact =>
  marked('VirtualMachine', mark, mark === DISKS_FINALIZER ? 'finalizers' : 'annotations', (vm) => read(vmView(vm)));

export const FACTS: readonly Fact[] = [
  ...OF_POOLS.map((fact) => ({ ...fact, kinds: ['VirtualMachinePool'] })),
  ...OF_OPERATIONS.map((fact) => ({
    ...fact,
    kinds: ['VirtualMachineOperation', 'ClusterVirtualMachineOperation'],
  })),
  ...OF_SCHEDULES.map((fact) => ({ ...fact, kinds: ['VirtualMachineOperationSchedule'] })),
  {
    kinds: ['VirtualMachinePool', 'VirtualMachineReplicaSet', 'VirtualMachineInstanceReplicaSet'],
    what: 'the number of a spec that leaves it out',
    stored: (owner) => at(owner, 'status.desiredReplicas') ?? 1,
    read: (owner) => ownerView({ ...owner, spec: {} }).spec.replicas,
  },
  {
    kinds: ['ControllerRevision'],
    what: 'a template to go back to',
    stored: (revision) => at(revision, 'revision'),
    read: (revision) => revisionView(revision as Stored<ControllerRevision>)?.number,
  },
  markedVm(MEMBER_OF_ANNOTATION, ({ memberOf }) => memberOf !== null),
  markedVm(POWER_ANNOTATION, ({ power }) => power !== null),
  markedVm(CHANGES_ANNOTATION, ({ changes }) => changes.length > 0),
  markedVm(MACHINE_TYPE_TRANSITION_ANNOTATION, ({ transition }) => transition !== null),
  markedVm(REMOVING_ANNOTATION, ({ removing }) => removing),
  markedVm(STANDBY_ANNOTATION, ({ standby }) => standby !== null),
  markedVm(NOT_YET_RUN_ANNOTATION, ({ notYetRun }) => notYetRun !== null),
  markedVm(DISKS_FINALIZER, ({ keepsDisks }) => keepsDisks),
  marked('PersistentVolumeClaim', KEPT_DISK, 'annotations', (claim) => keptClaimView(claim) !== null),
  marked(
    'VirtualMachineInstanceMigration',
    EVACUATION_LABEL,
    'labels',
    (object) => migrationView(object as Stored<VirtualMachineInstanceMigration>) !== null,
  ),
];
