import type { Disruption } from '../../api/pool/pool.ts';
import { excluded, blockedNeed, NOTHING, type Deferred, type Need } from '../disruption/need.ts';
import { isMeantToRun, liveVmi, activeVmi, runsByItself, type VmiOf } from '../health/availability.ts';
import type { UpdateAct } from '../owners/batch.ts';
import type { ContentChange } from '../template/content.ts';
import { recreatedDisks } from '../template/disk-template.ts';
import type { PoolTemplate } from '../template/template.ts';
import { numberOf } from '../template/vm-names.ts';
import { powerOf } from '../views/power.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import {
  disruptionBetween,
  exceeds,
  hasSameClaims,
  isAppliedAtOnce,
  startsOrStops,
  waitsForRestart,
  type KubeVirtPlugs,
} from './disruption.ts';
import { isLiveRefused, keptUntilRestart, liveRefusal } from './live-update.ts';
import type { PodAct } from './pod-act.ts';
import { isStartedFrom, otherLabel } from './started-from.ts';

/** What a VM needs to reach a revision. */
export type UpdateNeed = Need<{
  act: UpdateAct;
  /** What the VMI has read as it started has changed since. */
  change?: ContentChange;
  setsRight?: true;
  /** Only its pod lacks something. */
  forPod?: true;
}>;

export interface RolloutTarget {
  revision: string;
  template: PoolTemplate;
  /** Template of a revision; undefined if it is no longer kept. */
  templateOf: (revision: string) => PoolTemplate | undefined;
  /** The strategy that the pool assumes, and the strategy that KubeVirt follows. */
  strategy: 'Stage' | 'LiveUpdate';
  clusterStrategy: 'Stage' | 'LiveUpdate';
  /** What KubeVirt plugs into VMIs that run; absent if that is unknown, and all is assumed. */
  plugs?: KubeVirtPlugs;
  /**
   * Template of a revision with what its instance type and preference stand for in their place; undefined if it has
   * none, or KubeVirt has not answered. Absent if it was not asked.
   */
  expandedOf?: (revision: string) => PoolTemplate | undefined;
  /** What has changed since the VMI has read it as it started; null if nothing has. */
  changeFor: (vm: VmView, vmi: VmiView) => ContentChange | null;
  /** How a VM of the revision gets a new pod by the pool's rules; null, or absent, if it needs none or gets none. */
  podActFor?: (vm: VmView, vmi: VmiView) => PodAct | null;
  /** What correcting the drift of a VM needs; null, or absent, if that is not wanted. */
  correction?: (vm: VmView) => Disruption | null;
  /** The most disruption allowed for a running VM; null if only stopped VMs may be touched. */
  limit: Disruption | null;
}

/** Compares what the VM's spec and its VMI were made from with the target. */
export function updateNeed(vm: VmView, vmiOf: VmiOf, target: RolloutTarget): UpdateNeed {
  const wanted = withPod(withChange(needOf(vm, vmiOf, target), vm, vmiOf, target), vm, vmiOf, target);
  return (wanted.need === 'act' ? blockedNeed(vm, liveVmi(vmiOf(vm))) : null) ?? wanted;
}

/** Any other update comes first: it may give the VMI another pod. */
function withPod(wanted: Wanted, vm: VmView, vmiOf: VmiOf, { podActFor }: RolloutTarget): Wanted {
  const vmi = activeVmi(vm, vmiOf(vm));
  const act = wanted.need === 'nothing' && vmi !== undefined ? (podActFor?.(vm, vmi) ?? null) : null;
  if (act === null) return wanted;
  return act === 'restart' && hasForeignName(vm) ? excluded(FOREIGN_NAME) : { need: 'act', act, forPod: true };
}

/** If a VMI restarts because of a changed Secret or ConfigMap, it also takes the new spec. */
function withChange(wanted: Wanted, vm: VmView, vmiOf: VmiOf, target: RolloutTarget): Wanted {
  const vmi = activeVmi(vm, vmiOf(vm));
  const isCovered = wanted.need === 'act' && (wanted.act === 'restart' || wanted.act === 'replace');
  const change = vmi === undefined || isCovered ? null : target.changeFor(vm, vmi);
  if (change === null) return wanted;
  if (wanted.need === 'nothing' && hasForeignName(vm)) return excluded(FOREIGN_NAME);
  if (target.limit !== null && !exceeds('Restart', target.limit))
    return wanted.need === 'excluded' ? wanted : { ...wanted, need: 'act', act: 'restart', change };
  return wanted.need === 'nothing' ? excluded(`it has started before ${change.what} changed`) : wanted;
}

/** What a VM needs, even if it can't be touched now. */
type Wanted = Exclude<UpdateNeed, Deferred>;

function needOf(vm: VmView, vmiOf: VmiOf, target: RolloutTarget): Wanted {
  const vmi = activeVmi(vm, vmiOf(vm));
  const correction = target.correction?.(vm) ?? null;
  if (correction === null && vm.revision === target.revision && (vmi === undefined || vmi.revision === target.revision))
    return vmi === undefined ? NOTHING : needOfCurrent(vm, vmi, target);
  if (hasForeignName(vm)) return excluded(FOREIGN_NAME);
  if (correction === null && vm.revision === target.revision && vmi !== undefined && isStartedFrom(vm, vmi))
    return excluded(otherLabel(vmi));
  if (disruptionFrom(vm.revision, target) === 'Replace') return needOfReplacement(vm, vmiOf, target);
  if (vmi === undefined) {
    const comesUp = isMeantToRun(vm, vmiOf(vm)) || (hasNewPower(vm, target) && runsByItself(target.template));
    return acting(comesUp && target.limit !== null ? 'restart' : 'write', correction);
  }
  return hasLimit(target) ? needOfRunning(vm, vmi, target, correction) : ahead(vm, vmi, target);
}

/** A live update that was taken back in its middle leaves a VMI with more than its revision says. */
function needOfCurrent(vm: VmView, vmi: VmiView, target: RolloutTarget): Wanted {
  const kept = keptUntilRestart(vm, vmi, expanded(target.revision, target)!);
  return kept === null
    ? NOTHING
    : excluded(
        `it waits for a restart: its VMI has got ${kept} meanwhile, which KubeVirt takes back only at a restart`,
      );
}

const hasLimit = (target: RolloutTarget): target is LimitedTarget => target.limit !== null;
type LimitedTarget = RolloutTarget & { limit: Disruption };

function needOfRunning(vm: VmView, vmi: VmiView, target: LimitedTarget, correction: Disruption | null): Wanted {
  if (correction === 'Replace') return excluded('its disks would have to be replaced to correct it');
  const disruption = vmiDisruption(vm, vmi, target, correction);
  // Writing the spec would be enough to set these off.
  if (hasNewPower(vm, target) && powerOf(target.template.spec) === 'Halted') {
    if (exceeds('Restart', target.limit)) return excluded('it would be stopped, which the pool does not allow');
    return acting('restart', correction);
  }
  if (disruption === 'Live' && exceeds(disruption, target.limit))
    return excluded('it would be updated while it runs, which the pool does not allow');
  return atMost(disruption, vm, vmi, target, correction);
}

const FOREIGN_NAME = "its name does not match the pool's naming scheme";

const hasForeignName = ({ owner, name }: VmView): boolean => owner !== null && numberOf(owner.name, name) === null;

const acting = (act: UpdateAct, correction: Disruption | null): Extract<UpdateNeed, { need: 'act' }> => ({
  need: 'act',
  act,
  ...(correction === null ? {} : { setsRight: true }),
});

function needOfReplacement(vm: VmView, vmiOf: VmiOf, target: RolloutTarget): Wanted {
  if (target.limit === null || exceeds('Replace', target.limit)) {
    const disks = formatDisks(vm, target);
    return excluded(`its disks would have to be replaced, which the pool does not allow${disks}`);
  }
  // A halted VM's replacement stays halted.
  const staysAsItIs = isMeantToRun(vm, vmiOf(vm)) || vm.runStrategy === 'Halted' || !runsByItself(target.template);
  return staysAsItIs ? { need: 'act', act: 'replace' } : excluded('it has ended, and the VM in its place would run');
}

const WAITS_FOR_RESTART = 'it waits for a restart, which the pool leaves to users';

/**
 * The next VMI may start before drover observes that the previous one has stopped. So the spec is written while a VMI
 * runs, if that does not affect the VMI.
 */
function ahead(vm: VmView, vmi: VmiView, target: RolloutTarget): Wanted {
  if (vm.revision === target.revision)
    return excluded(vmi.revision === target.revision ? 'it runs, and is corrected when it stops' : WAITS_FOR_RESTART);
  // Disks are made, and detached, with the VM that has them.
  const before = [vm.revision, vmi.revision].map((revision) => expanded(revision, target));
  const keepsDisks = before.every((from) => from !== undefined && hasSameClaims(from, target.template));
  return keepsDisks && isUndisturbed(vm, vmi, target)
    ? { need: 'act', act: 'write' }
    : excluded('it runs, and is updated when it stops');
}

/** Reports whether the VMI that runs stays as it is when its VM gets the new spec. */
const isUndisturbed = (vm: VmView, vmi: VmiView, target: RolloutTarget): boolean =>
  [vm.revision, vmi.revision].every((revision) => {
    if (revision === target.revision) return true;
    const [from, to] = [expanded(revision, target), expanded(target.revision, target)!];
    return from !== undefined && (waitsForRestart(from, to, target.clusterStrategy) || isRefused(vm, vmi, from, to));
  });

/**
 * KubeVirt changes nothing in a VMI that needs a restart, or that has no room for what alone would change in it. What a
 * template of before has made it need may be over with this one.
 */
const isRefused = (vm: VmView, vmi: VmiView, from: PoolTemplate, to: PoolTemplate): boolean =>
  !isAppliedAtOnce(from, to) &&
  ((vm.restartRequired !== null && vm.revision === vmi.revision) || isLiveRefused(to, vmi, from));

/** The template of a revision, as KubeVirt makes VMIs from it; undefined if it is lost. */
function expanded(revision: string | null, { revision: to, template, templateOf, expandedOf }: RolloutTarget) {
  if (revision === null) return undefined;
  return expandedOf?.(revision) ?? (revision === to ? template : templateOf(revision));
}

function formatDisks({ revision }: VmView, { template, templateOf }: RolloutTarget): string {
  const from = revision === null ? undefined : templateOf(revision);
  return from === undefined ? '' : ` (${recreatedDisks(from, template).join('; ')})`;
}

/**
 * A VM whose update exceeds the limit waits for a restart by another client. Its spec is written all the same, unless
 * KubeVirt would begin to change the VMI for that.
 */
function atMost(
  disruption: Disruption,
  vm: VmView,
  vmi: VmiView,
  target: LimitedTarget,
  correction: Disruption | null,
): Wanted {
  const { limit, revision } = target;
  if (disruption === 'None') return acting('write', correction);
  if (!exceeds(disruption, limit)) return acting(disruption === 'Live' ? 'live' : 'restart', correction);
  if (vm.revision === revision && correction === null) return excluded(WAITS_FOR_RESTART);
  const isLost = expanded(vmi.revision, target) === undefined;
  return correction !== null || isLost || isUndisturbed(vm, vmi, target)
    ? acting('write', correction)
    : excluded('KubeVirt would begin to change it while it runs: it is updated when it stops');
}

/** What the VMI needs, by what it was started from and by what its VM has drifted to. */
function vmiDisruption(
  vm: VmView,
  vmi: VmiView,
  target: RolloutTarget,
  correction: Disruption | null,
): Exclude<Disruption, 'Replace'> {
  const update = disruptionFrom(vmi.revision, target);
  const disruption = correction !== null && exceeds(correction, update) ? correction : update;
  if (disruption !== 'Live') return disruption === 'Replace' ? 'Restart' : disruption;
  // Fields that the template leaves as they were may have been changed by a user, and stay; corrected ones do not.
  const from = correction !== null ? undefined : expanded(vmi.revision, target);
  // KubeVirt withholds every live update while another change waits for a restart.
  const isRefused = liveRefusal(expanded(target.revision, target)!, vmi, from) !== null;
  return vm.restartRequired !== null || isRefused ? 'Restart' : 'Live';
}

/** Thousands of VMs come from a few revisions: each revision is compared with the target once. */
const disruptions = new WeakMap<RolloutTarget, Map<string | null, Disruption>>();

function disruptionFrom(revision: string | null, target: RolloutTarget): Disruption {
  const known = disruptions.get(target) ?? new Map<string | null, Disruption>();
  disruptions.set(target, known);
  const disruption = known.get(revision) ?? compare(revision, target);
  known.set(revision, disruption);
  return disruption;
}

function compare(revision: string | null, target: RolloutTarget): Disruption {
  if (revision === target.revision) return 'None';
  const [from, to] = [expanded(revision, target), expanded(target.revision, target)!];
  return from === undefined ? 'Restart' : disruptionBetween(from, to, target.strategy, target.plugs);
}

/** Reports whether the change gives the VM another run strategy: one set by a user stays. */
function hasNewPower(vm: VmView, { template, templateOf }: RolloutTarget): boolean {
  const from = vm.revision === null ? undefined : templateOf(vm.revision);
  return from !== undefined && startsOrStops(from, template) && vm.runStrategy === (powerOf(from.spec) ?? 'Halted');
}
