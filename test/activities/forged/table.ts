import {
  ADOPT_VMS_ANNOTATION,
  DISKS_FINALIZER,
  MEMBERSHIP_REQUEST_ANNOTATION,
  NOT_YET_RUN_ANNOTATION,
  ORPHAN_FINALIZER,
  POOL_FINALIZER,
  REMOVE_VMS_ANNOTATION,
  REMOVING_ANNOTATION,
  ROLE_LABEL,
  UID_ANNOTATION,
} from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import {
  Nodes,
  VirtualMachineInstances,
  VirtualMachineOperations,
  VirtualMachinePools,
  VirtualMachines,
} from '../../../api/resources.ts';
import { newTally as newTransitionTally } from '../../../decisions/machine-types/transition-tally.ts';
import type { RemovalCause } from '../../../decisions/owners/steps.ts';
import { newTally } from '../../../decisions/power/progress.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import { memberOfAnnotation } from '../../../decisions/views/annotations/member-of.ts';
import { aCheck, aTemplate } from '../../model/pools.ts';
import { BANK, keyOf, NEW_TYPE, OLD_TYPE, SHOP, targetOf, type ActivityName, type World } from './world.ts';

type Args = readonly unknown[];

/** What a caller makes up its input from. */
export interface Forgery {
  /** Keys of pools that exist. */
  web: ReturnType<typeof keyOf>;
  api: ReturnType<typeof keyOf>;
  /** Operations that restart and change a VM of the shop that is not there. */
  operation: ReturnType<typeof keyOf>;
  /** An operation that changes the machine type of a VM of the shop that is not there. */
  types: ReturnType<typeof keyOf>;
  /** A cluster-wide one that restarts all VMs of a namespace without any. */
  clusterOperation: ReturnType<typeof keyOf>;
  /** An operation that restarts VMs that are there, in a window that opens on February 29. */
  closed: ReturnType<typeof keyOf>;
  patch: ReturnType<typeof keyOf>;
  /** One that changes all VMs that are of pools. */
  patchOfMembers: ReturnType<typeof keyOf>;
  /** A schedule of operations that is suspended, and whose status tells that. */
  schedule: ReturnType<typeof keyOf>;
  /** A VM of pool `web` to which nothing is to be done, and the UID of its VMI. */
  own: Stored;
  vmi: string;
  /** VMs that are not the pool's, by whose they are. */
  strangers: Record<string, Stored>;
}

type Row =
  /** It writes nothing, whatever it is asked. */
  | { reads: true }
  /** It writes the status of an owner alone, and for the workflow of that owner alone. */
  | { ownsStatus: true }
  /** It makes VMs, never more than their owner wants, and deletes or changes none. */
  | { creates: true }
  /** It writes what its caller says: docs/security.md tells what that is worth. */
  | { trusts: string }
  | {
      /** Inputs by which nothing is written. */
      forged: (forgery: Forgery) => [what: string, args: Args][];
      /** Inputs by which something is, by what is to be done. */
      honest: Record<string, (world: World) => () => Args>;
    };

interface Combination {
  what: string;
  key: object;
  target: { name: unknown; uid: unknown; resourceVersion: unknown };
}

/** All victims, named in all ways, for all owners that a caller may claim. */
function combinations({ web, own, strangers }: Forgery): Combination[] {
  return Object.entries({ ...strangers, 'of the pool, and well': own }).flatMap(([whose, vm]) => {
    const { namespace, ownerReferences: [owner] = [] } = vm.metadata;
    const keys = {
      'the pool': web,
      'no UID': { ...web, uid: undefined },
      'an empty UID': { ...web, uid: '' },
      "its owner's UID": { ...web, uid: owner?.uid },
      'its owner': { namespace, name: owner?.name, uid: owner?.uid },
      'the pool, in its namespace': { ...web, namespace },
      'a set': { ...web, kind: 'VirtualMachineReplicaSet' },
    };
    const seen = targetOf(vm);
    const targets = {
      '': seen,
      ', of another UID': { ...seen, uid: 'another' },
      ', of no UID': { ...seen, uid: undefined },
      ', of no version': { ...seen, resourceVersion: null },
      ', of another version': { ...seen, resourceVersion: '1' },
    };
    return Object.entries(keys).flatMap(([as, key]) =>
      Object.entries(targets).map(([how, target]) => ({ what: `a VM ${whose}${how}, for ${as}`, key, target })),
    );
  });
}

const forEachVm =
  (argsOf: (one: Combination) => Args) =>
  (forgery: Forgery): [string, Args][] =>
    combinations(forgery).map((one) => [one.what, argsOf(one)]);

const surplus = { generation: 1, others: [] };
const CAUSES: readonly RemovalCause[] = [
  { because: 'Surplus', ...surplus },
  { because: 'SurplusHalted', ...surplus },
  { because: 'StandbySurplus', ...surplus },
  { because: 'Named' },
  { because: 'Annotated' },
  { because: 'OwnerDeleted' },
  { because: 'Ended' },
  { because: 'Surge' },
  { because: 'Terminating' },
];

const offline = { scaleInStrategy: { proactive: { statePreservation: 'Offline' } } } as const;
const mark = { annotations: { [REMOVING_ANNOTATION]: new Date().toISOString() } };

/** The annotations by which a user has a pool let go of this VM. */
const keeping = (name: string, uid: string): Record<string, string> => ({
  [REMOVE_VMS_ANNOTATION]: JSON.stringify({ [name]: { uid, keep: true } }),
});

const annotated = ({ server }: World, annotations: Record<string, string>): unknown =>
  server.write(VirtualMachinePools, { namespace: SHOP, name: 'web' }, (before) => ({
    ...before,
    metadata: { ...before.metadata, annotations },
  }));

/** A pool of which one VM is to leave for this cause, and the VM. */
function leaving(world: World, { because }: RemovalCause): { key: object; vm: Stored } {
  const isOwner = because === 'OwnerDeleted';
  if (because === 'Ended') {
    const set = world.set('VirtualMachineInstanceReplicaSet', 'rs');
    const vmi = world.member('VirtualMachineInstanceReplicaSet', set, 'rs-1');
    const ended = world.server.write(VirtualMachineInstances, vmi.metadata, (before) => ({
      ...before,
      status: { phase: 'Succeeded' },
    }));
    return { key: keyOf(set, 'VirtualMachineInstanceReplicaSet'), vm: ended };
  }
  const replicas = because.startsWith('Surplus') ? 0 : 1;
  const keeps = because === 'Annotated' || because === 'Terminating';
  const pool = world.pool('web', { replicas, maxSurge: 1, ...(keeps ? offline : {}) });
  const key = keyOf(pool);
  const make = (): Stored => {
    switch (because) {
      case 'SurplusHalted':
        return world.halted(pool, 1);
      case 'StandbySurplus':
        return world.vm(pool, 1, { role: 'Standby' });
      case 'Surge':
        world.vm(pool, 2);
        return world.vm(pool, 1, { role: 'Surge' });
      case 'Annotated':
        return world.halted(pool, 1, mark);
      case 'Terminating':
        return world.held(world.vm(pool, 1));
      case 'Surplus':
      case 'Named':
      case 'OwnerDeleted':
        return world.vm(pool, 1);
    }
  };
  const vm = make();
  if (because === 'Named')
    annotated(world, { [REMOVE_VMS_ANNOTATION]: JSON.stringify({ [vm.metadata.name]: vm.metadata.uid }) });
  if (isOwner) world.server.delete(VirtualMachinePools, pool.metadata);
  return { key, vm };
}

const KEEPS: ReadonlySet<RemovalCause['because']> = new Set(['Annotated', 'Terminating']);

const deletions = Object.fromEntries(
  CAUSES.map((cause) => [
    cause.because,
    (world: World) => {
      const { key, vm } = leaving(world, cause);
      return () => [key, [targetOf(vm)], KEEPS.has(cause.because), cause];
    },
  ]),
);

/** Nobody else answers: what is waited for is late at once. */
/** One look of a run. */
/** A change that each VM takes. */
export const PATCH = { merge: JSON.stringify({ metadata: { labels: { tier: 'gold' } } }) };
export const POWER = {
  action: 'Restart',
  inProgress: [],
  minVersions: {},
  requestedBy: 'eve',
  reason: null,
  ...newTally(),
  deadlineMs: 1,
  idledMs: 0,
  reportMs: 0,
  digest: null,
};
/** What every activity of a change of machine types is told. */
export const TYPES = {
  transition: {
    scope: { glob: '*', namespaces: null, labelSelector: null, names: [], exclude: [], only: null, undoes: null },
    to: NEW_TYPE,
    restartNow: true,
    maxRestarts: 100,
    maxFailures: 100,
    deadlineMs: 1,
    windows: [],
    force: true,
    requestedBy: 'eve',
    reason: null,
  },
  results: [
    { from: OLD_TYPE, wanted: NEW_TYPE, architecture: null, preference: null, to: NEW_TYPE, vms: 1, fault: null },
  ],
  minVersions: {},
};
const FOLLOWS = {
  asOf: {},
  inProgress: [],
  ...newTransitionTally(new Date(0).toISOString()),
  maxRestarts: 100,
  turn: 0,
  reportMs: 0,
  digest: null,
};

/** For operations that are not there, that do something else, or that are about no VM that there is. */
function forgedTypes(said: (forgery: Forgery) => object): (forgery: Forgery) => [what: string, args: Args][] {
  return (forgery) => {
    const { operation, types } = forgery;
    return Object.entries<object>({
      'without an operation': { operation: undefined },
      'for one that is not there': { operation: { ...types, name: 'none' } },
      'for one of another UID': { operation: { ...types, uid: 'another' } },
      'for one of another namespace': { operation: { ...types, namespace: BANK } },
      'for one that restarts VMs': { operation },
      'for one that is about other VMs': { operation: types },
    }).map(([what, how]) => [what, [{ ...TYPES, ...said(forgery), ...how }]]);
  };
}

const inWords = ({ metadata: { namespace, name } }: Stored): string => `${namespace}/${name}`;

const ALONE = { begun: [], minReadyMs: 0, deadlineMs: 1, mayFail: null, minVersions: {} };
const template = poolTemplate({ template: aTemplate({ disk: 'root' }) });
const revision = revisionOf(template);
const sick = {
  attempt: 9,
  message: 'made up',
  rules: { backoff: {}, maxAttempts: null },
  mayHaveData: false,
  earlyExits: 99,
  failingSince: 0,
};

const updateOf = (key: object, to: string, vm: object) => ({
  key,
  n: 1,
  revision: to,
  rollout: to,
  vms: [vm],
  startedAt: 0,
  minVersions: {},
});

const replacementOf =
  (from: string) =>
  ({ key, target }: Combination): Args => [
    updateOf(key, revision, { ...target, act: 'replace', from, wasDown: false }),
  ];
const replacement = replacementOf(revision);

export const TABLE: Record<ActivityName, Row> = {
  plan: { ownsStatus: true },
  planReplicaSet: { ownsStatus: true },
  awaitRemoval: { reads: true },
  preflightTransition: { reads: true },
  preflightPatch: { reads: true },
  checkMachineTypes: { reads: true },
  watchCluster: { reads: true },
  createVms: { creates: true },
  createReplicas: { creates: true },
  recordHealing: { reads: true },
  beginOperation: { trusts: 'the status of an operation says that it was begun' },
  reportOperation: { trusts: 'the status of an operation says what its workflow says' },
  lookAtCheck: {
    forged: ({ web }) => [
      ['a pool that is not there', [{ ...web, name: 'none' }, Date.now()]],
      ['a pool of another UID', [{ ...web, uid: 'another' }, Date.now()]],
      ['a pool whose rollout waits at no step', [web, Date.now()]],
      ['a time that is long ago', [web, 0]],
      ['no time', [web]],
    ],
    honest: {
      'a pool whose rollout waits for a check': (world) => {
        // oxlint-disable-next-line unicorn/no-thenable
        const steps = [{ to: 1, then: { check: aCheck() } }];
        const pool = world.pool('web', { template: aTemplate({}), rollout: { steps } });
        const at = new Date().toISOString();
        const status = {
          replicas: 1,
          rollout: {
            revision: revisionOf(poolTemplate(pool.spec)),
            startedAt: at,
            stepReachedAt: at,
            batches: 1,
            lastBatch: 1,
            step: 0,
            failures: [],
          },
        };
        world.server.write(VirtualMachinePools, pool.metadata, (before) => ({ ...before, status }), 'status');
        return () => [keyOf(pool), Date.now()];
      },
    },
  },
  lookAtSchedule: {
    forged: ({ web, schedule }) => [
      ['a schedule that is not there', [{ ...web, name: 'none' }, null]],
      ['a schedule of another UID', [{ ...schedule, uid: 'another' }, null]],
      ['a schedule of another namespace', [{ ...schedule, namespace: BANK }, null]],
      ['a schedule that is suspended', [schedule, null]],
      ['a schedule that is suspended, and ran long ago', [schedule, 0]],
    ],
    honest: {
      'a schedule whose time has come': (world) => {
        const schedule = world.schedule({ schedule: '* * * * *' });
        return () => [keyOf(schedule), null];
      },
    },
  },
  deleteOperation: {
    forged: ({ web }) => [
      ['an operation that is not there', [{ ...web, name: 'none' }]],
      ['an operation of another UID', [{ ...web, name: 'ended', uid: 'another' }]],
    ],
    honest: {
      'an operation whose time after its end is over': (world) => {
        const operation = world.server.create(VirtualMachineOperations, {
          metadata: { namespace: SHOP, name: 'ended' },
          spec: { action: 'Stop', vms: { names: ['web-1'] }, ttlSecondsAfterFinished: 1 },
          status: { completionTime: new Date(0).toISOString() },
        });
        return () => [keyOf(operation)];
      },
    },
  },
  changePower: {
    // Each call is of a run that was started with all VMs that there are.
    forged: ({ operation, clusterOperation, patch, patchOfMembers, closed }) =>
      Object.entries<object>({
        'without an operation': { operation: undefined },
        'for one that is not there': { operation: { ...operation, name: 'none' } },
        'for one of another UID': { operation: { ...operation, uid: 'another' } },
        'for one of another namespace': { operation: { ...operation, namespace: BANK } },
        'for one of a namespace, as if it were cluster-wide': { operation: { ...operation, namespace: undefined } },
        'for a cluster-wide one, as if it were of a namespace': { operation: { ...clusterOperation, namespace: SHOP } },
        'for a cluster-wide one that does not select their namespaces': { operation: clusterOperation },
        'for another action': { operation, action: 'Stop' },
        'for another action, in the middle of a run': { operation, action: 'Stop', ended: 'C' },
        'for VMs that the operation does not name': { operation },
        'outside of the windows of the operation': { operation: closed },
        'for a change that is the restart of another': { operation, action: 'Patch', patch: PATCH },
        'for a restart by an operation that changes': { operation: patch, action: 'Restart' },
        'for a change of VMs that the operation does not name': { operation: patch, action: 'Patch' },
        'for a change of its own': {
          operation: patch,
          action: 'Patch',
          patch: PATCH,
          change: { wanted: { patch: {} } },
        },
        'for a change of VMs that follow templates': { operation: patchOfMembers, action: 'Patch' },
      }).map(([what, how]) => [what, [{ ...POWER, ...how }]]),
    honest: {
      'a VM that its operation names': (world) => {
        const { metadata } = world.other(SHOP, 'db');
        const operation = world.operation([metadata.name]);
        return () => [{ ...POWER, operation: keyOf(operation) }];
      },
      'a VM of a namespace that a cluster-wide operation names': (world) => {
        world.other(SHOP, 'db');
        const operation = world.clusterOperation([SHOP]);
        return () => [{ ...POWER, operation: keyOf(operation) }];
      },
      'a VM that its operation migrates': (world) => {
        const { metadata } = world.other(SHOP, 'db');
        world.inPod(metadata, 'pod-1');
        const operation = world.operation([metadata.name], { action: 'Migrate' });
        return () => [{ ...POWER, action: 'Migrate', operation: keyOf(operation) }];
      },
      'a VM that its operation changes': (world) => {
        const { metadata } = world.other(SHOP, 'db');
        const operation = world.operation([metadata.name], { action: 'Patch', patch: PATCH });
        return () => [{ ...POWER, action: 'Patch', operation: keyOf(operation) }];
      },
    },
  },
  patchMachineTypes: {
    forged: forgedTypes(({ strangers }) => ({ vms: Object.values(strangers).map(inWords) })),
    honest: {
      'a VM of the old type that its operation is about': (world) => {
        const vm = world.typed(SHOP, 'old-1');
        const operation = world.typesOperation({ names: ['old-1'] });
        return () => [{ ...TYPES, operation: keyOf(operation), vms: [inWords(vm)] }];
      },
    },
  },
  followTransition: {
    forged: forgedTypes(() => FOLLOWS),
    honest: {
      'a VM whose VMI has the old type still': (world) => {
        const operation = world.typesOperationOf('old-1');
        return () => [{ ...TYPES, ...FOLLOWS, operation: keyOf(operation) }];
      },
    },
  },
  clearTransitionLabels: {
    forged: forgedTypes(({ strangers }) => ({ vms: Object.values(strangers).map(inWords) })),
    honest: {
      'the mark of its operation': (world) => {
        const operation = world.typesOperationOf('old-1');
        return () => [{ ...TYPES, operation: keyOf(operation), vms: { allWithin: [SHOP] } }];
      },
    },
  },

  deleteVms: {
    forged: (forgery) =>
      CAUSES.flatMap((cause) =>
        [true, false, null].flatMap((keepDisks) =>
          forEachVm(({ key, target }) => [key, [target], keepDisks, cause])(forgery),
        ),
      ),
    honest: deletions,
  },
  haltVms: {
    forged: (forgery) => CAUSES.flatMap((cause) => forEachVm(({ key, target }) => [key, [target], cause])(forgery)),
    honest: {
      'a VM that is too many': (world) => {
        const pool = world.pool('web', { replicas: 0, ...offline });
        const vm = world.vm(pool, 1);
        return () => [keyOf(pool), [targetOf(vm)], CAUSES[0]];
      },
    },
  },
  releaseVms: {
    forged: (forgery) =>
      [undefined, 'Unmatched', 'Named', 'made up'].flatMap((because) =>
        forEachVm(({ key, target }) => [key, [target], because])(forgery),
      ),
    honest: {
      'a VM of a pool that is deleted without its VMs': (world) => {
        const pool = world.pool('web', {}, { finalizers: [POOL_FINALIZER, ORPHAN_FINALIZER] });
        const vm = world.vm(pool, 1);
        world.server.delete(VirtualMachinePools, pool.metadata);
        return () => [keyOf(pool), [targetOf(vm)]];
      },
      'a VM that a user detaches': (world) => {
        const pool = world.pool('web');
        const vm = world.vm(pool, 1);
        annotated(world, keeping('web-1', vm.metadata.uid));
        return () => [keyOf(pool), [targetOf(vm)], 'Named'];
      },
      'a member whose labels a set no longer selects': (world) => {
        const set = world.set('VirtualMachineReplicaSet', 'rs');
        const vm = world.member('VirtualMachineReplicaSet', set, 'rs-1', { labels: { app: 'another' } });
        return () => [keyOf(set, 'VirtualMachineReplicaSet'), [targetOf(vm)], 'Unmatched'];
      },
    },
  },
  adoptVms: {
    forged: forEachVm(({ key, target }) => [{ kind: 'VirtualMachineReplicaSet', ...key }, [target]]),
    honest: {
      'a VM of nobody that the selector matches': (world) => {
        const set = world.set('VirtualMachineReplicaSet', 'rs');
        const vm = world.other(SHOP, 'rs-1', undefined, { labels: { app: 'rs' } });
        return () => [keyOf(set, 'VirtualMachineReplicaSet'), [targetOf(vm)]];
      },
    },
  },
  removeUnhealthyVm: {
    forged: forEachVm(({ key, target }) => [key, { ...target, ...sick }, 9e15]),
    honest: {
      'a VM whose starts fail': (world) => {
        const pool = world.pool('web', { autohealing: { startupFailureThreshold: 2 } });
        const vm = world.halted(pool, 1, {});
        const failing = world.server.write(VirtualMachines, vm.metadata, (before) => ({
          ...before,
          spec: { ...(before['spec'] as object), runStrategy: 'Always' },
        }));
        const status = { printableStatus: 'CrashLoopBackOff', startFailure: { consecutiveFailCount: 3 } };
        const now = world.server.write(
          VirtualMachines,
          failing.metadata,
          (before) => ({ ...before, status }),
          'status',
        );
        return () => [keyOf(pool), { ...targetOf(now), ...sick, attempt: 1, earlyExits: 0 }, Date.now()];
      },
    },
  },
  annotateRuns: {
    forged: (forgery) =>
      [null, '', 'uid'].flatMap((start) => forEachVm(({ key, target }) => [key, [{ ...target, start }]])(forgery)),
    honest: {
      'a VM that has run': (world) => {
        const pool = world.pool('web');
        const vm = world.vm(pool, 1, { annotations: { [NOT_YET_RUN_ANNOTATION]: '' } });
        return () => [keyOf(pool), [{ ...targetOf(vm), start: null }]];
      },
    },
  },
  setFinalizer: {
    forged: ({ web, api }) => [
      ['a pool that is not deleted', [web, false]],
      ['a pool of no UID', [{ ...web, uid: undefined }, false]],
      ['a pool by the UID of another', [{ ...web, uid: api.uid }, false]],
      ['a pool that has the finalizer', [web, true]],
    ],
    honest: {
      'a pool that is deleted and has no VM left': (world) => {
        const pool = world.pool('web');
        world.server.delete(VirtualMachinePools, pool.metadata);
        return () => [keyOf(pool), false];
      },
      'a new set': (world) => {
        const set = world.set('VirtualMachineReplicaSet', 'rs', { finalizers: [] });
        return () => [keyOf(set, 'VirtualMachineReplicaSet'), true];
      },
    },
  },
  labelVms: {
    forged: forEachVm(({ key, target }) => [key, [target]]),
    honest: {
      'a VM with the record of another pool': (world) => {
        const pool = world.pool('web');
        const vm = world.vm(pool, 1, { annotations: memberOfAnnotation('uid-of-the-earlier-pool', 'web-1', 0) });
        return () => [keyOf(pool), [targetOf(vm)]];
      },
      'a VM that was put into the pool by hand': (world) => {
        const pool = world.pool('web');
        const vm = world.vm(pool, 1, { labels: {} });
        return () => [keyOf(pool), [targetOf(vm)]];
      },
    },
  },
  setRoles: {
    forged: ({ own, web, api }) => [
      ['a VM that is labelled as it is', [web, [targetOf(own)]]],
      ['no VM', [web, []]],
      ['a VM of another pool', [api, [targetOf(own)]]],
      ['a VM of a pool of no UID', [{ ...web, uid: undefined }, [targetOf(own)]]],
    ],
    honest: {
      'a replica that somebody has labelled as extra': (world) => {
        const pool = world.pool('web');
        const vm = world.vm(pool, 1, { labels: { [ROLE_LABEL]: 'Surge' } });
        return () => [keyOf(pool), [targetOf(vm)]];
      },
      'an extra VM that is gone': (world) => {
        const pool = world.pool('web');
        const vm = world.vm(pool, 1, { role: 'Surge' });
        world.server.delete(VirtualMachines, vm.metadata);
        return () => [keyOf(pool), []];
      },
    },
  },
  adoptReturnedVms: {
    forged: (forgery) => [
      ...forEachVm(({ key, target }) => [key, [target], { generation: 1, role: null }])(forgery),
      ...forEachVm(({ key, target }) => [key, [target], { generation: 1, role: 'Standby' }])(forgery),
    ],
    honest: {
      'a VM that a backup has brought back': (world) => {
        const pool = world.pool('web');
        const annotations = memberOfAnnotation('uid-of-the-earlier-pool', 'web-1', 0);
        const vm = world.vm(pool, 1, { ownerReferences: [], annotations });
        return () => [keyOf(pool), [targetOf(vm)], { generation: 1, role: null }];
      },
    },
  },
  recordUid: {
    forged: ({ web }) => [
      ['a pool that was not restored', [web]],
      ['a pool of another UID', [{ ...web, uid: 'another' }]],
      ['a pool of no UID', [{ ...web, uid: undefined }]],
    ],
    honest: {
      'a pool that was restored': (world) => {
        const pool = world.pool('web', {}, { annotations: { [UID_ANNOTATION]: 'another' } });
        return () => [keyOf(pool)];
      },
    },
  },
  unlabelVms: {
    forged: forEachVm(({ key, target }) => [key, [target]]),
    honest: {
      'a VM that was taken out of the pool by hand': (world) => {
        const pool = world.pool('web');
        const vm = world.vm(pool, 1, { ownerReferences: [] });
        return () => [keyOf(pool), [targetOf(vm)]];
      },
    },
  },
  removeDiskFinalizers: {
    forged: forEachVm(({ key, target }) => [key, [target]]),
    honest: {
      'a VM that was taken out of the pool while it was held': (world) => {
        const pool = world.pool('web');
        const vm = world.held(world.vm(pool, 1, { ownerReferences: [], finalizers: [DISKS_FINALIZER] }));
        return () => [keyOf(pool), [targetOf(vm)]];
      },
    },
  },
  promoteStandbyVms: {
    forged: forEachVm(({ key, target }) => [key, [target], 1, {}]),
    honest: {
      'a standby VM of a pool that misses a replica': (world) => {
        const pool = world.pool('web', { replicas: 1, standby: { replicas: 1 } });
        const vm = world.halted(pool, 1, { role: 'Standby' });
        return () => [keyOf(pool), [targetOf(vm)], 1, {}];
      },
    },
  },
  setStandbyState: {
    forged: (forgery) =>
      ['pause', 'start', 'stop'].flatMap((act) => forEachVm(({ key, target }) => [key, [target], act, 1])(forgery)),
    honest: {
      'a standby VM that is to be stopped': (world) => {
        const pool = world.pool('web', { replicas: 0, standby: { replicas: 1, state: 'Stopped' } });
        const vm = world.vm(pool, 1, { role: 'Standby' });
        return () => [keyOf(pool), [targetOf(vm)], 'stop', 1];
      },
    },
  },
  evacuateVms: {
    forged: (forgery) =>
      ['migrate', 'restart'].flatMap((act) =>
        forEachVm(({ key, target }) => [key, [{ ...target, node: 'node-1', act, message: 'made up' }], {}])(forgery),
      ),
    honest: {
      'a VM that is to leave its node': (world) => {
        const pool = world.pool('web', { replicas: 1, drain: { method: 'Restart' } });
        const vm = world.vm(pool, 1);
        world.server.write(Nodes, { name: 'node-1' }, (node) => ({ ...node, spec: { unschedulable: true } }));
        const vmi = world.server.write(VirtualMachineInstances, vm.metadata, (before) => ({
          ...before,
          spec: { ...(before['spec'] as object), evictionStrategy: 'External' },
          status: { ...(before['status'] as object), evacuationNodeName: 'node-1' },
        }));
        const { name } = vm.metadata;
        return () => [keyOf(pool), [{ name, uid: vmi.metadata.uid, node: 'node-1', act: 'restart', message: '' }], {}];
      },
    },
  },
  clearNamedRemovals: {
    forged: forEachVm(({ key, target }) => [key, [target]]),
    honest: {
      'a VM that was named and is gone': (world) => {
        const annotations = { [REMOVE_VMS_ANNOTATION]: '{"web-1":"gone"}' };
        const pool = world.pool('web', {}, { annotations });
        return () => [keyOf(pool), [{ name: 'web-1', uid: 'gone' }]];
      },
    },
  },
  adoptNamedVms: {
    forged: forEachVm(({ key, target }) => [key, [target]]),
    honest: {
      'a VM of no owner that its pool names': (world) => {
        const { name, uid } = world.other(SHOP, 'old').metadata;
        const annotations = { [ADOPT_VMS_ANNOTATION]: JSON.stringify({ [name]: uid }) };
        const pool = world.pool('web', {}, { annotations });
        return () => [keyOf(pool), [{ name, uid }]];
      },
    },
  },
  changeMembers: {
    forged: ({ web, api }) => [
      ['a pool of which nobody asks anything', [web]],
      ['a pool of no UID', [{ ...web, uid: undefined }]],
      ['a pool by the UID of another', [{ ...web, uid: api.uid }]],
    ],
    honest: {
      'a pool that somebody asks to release its VMs': (world) => {
        const request = '{"id":"1","action":"release"}';
        const pool = world.pool('web', {}, { annotations: { [MEMBERSHIP_REQUEST_ANNOTATION]: request } });
        return () => [keyOf(pool)];
      },
    },
  },
  keepReplicas: {
    forged: ({ web, api }) => [
      ['a pool that says how many VMs it wants', [web]],
      ['a pool of no UID', [{ ...web, uid: undefined }]],
      ['a pool by the UID of another', [{ ...web, uid: api.uid }]],
    ],
    honest: {
      'a pool that leaves its number out': (world) => {
        const { replicas: _replicas, ...spec } = world.pool('other').spec;
        const pool = world.server.create(VirtualMachinePools, { metadata: { namespace: SHOP, name: 'web' }, spec });
        return () => [keyOf(pool)];
      },
    },
  },
  createRevision: {
    forged: ({ web }) => [['a pool of no UID', [{ ...web, uid: 'another' }]]],
    honest: {
      'a template that is not kept yet': (world) => {
        const pool = world.pool('web');
        return () => [keyOf(pool)];
      },
    },
  },
  deleteRevisions: {
    forged: ({ web }) => [['the revision that VMs have', [web, [`web-${revision}`]]]],
    honest: {
      'what nothing uses': (world) => {
        const pool = world.pool('web', { revisionHistoryLimit: 0 });
        const old = world.revision(pool, 1, 7);
        return () => [keyOf(pool), [old.metadata.name]];
      },
    },
  },
  deleteKeptDisks: {
    forged: ({ web, own }) => [['no kept disk', [web, [{ name: 'root-1', uid: own.metadata.uid, vm: 'web-1' }]]]],
    honest: {
      'a disk of a pool that keeps none any more': (world) => {
        const pool = world.pool('web');
        const claim = world.keptDisk(pool, 9);
        return () => [keyOf(pool), [{ ...targetOf(claim), vm: 'web-9' }]];
      },
    },
  },
  unlabelKeptDisks: {
    forged: ({ web, own }) => [['no kept disk', [web, [{ ...targetOf(own), name: 'root-1' }]]]],
    honest: {
      'a disk whose VM is back': (world) => {
        const pool = world.pool('web');
        const vm = world.vm(pool, 1);
        const claim = world.keptDisk(pool, 1, 'scale-in', vm);
        return () => [keyOf(pool), [targetOf(claim)]];
      },
    },
  },
  removeVms: {
    forged: (forgery) => [...forEachVm(replacement)(forgery), ...forEachVm(replacementOf('another'))(forgery)],
    honest: {
      'a VM whose disks its pool has replaced': (world) => {
        const { pool, vms, to, from } = world.outdated();
        return () => [updateOf(keyOf(pool), to, { ...targetOf(vms[0]!), act: 'replace', from, wasDown: false })];
      },
    },
  },
  updateVms: {
    forged: (forgery) =>
      ['write', 'live', 'restart', 'replace', 'migrate'].flatMap((act) =>
        forEachVm(({ key, target }) => [
          {
            key,
            n: 1,
            revision,
            rollout: revision,
            vms: [1, 1e9].map((attempt) => ({
              ...target,
              act,
              from: revision,
              wasDown: false,
              ...(act === 'migrate' ? { migration: { vmi: forgery.vmi, attempt } } : {}),
            })),
            startedAt: 0,
            ...ALONE,
          },
        ])(forgery),
      ),
    honest: {
      'a VM of another revision': (world) => {
        const pool = world.pool('web', { replicas: 1, template: aTemplate({ disk: 'root', version: 2 }) });
        const old = world.revision(pool, 1, 1);
        const from = old.metadata.labels!['drover.dev/revision']!;
        const before = { ...pool, spec: { ...pool.spec, template: aTemplate({ disk: 'root', version: 1 }) } };
        const vm = world.vm(before, 1);
        const to = revisionOf(poolTemplate(pool.spec));
        const vms = [{ ...targetOf(vm), act: 'restart', from, wasDown: false }];
        return () => [{ key: keyOf(pool), revision: to, n: 1, rollout: to, vms, startedAt: 0, ...ALONE }];
      },
      'a VM whose pod lacks a label of its template': (world) => {
        const { pool, vm, vmi, to } = world.withOldPod();
        const migration = { vmi: vmi.metadata.uid, attempt: 1 };
        const vms = [{ ...targetOf(vm), act: 'migrate', from: to, wasDown: false, migration }];
        return () => [{ key: keyOf(pool), revision: to, n: 1, rollout: to, vms, startedAt: 0, ...ALONE }];
      },
    },
  },
};
