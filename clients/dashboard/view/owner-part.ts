import { durationMs, isDuration } from '../../../api/lib/duration.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import type { MaintenanceWindow, RolloutStep } from '../../../api/pool/pool.ts';
import { DEFAULT_MAX_UNAVAILABLE, DEFAULT_TIME_ZONE } from '../../../api/rules/pool-defaults.ts';
import { wantedReplicas } from '../../../api/rules/wanted-replicas.ts';
import { maxUnavailableOf } from '../../../decisions/disruption-budget/unavailability.ts';
import { poolView } from '../../../decisions/from-object/owner.ts';
import { windowAt } from '../../../decisions/lib/maintenance-windows.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import type { Owner } from '../../cli/owner.ts';
import { healView } from '../../healing/view.ts';
import type { RevisionRecord } from '../../pool/revisions.ts';
import { rolloutView, type RolloutView } from '../../pool/view.ts';
import { shownRollout, toneOf } from '../../rollout/lines.ts';
import { conditionsBesideRollout } from '../../view/conditions.ts';
import type { Healing, OwnerCard, Revision, Rollout, Step, Windows } from '../contract/fleet.ts';
import { poolActions, type WhyNot } from './actions.ts';

/** What a card has by its members, beside its names. */
type OfMembers = 'id' | 'kind' | 'namespace' | 'name' | 'current' | 'ready' | 'stopped' | 'counts';

/** What an owner's card tells without its members. */
export type OwnerPart = Omit<OwnerCard, OfMembers | 'revisions' | 'budget'> & {
  /** The target, and the revision before it if that is another one. */
  revisions: Revision[];
  /** Null without a budget. */
  budget: { maxUnavailable: string; limit: number } | null;
  /** Why the user may not change it, whatever its state; null if they may. */
  mayNot: WhyNot;
};

interface Beside {
  revisions: readonly RevisionRecord[];
  whyNot: WhyNot;
  /** Milliseconds since the epoch. */
  now: number;
}

/** `pool`: whether the owner is one. */
export function ownerPart(owner: Stored<Owner>, pool: Stored<Pool> | null, beside: Beside): OwnerPart {
  const { metadata } = owner;
  return {
    isDeleting: metadata.deletionTimestamp !== undefined,
    desired: wantedReplicas(owner),
    // The card has what is healed in more words.
    conditions: conditionsBesideRollout(owner.status?.conditions, pool !== null).filter(
      ({ type }) => type !== 'Healing',
    ),
    gitOps: gitOpsOf(owner),
    createdAt: metadata.creationTimestamp,
    mayNot: beside.whyNot,
    ...(pool === null ? NO_POOL : poolPart(pool, beside)),
  };
}

const NO_POOL = {
  standbyWanted: 0,
  rollout: null,
  healing: null,
  windows: null,
  actions: [],
  revisions: [],
  budget: null,
};

/** For VMs of no owner. */
export const NO_OWNER: OwnerPart = {
  isDeleting: false,
  desired: 0,
  conditions: [],
  gitOps: null,
  createdAt: '',
  mayNot: null,
  ...NO_POOL,
};

function poolPart(pool: Stored<Pool>, { revisions, whyNot, now }: Beside): Pick<OwnerPart, keyof typeof NO_POOL> {
  const view = rolloutView(pool, [...revisions]);
  const { spec } = pool;
  const windows = windowsOf(spec.rollout?.windows ?? [], now);
  const { current, target } = view;
  return {
    standbyWanted: spec.standby?.replicas ?? 0,
    rollout: rolloutOf(view, pool, windows),
    healing: healingOf(pool),
    windows,
    actions: poolActions(pool, revisions, whyNot),
    revisions: [
      { ...target, is: 'new' },
      ...(current === null || current.hash === target.hash ? [] : [{ ...current, is: 'old' } as const]),
    ],
    budget: {
      maxUnavailable: String(spec.maxUnavailable ?? DEFAULT_MAX_UNAVAILABLE),
      limit: maxUnavailableOf(poolView(pool)),
    },
  };
}

function rolloutOf(view: RolloutView, pool: Stored<Pool>, windows: Windows | null): Rollout {
  const { phase, end, requestedBy, reason, updatedReplicas, replicas, paused, halted } = view;
  const { sentence, progress } = shownRollout(view);
  return {
    phase,
    end,
    tone: toneOf(view),
    sentence,
    until: phase === 'WaitingForWindow' ? (windows?.until ?? null) : stepEnd(pool, view),
    requestedBy,
    reason,
    updated: updatedReplicas,
    replicas,
    steps: (pool.spec.rollout?.steps ?? []).map((step, index) => stepOf(step, index, view)),
    paused,
    halted,
    failures: progress.failed.map(({ vm, message, at }) => ({ vm, message, at: at ?? '' })),
  };
}

function stepOf({ to, then }: RolloutStep, index: number, { step, end }: RolloutView): Step {
  const passed = end === 'Complete' ? Infinity : (step?.passed ?? 0);
  const at = index === passed && step?.reachedAt != null ? 'reached' : 'ahead';
  const [what = ''] = Object.keys(then);
  // oxlint-disable-next-line unicorn/no-thenable -- a field of the API
  return { to: String(to), then: 'wait' in then ? then.wait : what, state: index < passed ? 'passed' : at };
}

function healingOf(pool: Stored<Pool>): Healing | null {
  const { autohealing, paused, suspended, cycles, finished } = healView(pool);
  if (!autohealing && cycles.length === 0) return null;
  return {
    paused,
    suspended: suspended?.message ?? null,
    cycles: cycles.map(({ vm, attempt, message, nextAt }) => ({ vm, attempt, message, nextAt })),
    givenUp: finished.filter(({ end }) => end === 'GivenUp').map(({ vm, message, at }) => ({ vm, message, at })),
  };
}

/** Null if there are none, so that anything may begin at any time. */
export function windowsOf(windows: readonly MaintenanceWindow[], now: number): Windows | null {
  if (windows.length === 0) return null;
  const state = windowAt(windows, now);
  const until = state.open ? state.until : state.next;
  return {
    isOpen: state.open,
    until: until === null ? null : new Date(until).toISOString(),
    texts: windows.map(({ cron, duration, timeZone = DEFAULT_TIME_ZONE }) => `${cron} for ${duration} (${timeZone})`),
  };
}

/** When the step passes by itself. */
function stepEnd({ spec }: Pool, { step, phase }: RolloutView): string | null {
  if (phase !== 'WaitingAtStep' || step?.reachedAt == null) return null;
  const then = spec.rollout?.steps?.[step.passed]?.then;
  const wait = then !== undefined && 'wait' in then ? then.wait : undefined;
  if (wait === undefined || !isDuration(wait)) return null;
  return new Date(Date.parse(step.reachedAt) + durationMs(wait)).toISOString();
}

const ARGO_ID = 'argocd.argoproj.io/tracking-id';
const ARGO_LABEL = 'argocd.argoproj.io/instance';
const FLUX_LABELS = ['kustomize.toolkit.fluxcd.io/name', 'helm.toolkit.fluxcd.io/name'];

/** The names that Argo CD and Flux write on what they apply. */
function gitOpsOf({ metadata: { labels = {}, annotations = {} } }: KubeObject): OwnerCard['gitOps'] {
  const argo = labels[ARGO_LABEL] ?? annotations[ARGO_LABEL] ?? annotations[ARGO_ID]?.split(':')[0];
  if (argo !== undefined) return { tool: 'Argo CD', name: argo };
  const flux = FLUX_LABELS.map((label) => labels[label]).find((name) => name !== undefined);
  return flux === undefined ? null : { tool: 'Flux', name: flux };
}
