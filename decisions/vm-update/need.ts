import type { Disruption } from '../../api/pool/pool.ts';
import { disksMadeAnew } from '../disks/disk-template.ts';
import { isMeantToRun, liveVmi, activeVmi, runsByItself, type VmiOf } from '../disruption-budget/availability.ts';
import type { PoolTemplate } from '../pool/template.ts';
import { numberOf } from '../pool/vm-names.ts';
import type { UpdateAct } from '../rollout/batch.ts';
import { powerOf } from '../views/run-strategy.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { disruptionBetween, exceeds, startsOrStops, waitsForRestart } from './disruption.ts';
import { liveRefusal } from './live-update.ts';

/** What a VM needs to reach a revision. */
export type UpdateNeed =
  | { need: 'nothing' }
  | { need: 'act'; act: UpdateAct }
  /** It can't be taken now, and the rollout waits for it. */
  | { need: 'later'; why: string }
  /** It is left as it is, because its owner or the pool's rules want that. */
  | { need: 'left'; why: string };

export interface Goal {
  revision: string;
  template: PoolTemplate;
  /** Template of a revision; undefined if it is no longer kept. */
  templateOf: (revision: string) => PoolTemplate | undefined;
  /** The strategy that the pool assumes, and the one that KubeVirt follows. */
  strategy: 'Stage' | 'LiveUpdate';
  clusterStrategy: 'Stage' | 'LiveUpdate';
  /** The most disruption allowed for a running VM; null if only stopped VMs may be touched. */
  limit: Disruption | null;
}

/** Compares what the VM's spec and its guest were made from with the goal. */
export function updateNeed(vm: VmView, vmiOf: VmiOf, goal: Goal): UpdateNeed {
  const wanted = needOf(vm, vmiOf, goal);
  const hindrance = wanted.need === 'act' ? untouchable(vm, vmiOf) : undefined;
  return hindrance === undefined ? wanted : { need: hindrance.isWish ? 'left' : 'later', why: hindrance.why };
}

/** What the VM needs, even if it can't be touched now. */
function needOf(vm: VmView, vmiOf: VmiOf, goal: Goal): Exclude<UpdateNeed, { need: 'later' }> {
  const guest = activeVmi(vm, vmiOf(vm));
  if (vm.revision === goal.revision && (guest === undefined || guest.revision === goal.revision))
    return { need: 'nothing' };
  if (vm.owner !== null && numberOf(vm.owner.name, vm.name) === null)
    return { need: 'left', why: 'its name is none that the pool gives' };
  const stored = disruptionFrom(vm.revision, goal);
  if (stored === 'Replace') {
    if (goal.limit === null || exceeds(stored, goal.limit))
      return {
        need: 'left',
        why: `its disks would have to be replaced, which the pool does not allow${disksInWords(vm, goal)}`,
      };
    // A halted VM's replacement stays halted.
    const staysAsItIs = isMeantToRun(vm, vmiOf(vm)) || vm.runStrategy === 'Halted' || !runsByItself(goal.template);
    return staysAsItIs
      ? { need: 'act', act: 'replace' }
      : { need: 'left', why: 'it has ended, and the VM in its place would run' };
  }
  if (guest === undefined) {
    const comesUp = isMeantToRun(vm, vmiOf(vm)) || (isPoweredAnew(vm, goal) && runsByItself(goal.template));
    return { need: 'act', act: comesUp && goal.limit !== null ? 'restart' : 'write' };
  }
  if (goal.limit === null) return ahead(vm, guest, goal);

  const disruption = vmiDisruption(vm, guest.revision, vmiOf, goal);
  // Writing the spec would be enough to set these off.
  if (isPoweredAnew(vm, goal) && powerOf(goal.template.spec) === 'Halted') {
    if (exceeds('Restart', goal.limit))
      return { need: 'left', why: 'it would be stopped, which the pool does not allow' };
    return { need: 'act', act: 'restart' };
  }
  if (disruption === 'Live' && exceeds(disruption, goal.limit)) {
    return { need: 'left', why: 'it would be updated while it runs, which the pool does not allow' };
  }
  return atMost(disruption, vm, goal);
}

const WAITS_FOR_RESTART = 'it waits for a restart, which the pool leaves to people';

/**
 * The next guest may start before anybody has seen the last one stop. So the VM's spec is written while a guest runs,
 * if that does not affect the guest.
 */
function ahead(vm: VmView, guest: VmiView, goal: Goal): ReturnType<typeof needOf> {
  if (vm.revision === goal.revision) return { need: 'left', why: WAITS_FOR_RESTART };
  const waits = [vm.revision, guest.revision].every((revision) => {
    const from = revision === null ? undefined : goal.templateOf(revision);
    return (
      revision === goal.revision || (from !== undefined && waitsForRestart(from, goal.template, goal.clusterStrategy))
    );
  });
  return waits ? { need: 'act', act: 'write' } : { need: 'left', why: 'it runs, and is updated when it stops' };
}

function disksInWords({ revision }: VmView, { template, templateOf }: Goal): string {
  const from = revision === null ? undefined : templateOf(revision);
  return from === undefined ? '' : ` (${disksMadeAnew(from, template).join('; ')})`;
}

/** A VM whose update exceeds the limit waits for a restart by somebody else; its spec is written all the same. */
function atMost(disruption: Disruption, vm: VmView, { limit, revision }: Goal): ReturnType<typeof needOf> {
  if (disruption === 'None') return { need: 'act', act: 'write' };
  if (limit !== null && !exceeds(disruption, limit))
    return { need: 'act', act: disruption === 'Live' ? 'live' : 'restart' };
  if (vm.revision === revision) return { need: 'left', why: WAITS_FOR_RESTART };
  return { need: 'act', act: 'write' };
}

function vmiDisruption(vm: VmView, revision: string | null, vmiOf: VmiOf, goal: Goal): Disruption {
  const disruption = disruptionFrom(revision, goal);
  if (disruption !== 'Live') return disruption === 'Replace' ? 'Restart' : disruption;
  // KubeVirt withholds every live update while another change waits for a restart.
  return vm.restartRequired !== null || liveRefusal(goal.template, vmiOf(vm)!) !== null ? 'Restart' : 'Live';
}

/** Thousands of VMs come from a few revisions: each revision is compared with the goal once. */
const disruptions = new WeakMap<Goal, Map<string | null, Disruption>>();

function disruptionFrom(revision: string | null, goal: Goal): Disruption {
  const known = disruptions.get(goal) ?? new Map<string | null, Disruption>();
  disruptions.set(goal, known);
  const disruption = known.get(revision) ?? compare(revision, goal);
  known.set(revision, disruption);
  return disruption;
}

function compare(revision: string | null, { template, templateOf, strategy, revision: to }: Goal): Disruption {
  if (revision === to) return 'None';
  const from = revision === null ? undefined : templateOf(revision);
  return from === undefined ? 'Restart' : disruptionBetween(from, template, strategy);
}

/** Reports whether the change gives the VM another run strategy: one set by a person stays. */
function isPoweredAnew(vm: VmView, { template, templateOf }: Goal): boolean {
  const from = vm.revision === null ? undefined : templateOf(vm.revision);
  return from !== undefined && startsOrStops(from, template) && vm.runStrategy === (powerOf(from.spec) ?? 'Halted');
}

/**
 * Returns why the VM must not be touched now, or undefined. `isWish`: its owner wants that, so it lasts; other states
 * pass.
 */
export function untouchable(vm: VmView, vmiOf: VmiOf): { why: string; isWish: boolean } | undefined {
  if (vm.optedOut) return { why: 'its owner asked that nothing disrupts it', isWish: true };
  if (vm.runStrategy === 'WaitAsReceiver') return { why: 'it receives a migration', isWish: false };
  if (vm.snapshotting) return { why: 'a snapshot of it is taken or restored', isWish: false };
  const vmi = liveVmi(vmiOf(vm));
  if (vmi?.paused === true) return { why: 'it is paused', isWish: false };
  if (vmi?.migrating === true) return { why: 'it migrates', isWish: false };
  return undefined;
}
