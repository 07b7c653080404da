import type { DrainRules } from '../../api/rules/pool-defaults.ts';
import { shouldBeginBy, whyMigrating, whyNotBegun } from '../disruption/migration.ts';
import { deferred, NOTHING, type Deferred, type Excluded, type Need } from '../disruption/need.ts';
import { migrationOverdueAt } from '../disruption/overdue.ts';
import { isPausedByPerson } from '../disruption/pause.ts';
import { isLasting, reasonsOf, type Reason } from '../disruption/reasons.ts';
import { isActive, isMeantToRun, isRestarting, servesNobody } from '../health/availability.ts';
import { earlier } from '../lib/earlier-and-later.ts';
import { rfc3339 } from '../lib/time.ts';
import type { EvacuationAct } from '../owners/steps.ts';
import { isEvacuating, type Evacuation } from '../views/evacuation.ts';
import type { VmView } from '../views/vm.ts';
import { canBeMigrated, type VmiView } from '../views/vmi.ts';
import { departureOf, isStarting, nodeToLeave } from './departure.ts';
import { delayAfter, FORGOTTEN_MS, type RefusedEvacuation } from './refusals.ts';

/** What a VM needs, for its VMI to leave a node that is drained. */
export type EvacuationNeed =
  | Exclude<Need<Evacuate>, Deferred | Excluded>
  /** It is on its way. `until`: when this takes too long, in milliseconds since the epoch. */
  | { need: 'underway'; message: string; until: number | null }
  | DeferredEvacuation;

interface Evacuate {
  act: EvacuationAct;
  /** Only within the budget. */
  needsBudget: boolean;
  /** drover has tried before. */
  isBegun: boolean;
  /** Its node is not drained, so VMs that must leave come first. */
  isWish: boolean;
  message: string;
  /** The message about it if the last try was refused. */
  refused: DeferredEvacuation | null;
}

/** `isStuck`: it may wait forever. A drain excludes nothing: a waiting VM keeps its node from being empty. */
type DeferredEvacuation = Deferred & { isStuck: boolean };

export interface EvacuationInput {
  vm: VmView;
  vmi: VmiView | undefined;
  rules: DrainRules;
  refusal: RefusedEvacuation | undefined;
  /** Milliseconds since the epoch. */
  now: number;
}

/** After this many failed migrations in a row, a VM is restarted instead. */
const MAX_FAILURES = 3;

/**
 * How long the pod of a VMI may take to come up on a node that is cordoned. KubeVirt refuses its eviction until then,
 * and does not say that it was asked for.
 */
const START_MS = 60_000;

/** How often other nodes are looked at: no change of theirs concerns the VM's pool. */
const NODES_AGAIN_MS = 60_000;

/** Returns what is to be done to have the VM leave its node, whatever budget and windows say. */
export function evacuationNeed(input: EvacuationInput): EvacuationNeed {
  const { vm, vmi } = input;
  const departure = departureOf(vmi);
  if (vmi === undefined || departure === null || !isActive(vm)) return NOTHING;
  if (departure === 'CalledOff' && !isEvacuating(vmi))
    return waits(
      `its evacuation from ${nodeToLeave(vmi)} was requested, but the node is not drained: \`virtctl evacuate-cancel vmi NAME\` cancels the request`,
    );
  const isPast = input.now >= deadlineOf(input);
  const blocked = whyNot(vm, vmi);
  const isLate = isNotBegun(vmi, input.now);
  if (isLate && (blocked !== null || !isRestartedInstead(input, vmi, isPast))) return cancel(vmi);
  if (isEvacuating(vmi) && !isLate && !(isPast && mayRestart(input, vmi))) return migrating(input, vmi, isPast);
  if (blocked !== null) return blocked;
  if (!isEvacuating(vmi) && vmi.migration !== null) {
    const until = migrationOverdueAt(vmi.migration);
    return waits(whyMigrating(vmi.migration), until > input.now ? { until } : { isStuck: true });
  }
  const until = vmi.createdAt + START_MS;
  if (isStarting(vmi) && until > input.now) return waits(`it is starting (${vmi.whyNotReady ?? vmi.phase})`, { until });
  return actOn(input, vmi, isPast);
}

const isNotBegun = (vmi: VmiView, now: number): boolean => (shouldBeginBy(vmi) ?? Infinity) <= now;

/** KubeVirt may just be busy, or down: without a migration that it has begun, no deadline passes. */
const isRestartedInstead = (input: EvacuationInput, vmi: VmiView, isPast: boolean): boolean =>
  isPast && departureOf(vmi) === 'Drain' && mayRestart(input, vmi);

/**
 * A restart would end what a user keeps by a pause. On a node that does not answer nothing can end, and what was asked
 * to end there would do so when the node is back, although its guest may have run all the time. Where no other node
 * takes the VM, it would stay down, and use up the budget of the others.
 */
export const mayRestart = ({ vm, rules }: Pick<EvacuationInput, 'vm' | 'rules'>, vmi: VmiView): boolean =>
  rules.method !== 'Migrate' && !isPausedByPerson(vm, vmi) && !vmi.nodeLost && whyUnplaced(vmi) === null;

const cancel = (vmi: VmiView): EvacuationNeed => {
  const message = whyNotBegun(vmi);
  return {
    need: 'act',
    act: 'cancel',
    message,
    needsBudget: false,
    isBegun: true,
    isWish: false,
    refused: waits(message),
  };
};

const waits = (message: string, { isStuck = false, until = null as number | null } = {}): DeferredEvacuation => ({
  ...deferred(message, until),
  isStuck,
});

/**
 * When migrations have taken too long; in milliseconds since the epoch. Never, if KubeVirt has not begun any, or the
 * VM's node is not drained and need not become empty.
 */
function deadlineOf({ vmi, rules, refusal, now }: EvacuationInput): number {
  if (departureOf(vmi) !== 'Drain') return Infinity;
  const since = Math.min(triesInARow(vmi, now)?.since ?? Infinity, refusal?.since ?? Infinity);
  return since + rules.deadlineSeconds * 1000;
}

/** What drover has tried since the VM last moved, or was last to move; null if nothing. */
export function triesInARow(vmi: Pick<VmiView, 'evacuation'> | undefined, now: number): Evacuation | null {
  const evacuation = vmi?.evacuation ?? null;
  if (evacuation === null || evacuation.state === 'Succeeded') return null;
  return (evacuation.endedAt ?? now) + FORGOTTEN_MS > now ? evacuation : null;
}

/** Which migration in a row the next one is, or the one in flight: a VM that has moved begins anew. */
export const tryOf = (tried: Evacuation | null): number => (tried?.ended ?? 0) + 1;

function migrating(input: EvacuationInput, vmi: VmiView, isPast: boolean): EvacuationNeed {
  const { since } = vmi.evacuation!;
  const attempt = tryOf(vmi.evacuation);
  const deadline = deadlineOf(input);
  if (isPast)
    return waits(`migration ${attempt} has taken longer than ${input.rules.deadlineSeconds} s`, { isStuck: true });
  const message = since === null ? `waits for KubeVirt to begin migration ${attempt}` : `migrates (attempt ${attempt})`;
  return { need: 'underway', message, until: earlier(Number.isFinite(deadline) ? deadline : null, shouldBeginBy(vmi)) };
}

/** Reasons for which a drain has its own rules: a VM that a user has paused may migrate. */
const OWN_RULES: ReadonlySet<Reason['kind']> = new Set(['Paused', 'Evacuates', 'Migrates']);

/** The owner's settings take precedence, and operations by KubeVirt or other controllers are not interrupted. */
function whyNot(vm: VmView, vmi: VmiView): EvacuationNeed | null {
  if (!isMeantToRun(vm, vmi)) return { need: 'underway', message: 'is being stopped', until: null };
  if (isRestarting(vm, vmi)) return { need: 'underway', message: 'restarts', until: null };
  const kept = whyKept(vm, vmi);
  return kept === null ? null : waits(kept.message, kept);
}

/** Returns why an eviction must neither move the VM nor end it now. `isStuck`: only a user takes that away. */
export function whyKept(vm: VmView, vmi: VmiView): { message: string; isStuck: boolean } | null {
  const reason = reasonsOf(vm, vmi).find(({ kind }) => !OWN_RULES.has(kind));
  if (reason === undefined) return null;
  return { message: reason.message, isStuck: isLasting(reason) };
}

function actOn(input: EvacuationInput, vmi: VmiView, isPast: boolean): EvacuationNeed {
  const { vm, refusal, now } = input;
  const isWish = departureOf(vmi) === 'Wish';
  const { act, message } = isWish ? wishOf(input, vmi) : choiceOf(input, vmi, isPast);
  if (act === 'none') return waits(message, { isStuck: !isWish, until: now + NODES_AGAIN_MS });
  const tried = triesInARow(vmi, now);
  // What is done changes when the deadline passes.
  const soonest = isPast ? Infinity : deadlineOf(input);
  const refused = refusal === undefined ? null : afterRefusal(refusal, soonest, isPast);
  if (refused !== null && refusal!.notBefore > now) return refused;
  const again = tried === null ? 0 : (tried.endedAt ?? 0) + delayAfter(tried.ended);
  if (act === 'migrate' && again > now)
    return waits(`its migration has failed${reason(tried)}, and is tried again at ${rfc3339(again)}`, {
      until: Math.min(again, soonest),
      isStuck: isPast,
    });
  const isBegun = tried !== null || (refusal?.since ?? null) !== null;
  return { need: 'act', act, needsBudget: isWish || !servesNobody(vm, vmi), isBegun, isWish, message, refused };
}

/** Holds until a new try has succeeded: a status that named each try would change twice for each. */
const afterRefusal = (
  { message, notBefore }: RefusedEvacuation,
  soonest: number,
  isStuck: boolean,
): DeferredEvacuation =>
  waits(`it could not be begun (${message}), and is tried again at ${rfc3339(notBefore)}`, {
    until: Math.min(notBefore, soonest),
    isStuck,
  });

/** How the VM leaves its node, and why so; `none`: in no way that its pool and its owner allow. */
interface Choice {
  act: EvacuationAct | 'none';
  message: string;
}

/** A VM that need not leave its node is not taken down for that. */
function wishOf({ rules: { method } }: EvacuationInput, vmi: VmiView): Choice {
  const who = vmi.wishedBy === 'KubeVirtUpdate' ? "KubeVirt's update" : 'the descheduler';
  if (canBeMigrated(vmi) && method !== 'Restart') return { act: 'migrate', message: `${who} asks for that` };
  const whyNot = method === 'Restart' ? 'its pool does not allow migration' : 'KubeVirt cannot migrate it';
  return {
    act: 'none',
    message: `${who} wants it to leave ${nodeToLeave(vmi)}, but ${whyNot}; it is not restarted, since the node is not drained`,
  };
}

/** For a VM whose node is drained. */
function choiceOf(
  { vm, rules: { method, deadlineSeconds }, now }: EvacuationInput,
  vmi: VmiView,
  isPast: boolean,
): Choice {
  const canMigrate = canBeMigrated(vmi);
  const migrate = { act: 'migrate', message: `it is to leave ${nodeToLeave(vmi)}` } as const;
  // A restart would end what its owner keeps by the pause.
  if (isPausedByPerson(vm, vmi))
    return canMigrate && method !== 'Restart' ? migrate : { act: 'none', message: 'it is paused by a user' };
  // A kubelet may be down while virt-handler answers.
  if (vmi.nodeLost) return canMigrate && method !== 'Restart' ? migrate : { act: 'none', message: whyHeld(vmi) };
  if (servesNobody(vm, vmi) && !(canMigrate && method === 'Migrate'))
    return restart('it is not ready, so a restart costs nothing');
  const whyNowhere = isPast ? whyUnplaced(vmi) : vmi.whyNoOtherNode;
  if (whyNowhere !== null) return { act: 'none', message: whyNowhere };
  if (method === 'Restart') return restart('its pool does not allow migration');
  if (isNotBegun(vmi, now)) return restart(whyNotBegun(vmi));
  if (method === 'Migrate')
    return canMigrate
      ? migrate
      : { act: 'none', message: 'KubeVirt cannot migrate it, and its pool does not allow a restart for a drain' };
  if (!canMigrate) return restart('KubeVirt cannot migrate it');
  const tried = triesInARow(vmi, now);
  if (isPast) return restart(`it could not be migrated within ${deadlineSeconds} s`);
  return tried !== null && tried.failures >= MAX_FAILURES
    ? restart(`${tried.failures} migrations have failed${reason(tried)}`)
    : migrate;
}

/** Says what lets a VMI go whose node does not answer. */
export const whyHeld = (vmi: VmiView): string =>
  `its node does not answer, so it can't end there: once the node is certainly off, ` +
  `\`kubectl taint node ${nodeToLeave(vmi)} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute\` lets it go`;

/** Says why nothing tells that a VM that runs would find another node; null if it may. */
function whyUnplaced({ whyNoOtherNode, evacuation, migration }: VmiView): string | null {
  if (whyNoOtherNode !== null) return whyNoOtherNode;
  if (evacuation === null || evacuation.failures > 0) return null;
  const isUnplaced = isEvacuating({ evacuation }) ? migration?.phase === 'Scheduling' : evacuation.state === 'Failed';
  return isUnplaced
    ? 'no other node has taken the pod of a migration, so none may take that of a restart: `drover vm restart` restarts it in any case'
    : null;
}

const restart = (message: string) => ({ act: 'restart', message }) as const;
const reason = (tried: Evacuation | null): string => (tried?.whyFailed == null ? '' : ` (${tried.whyFailed})`);
