import fc from 'fast-check';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import type { MemberRole } from '../../../decisions/views/vm.ts';
import type { Hold } from '../holds/hold.ts';
import type { RefusedCall } from '../refusals/refuse.ts';
import type { Evictor } from '../world/kubevirt.ts';
import { budgets, type BudgetHappening } from './budgets.ts';
import { anyMax, anyRollout, anyStandby, anySurge } from './specs.ts';

export type RunStrategy = 'Always' | 'Manual' | 'RerunOnFailure' | 'Once' | 'Halted';

/** What happens to an installation. VMs, workers and pools are given by any number, taken modulo their count. */
export type Happening =
  /** Null: the number is taken out of the manifest, and the spec. */
  | { what: 'scale'; pool: number; replicas: number | null }
  | {
      what: 'template';
      pool: number;
      version: number;
      neverReady: boolean;
      power?: RunStrategy;
      sockets?: number;
      tier?: string;
    }
  | { what: 'rules'; pool: number; spec: Partial<PoolSpec> }
  | { what: 'renew'; pool: number; isOrphaned: boolean }
  /** The namespace is lost, and put back from a backup that was taken this long before (ms). */
  | { what: 'restore'; pool: number; vmsFirst: boolean; agoMs: number; pauseMs: number }
  | { what: 'delete' | 'detach' | 'adopt' | 'stop' | 'start' | 'crash' | 'corrupt' | 'opt out'; vm: number }
  /** A user gives the VM other cores than its template has. */
  | { what: 'edit'; vm: number }
  /** Its spec is put back as it was at its first start, and its labels stay. */
  | { what: 'restore in place'; vm: number }
  /** By `drover rollout restart --drifted`. */
  | { what: 'set right'; pool: number }
  /** A stranger writes the label that says what a VM is in its pool; null: takes it off. */
  | { what: 'label'; vm: number; role: MemberRole | null }
  /** By `kubectl annotate`, `drover scale --remove` and `detach`. */
  | { what: 'protect' | 'unprotect' | 'remove' | 'let go'; vm: number }
  /** Its pod is to be evicted; `fails`: and its migrations fail. */
  | { what: 'evict'; vm: number; fails: boolean; by: Evictor }
  /** KubeVirt, or a tool beside it, works on the VM; or what it was asked by is gone. */
  | { what: Hold; vm: number }
  | { what: 'io error' | 'mend disk'; vm: number }
  /** By virtctl: of whatever migration of the VM is in flight. */
  | { what: 'migrate' | 'abort migration'; vm: number }
  /** By virtctl, and by who works in the VM. */
  | { what: 'restart' | 'pause VMI' | 'unpause VMI' | 'shut down'; vm: number }
  | { what: 'pause' | 'resume' | 'abort' | 'promote' | 'healPause' | 'healResume'; pool: number }
  | { what: 'signal pause' | 'signal resume'; pool: number }
  /** About a VM of the pool that is being healed, and the workflow of its attempt. */
  | { what: 'healNow' | 'healSkip' | 'cancel attempt' | 'terminate attempt'; pool: number }
  | { what: 'restarts'; pool: number; maxUnavailable: number }
  /** By `drover vm start`, and `drover vm stop`. */
  | { what: 'start all' | 'stop all'; pool: number; atOnce: number }
  /** `isUndo`: the last transition that has ended is undone, if there is one. */
  | {
      what: 'machine types';
      glob: string;
      to: string | null;
      restartNow: boolean;
      maxRestarts: number;
      isUndo: boolean;
    }
  | SetHappening
  | BudgetHappening
  /** The API server refuses such calls of workers for a while: about one VM, or about all. */
  | { what: 'refuse'; call: RefusedCall; vm: number; isOfAll: boolean; ms: number }
  /** In Temporal's Web UI: one of all that run. */
  | { what: 'cancel workflow' | 'terminate workflow'; workflow: number }
  /** Temporal knows of a pool what it knew before, or of nothing at all. */
  | { what: 'rewind'; pool: number; run: number }
  | { what: 'lose Temporal' }
  | { what: 'freeze' | 'cut off'; worker: number; ms: number }
  | { what: 'kill'; worker: number };

/** About a set, and one of its members. */
export type SetHappening =
  | { what: 'scale set'; set: number; replicas: number | null }
  | { what: 'pause set'; set: number; paused: boolean }
  | { what: 'set template'; set: number; failsToStart: boolean }
  | { what: 'renew set'; set: number; isOrphaned: boolean }
  | { what: 'relabel' | 'delete member' | 'crash member'; set: number; member: number }
  /** Every member that was released gets its label again. */
  | { what: 'relabel back'; set: number };

const pool = fc.nat(1);
const vm = fc.nat(9);
const worker = fc.nat(2);
const replicas = fc.option(fc.integer({ min: 0, max: 8 }), { freq: 6 });

const wishes: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({ what: fc.constant('scale'), pool, replicas }),
  fc.record({
    what: fc.constant('template'),
    pool,
    version: fc.integer({ min: 2, max: 6 }),
    neverReady: fc.oneof({ arbitrary: fc.constant(false), weight: 3 }, { arbitrary: fc.constant(true), weight: 1 }),
  }),
);
const rules: fc.Arbitrary<Happening> = fc.record({
  what: fc.constant('rules'),
  pool,
  spec: fc.oneof(
    fc.record({ maxUnavailable: anyMax }),
    fc.record({ paused: fc.boolean() }),
    fc.record({ rollout: anyRollout }),
    fc.record({ standby: anyStandby }),
  ),
});
const people: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({ what: fc.constantFrom('delete', 'detach', 'adopt', 'stop', 'start', 'opt out'), vm }),
  fc.record({
    what: fc.constantFrom('protect', 'unprotect', 'remove', 'let go', 'edit', 'edit', 'restore in place'),
    vm,
  }),
  fc.record({ what: fc.constant('set right'), pool }),
  fc.record({ what: fc.constantFrom('pause', 'resume', 'abort', 'promote', 'healPause', 'healResume'), pool }),
  fc.record({ what: fc.constantFrom('signal pause', 'signal resume'), pool }),
  fc.record({ what: fc.constantFrom('healNow', 'healSkip', 'cancel attempt', 'terminate attempt'), pool }),
  fc.record({ what: fc.constant('restarts'), pool, maxUnavailable: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ what: fc.constantFrom('start all', 'stop all'), pool, atOnce: fc.integer({ min: 1, max: 3 }) }),
);
const transitions: fc.Arbitrary<Happening> = fc.record({
  what: fc.constant('machine types'),
  glob: fc.constantFrom('*', '*rhel8*', 'q35'),
  to: fc.constantFrom('pc-q35-rhel9.4.0', 'pc-q35-rhel9.8.0', null),
  restartNow: fc.oneof({ arbitrary: fc.constant(true), weight: 3 }, { arbitrary: fc.constant(false), weight: 1 }),
  maxRestarts: fc.integer({ min: 1, max: 3 }),
  isUndo: fc.constantFrom(false, false, true),
});
/** Templates that differ in what takes a restart, in what running VMIs take, or in whether VMs run at all. */
const powers: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('template'),
      pool,
      version: fc.integer({ min: 1, max: 2 }),
      neverReady: fc.oneof({ arbitrary: fc.constant(false), weight: 5 }, { arbitrary: fc.constant(true), weight: 1 }),
      power: fc.constantFrom<RunStrategy>('Always', 'Always', 'Always', 'Manual', 'RerunOnFailure', 'Once', 'Halted'),
      sockets: fc.integer({ min: 1, max: 3 }),
      tier: fc.constantFrom('silver', 'gold'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constantFrom('restart', 'shut down', 'pause VMI', 'unpause VMI', 'stop', 'start', 'crash'),
      vm,
    }),
  },
);
const labels: fc.Arbitrary<Happening> = fc.record({
  what: fc.constant('label'),
  vm,
  role: fc.constantFrom<MemberRole | null>('Surge', 'Standby', null),
});
const accidents: fc.Arbitrary<Happening> = fc.record({ what: fc.constantFrom('crash', 'corrupt'), vm });
const evictions: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('evict'),
      vm,
      fails: fc.oneof({ arbitrary: fc.constant(false), weight: 3 }, { arbitrary: fc.constant(true), weight: 1 }),
      by: fc.constantFrom<Evictor>('drain', 'drain', 'drain', 'descheduler', 'somebody'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constantFrom('migrate', 'abort migration'), vm }) },
);
const holds: fc.Arbitrary<Happening> = fc.record({
  what: fc.constantFrom<Hold | 'io error' | 'mend disk'>(
    'snapshot',
    'snapshot',
    'end snapshot',
    'lose snapshot',
    'back up',
    'end backup',
    'io error',
    'mend disk',
  ),
  vm,
});
const faults: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({ what: fc.constantFrom('freeze', 'cut off'), worker, ms: fc.constantFrom(3_000, 30_000, 120_000) }),
  fc.record({ what: fc.constant('kill'), worker }),
);
const refusals: fc.Arbitrary<Happening> = fc.record({
  what: fc.constant('refuse'),
  call: fc.constantFrom('delete', 'delete', 'write', 'subresource'),
  vm,
  isOfAll: fc.boolean(),
  ms: fc.constantFrom(30_000, 120_000),
});
const set = fc.nat(1);
const member = fc.nat(9);
const sets: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constantFrom('relabel', 'delete member', 'delete member', 'crash member'),
      set,
      member,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ what: fc.constant('scale set'), set, replicas }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('relabel back'), set }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('pause set'), set, paused: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('set template'), set, failsToStart: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('renew set'), set, isOrphaned: fc.boolean() }) },
);
const ends: fc.Arbitrary<Happening> = fc.record({
  what: fc.constantFrom('cancel workflow', 'terminate workflow'),
  workflow: fc.nat(9),
});
const rewinds: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constant('rewind'), pool, run: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('lose Temporal') }) },
);
const renewals: fc.Arbitrary<Happening> = fc.record({ what: fc.constant('renew'), pool, isOrphaned: fc.boolean() });

const restores: fc.Arbitrary<Happening> = fc.record({
  what: fc.constant('restore'),
  pool,
  vmsFirst: fc.boolean(),
  agoMs: fc.constantFrom(0, 5_000, 200_000),
  pauseMs: fc.constantFrom(10, 3_000, 30_000),
});

const surges: fc.Arbitrary<Happening> = fc.record({
  what: fc.constant('rules'),
  pool,
  spec: fc.oneof(anySurge, fc.constant({ maxSurge: 0, maxUnavailable: 1 })),
});

/** Each kind by its name. */
export const kinds = {
  wishes,
  powers,
  rules,
  people,
  transitions,
  accidents,
  labels,
  evictions,
  holds,
  faults,
  renewals,
  restores,
  sets,
  budgets,
  surges,
  refusals,
  ends,
  rewinds,
};
